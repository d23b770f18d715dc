"""Strings, numbers and listed values of a schema, as shapes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from homing_inference.grammar.formats import INTEGER_FORMATS, NUMBER_FORMATS, STRING_FORMATS
from homing_inference.grammar.numbers import MAX_DIGITS, places_of
from homing_inference.grammar.numbers import number as text_of
from homing_inference.grammar.patterns import PatternError, parse_pattern
from homing_inference.grammar.shapes import Literals, Numbers, Shape, Strings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.canonical import JsonObject, JsonValue

    from homing_inference.grammar.expressions import Node
    from homing_inference.grammar.report import At, Report

MAX_VALUES: Final = 2_000
"""Values of an enum."""
MAX_VALUE_CHARS: Final = 100_000
"""Of all the values of one tool's enums together."""
MAX_LENGTH: Final = 100_000
"""Of the bounds of a string."""


class ScalarReader:
    """Reads what holds no further schemas.

    Args:
        report: takes what cannot be held to.
    """

    def __init__(self, report: Report) -> None:
        """Nothing is read yet."""
        self._report = report
        self._characters = 0

    def literals(
        self, schema: JsonObject, names: Sequence[str], bounds: frozenset[str], at: At
    ) -> Shape:
        """The values of `enum` or `const` that are of one of the types."""
        values = [schema["const"]] if "const" in schema else schema["enum"]
        keyword = "const" if "const" in schema else "enum"
        if not isinstance(values, list | tuple) or not values:
            self._report.refuse(keyword, at, "it allows nothing")
        if "const" in schema and "enum" in schema:
            self._report.refuse("const", at, "it stands beside an enum")
        bound = sorted(bounds & schema.keys())
        if bound:
            self._report.refuse(bound[0], at, f"it stands beside {keyword!r}")
        self._characters += sum(len(repr(value)) for value in values[:MAX_VALUES])
        if len(values) > MAX_VALUES or self._characters > MAX_VALUE_CHARS:
            self._report.refuse(keyword, at, "it holds too many values")
        kept = [value for value in values if not names or type_names(value) & set(names)]
        if schema.get("nullable") is True and None not in kept:
            kept.append(None)
        if not all(map(is_text, kept)):
            self._report.refuse(keyword, at, "a value holds what is no character")
        if not kept:
            self._report.refuse(keyword, at, "no value is of the type that it must have")
        return Literals(tuple(kept))

    def string(self, schema: JsonObject, at: At) -> Shape:
        """A string's length, pattern and format."""
        least = self._report.whole_number(schema.get("minLength"), "minLength", at) or 0
        most = self._report.whole_number(schema.get("maxLength"), "maxLength", at)
        if max(least, 0 if most is None else most) > MAX_LENGTH:
            self._report.refuse("maxLength", at, "it is too large")
        if most is not None and most < least:
            self._report.refuse("maxLength", at, "it is less than minLength")
        patterns: list[Node] = []
        pattern, form = schema.get("pattern"), schema.get("format")
        for keyword, text in (("pattern", pattern), ("format", _pattern_of(form))):
            if text is None and schema.get(keyword) is None:
                continue
            if not isinstance(text, str):
                self._report.refuse(keyword, at, f"{str(form)[:32]!r} cannot be held to")
            try:
                patterns.append(parse_pattern(text))
            except PatternError as error:
                self._report.refuse(keyword, at, f"the expression {error}")
        return Strings(least, most, tuple(patterns))

    def number(self, schema: JsonObject, at: At, *, integer: bool) -> Shape:
        """A number's bounds and what it is a multiple of."""
        shape = Numbers(integer)
        form = schema.get("format")
        if integer and form in INTEGER_FORMATS:
            first, last = INTEGER_FORMATS[str(form)]
            shape = replace(shape, least=Fraction(first), most=Fraction(last))
        elif form is not None and form not in NUMBER_FORMATS and _pattern_of(form) is None:
            self._report.refuse("format", at, f"{str(form)[:32]!r} cannot be held to")
        for keyword in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"):
            shape = self._bounded(shape, schema, keyword, at)
        if "multipleOf" in schema:
            shape = replace(shape, multiple=self._exact(schema, "multipleOf", at))
        if text_of(shape) is None:
            keyword = "multipleOf" if "multipleOf" in schema else "minimum"
            self._report.refuse(keyword, at, "no number can be held to it")
        return shape

    def _bounded(self, shape: Numbers, schema: JsonObject, keyword: str, at: At) -> Numbers:
        value = schema.get(keyword)
        lower = keyword.endswith("inimum")
        excluded = keyword.startswith("exclusive")
        if value is None or value is False:
            return shape
        if value is True and excluded:  # draft 4: a flag beside the bound
            if lower:
                return replace(shape, least_excluded=True)
            return replace(shape, most_excluded=True)
        bound = self._exact(schema, keyword, at)
        known = shape.least if lower else shape.most
        tighter = known is None or (bound > known if lower else bound < known)
        if not tighter and not (excluded and bound == known):
            return shape
        if lower:
            return replace(shape, least=bound, least_excluded=excluded)
        return replace(shape, most=bound, most_excluded=excluded)

    def _exact(self, schema: JsonObject, keyword: str, at: At) -> Fraction:
        value = schema[keyword]
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._report.refuse(keyword, at, "it is no number")
        try:
            exact = Fraction(str(value))
        except ValueError:
            self._report.refuse(keyword, at, "it is no number")
        if abs(exact) >= 10**MAX_DIGITS or places_of(exact) is None:
            self._report.refuse(keyword, at, "it has too many digits")
        return exact


def type_names(value: JsonValue) -> set[str]:
    """The JSON types that a value has; a whole number has two."""
    if value is None:
        return {"null"}
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, str):
        return {"string"}
    if isinstance(value, int):
        return {"integer", "number"}
    if isinstance(value, float):
        return {"number", "integer"} if value.is_integer() else {"number"}
    return {"object"} if isinstance(value, Mapping) else {"array"}


def is_text(value: JsonValue) -> bool:
    """Whether every string in the value can be written: it holds no half of a surrogate pair."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return False
    return True


def _pattern_of(form: JsonValue) -> str | None:
    return STRING_FORMATS.get(form) if isinstance(form, str) else None
