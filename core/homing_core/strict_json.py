"""JSON from outside, field by field: what is missing, too much or of another type is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NoReturn, TypeVar, cast

from homing_core.errors import InvalidDataError

if TYPE_CHECKING:
    from collections.abc import Collection

    from homing_core.canonical import JsonObject, JsonValue

_E = TypeVar("_E", bound=Enum)
_VERSIONS = "Both sides may run different versions of Homing."
_MAX_WHOLE = (1 << 63) - 1


class Fields:
    """An object whose fields are exactly those that are expected.

    Args:
        value: what was read.
        names: the fields.
        what: what to call it in an error, such as "a job's result". Nothing of `value` is quoted.
        hint: what to try.

    Raises:
        InvalidDataError: it is no object, or has other fields; so does every method.
    """

    def __init__(
        self, value: JsonValue, names: Collection[str], what: str, hint: str = _VERSIONS
    ) -> None:
        """Check that the fields are there."""
        self._what = what
        self._hint = hint
        if not isinstance(value, Mapping) or set(value) != set(names):
            self.refuse()
        self._value = value

    def refuse(self) -> NoReturn:
        """Raise the error."""
        msg = f"{self._what} is malformed"
        raise InvalidDataError(msg, self._hint)

    def within(self, value: JsonValue, names: Collection[str]) -> Fields:
        """An object within this one, with the same words for errors."""
        return Fields(value, names, self._what, self._hint)

    def text(self, name: str, most: int) -> str:
        """A text of at most so many characters, that has a form in UTF-8."""
        value = self._value[name]
        if not isinstance(value, str) or len(value) > most:
            self.refuse()
        try:
            value.encode()
        except UnicodeEncodeError:
            self.refuse()
        return value

    def flag(self, name: str) -> bool:
        """Yes or no."""
        value = self._value[name]
        if not isinstance(value, bool):
            self.refuse()
        return value

    def whole(self, name: str, least: int = 0, most: int = _MAX_WHOLE) -> int:
        """A whole number."""
        value = self._value[name]
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            self.refuse()
        return value

    def number(self, name: str, least: float = -math.inf, most: float = math.inf) -> float:
        """A finite number."""
        return self._number(self._value[name], least, most)

    def numbers(self, name: str, most: int) -> dict[str, float]:
        """An object of at most so many finite numbers."""
        found = self.object(name)
        if len(found) > most:
            self.refuse()
        return {key: self._number(value, -math.inf, math.inf) for key, value in found.items()}

    def texts(self, name: str, most: int, longest: int) -> tuple[str, ...]:
        """A list of at most so many texts of at most so many characters."""
        found = self.items(name, most)
        texts = tuple(one for one in found if isinstance(one, str) and len(one) <= longest)
        if len(texts) != len(found):
            self.refuse()
        return texts

    def one_of(self, kind: type[_E], name: str) -> _E:
        """A member of an enumeration, by its value."""
        try:
            return kind(self._value[name])
        except (ValueError, TypeError):  # TypeError: a list or an object
            self.refuse()

    def object(self, name: str) -> JsonObject:
        """An object with any fields."""
        value = self._value[name]
        if not isinstance(value, Mapping):
            self.refuse()
        return value

    def items(self, name: str, most: int) -> Sequence[JsonValue]:
        """A list of at most so many."""
        value = self._value[name]
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > most:
            self.refuse()
        return value

    def _number(self, value: JsonValue, least: float, most: float) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse()
        try:
            number = float(value)
        except OverflowError:  # a whole number beyond any float
            self.refuse()
        if not (math.isfinite(number) and least <= number <= most):
            self.refuse()
        return number

    def raw(self, name: str) -> JsonValue:
        """Whatever is there."""
        return self._value[name]


def read_json(data: bytes, what: str) -> JsonValue:
    """Bytes as JSON: UTF-8, no name twice, no NaN.

    Args:
        data: from outside.
        what: what to call it in an error.

    Raises:
        InvalidDataError: it is none.
    """
    try:
        text = data.decode("utf-8")
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:  # the first also for bytes that are no UTF-8
        msg = f"{what} is malformed"
        raise InvalidDataError(msg, _VERSIONS) from error
    return cast("JsonValue", found)


def _once(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) != len(pairs):
        msg = "a name stands twice in one object"
        raise ValueError(msg)
    return found


def _no_number(_: str) -> NoReturn:
    msg = "NaN and infinities are no JSON"
    raise ValueError(msg)
