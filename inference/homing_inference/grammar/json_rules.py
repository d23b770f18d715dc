"""Shapes as JSON text: the rules of values, objects and arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from homing_inference.formats.values import dump_json
from homing_inference.grammar.expressions import (
    AnyOrder,
    Form,
    Lexeme,
    Lit,
    Node,
    Ref,
    Rep,
    Text,
    alt,
    one_of,
    optional,
    seq,
)
from homing_inference.grammar.numbers import number
from homing_inference.grammar.shapes import (
    Anything,
    Arrays,
    Literals,
    Nothing,
    Numbers,
    Objects,
    Reference,
    Shape,
    Strings,
    Union,
)

if TYPE_CHECKING:
    from homing_core.canonical import JsonValue

BLANK: Final = Lexeme(alt([Lit(" "), seq(Lit("\n"), Rep(one_of(" \t"), 0, 32)), Lit("\r\n")]))
"""White space between JSON's parts: models write none, one blank, or a line and its indentation."""

_WS: Final = Ref("blank")
_ANY: Final = "anything"


class JsonRules:
    """Collects the rules that values need.

    Args:
        form: how strings stand: `Form.JSON` or `Form.JSON_IN_MARKS`.
    """

    def __init__(self, form: Form) -> None:
        """No rules yet."""
        self.rules: dict[str, Node] = {"blank": optional(BLANK)}
        self._form = form

    def value(  # noqa: C901, PLR0911  # one case for each kind of shape
        self, shape: Shape, scope: str, definitions: Mapping[str, Shape]
    ) -> Node:
        """The text of a value of this shape.

        Args:
            shape: what it may be.
            scope: whose definitions these are; keeps the rules of several tools apart.
            definitions: what references name.
        """
        match shape:
            case Anything():
                return self._anything()
            case Nothing():
                return Text(self._form, 1, 0)  # filtered out before; no text at all
            case Literals():
                return alt(Lexeme(Lit(text)) for value in shape.values for text in literal(value))
            case Strings():
                return Text(self._form, shape.least, shape.most, shape.patterns)
            case Numbers():
                found = number(shape)
                return Lexeme(found if found is not None else Lit("0"))
            case Arrays():
                return self._array(shape, scope, definitions)
            case Objects():
                return self._object(shape, scope, definitions)
            case Union():
                return alt(self.value(one, scope, definitions) for one in shape.options)
            case Reference():
                name = f"{scope}{shape.name}"
                if name not in self.rules:
                    self.rules[name] = Ref(name)
                    target = definitions[shape.name]
                    self.rules[name] = self.value(target, scope, definitions)
                return Ref(name)

    def _object(self, shape: Objects, scope: str, definitions: Mapping[str, Shape]) -> Node:
        def entry(name: str, inner: Shape) -> Node:
            keys = alt(Lexeme(Lit(text)) for text in literal(name))
            return seq(keys, _WS, Lit(":"), _WS, self.value(inner, scope, definitions))

        extra = None
        if shape.extra is not None:
            names = tuple(member.name for member in shape.members)
            key = Text(self._form, excluded=names)
            extra = seq(key, _WS, Lit(":"), _WS, self.value(shape.extra, scope, definitions))
        entries = AnyOrder(
            tuple(entry(one.name, one.shape) for one in shape.members if one.required),
            tuple(entry(one.name, one.shape) for one in shape.members if not one.required),
            seq(_WS, Lit(","), _WS),
            extra,
        )
        return seq(Lit("{"), _WS, entries, _WS, Lit("}"))

    def _array(self, shape: Arrays, scope: str, definitions: Mapping[str, Shape]) -> Node:
        comma = seq(_WS, Lit(","), _WS)
        leading = [self.value(one, scope, definitions) for one in shape.leading]
        if shape.most is not None:
            leading = leading[: shape.most]
        tail: Node | None = None
        if shape.items is not None and not isinstance(shape.items, Nothing):
            least = max(shape.least - len(leading), 0)
            most = None if shape.most is None else shape.most - len(leading)
            item = self.value(shape.items, scope, definitions)
            if not leading:
                return _listed(item, least, most, comma)
            if most != 0:
                tail = Rep(seq(comma, item), least, most)
        body: Node = tail if tail is not None else Lit("")
        for place in reversed(range(len(leading))):
            part = seq(leading[place], body) if place == 0 else seq(comma, leading[place], body)
            body = part if place < shape.least else optional(part)
        return seq(Lit("["), _WS, body, _WS, Lit("]"))

    def _anything(self) -> Node:
        if _ANY not in self.rules:
            self.rules[_ANY] = Ref(_ANY)
            free = number(Numbers(integer=False))
            self.rules[_ANY] = alt(
                [
                    Text(self._form),
                    Lexeme(free if free is not None else Lit("0")),
                    *(Lexeme(Lit(word)) for word in ("true", "false", "null")),
                    self._array(Arrays((), Anything()), "", {}),
                    self._object(Objects((), Anything()), "", {}),
                ]
            )
        return Ref(_ANY)


def literal(value: JsonValue) -> list[str]:
    """The texts in which models write this value as JSON; the first is the renderer's."""
    plain = json.dumps(value, ensure_ascii=False)
    texts = [dump_json(value)]
    if isinstance(value, Mapping | list | tuple):
        texts.append(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
        texts = [text for text in texts if "</" not in text]
    elif not isinstance(value, str) or plain == texts[0]:
        texts.append(plain)
    return list(dict.fromkeys(texts))


def _listed(item: Node, least: int, most: int | None, comma: Node) -> Node:
    if most == 0:
        return seq(Lit("["), _WS, Lit("]"))
    further = None if most is None else most - 1
    body = seq(item, Rep(seq(comma, item), max(least - 1, 0), further))
    return seq(Lit("["), _WS, body if least else optional(body), _WS, Lit("]"))
