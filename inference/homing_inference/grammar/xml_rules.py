"""Shapes as values between `<parameter=KEY>` and `</parameter>`, as `formats.values` reads them.

The reader decides by the types that the schema declares for a parameter: where only strings are
possible, the text is the string; otherwise it first tries JSON. What is written here is what the
reader turns into a value of the shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_core.canonical import sha256_json

from homing_inference.formats.marks import PARAMETER, PARAMETER_END
from homing_inference.formats.values import (
    ANY,
    STRING,
    Types,
    parameter_types,
    read_value,
    write_key,
    write_value,
)
from homing_inference.grammar.expressions import (
    Alt,
    AnyOrder,
    Form,
    Lexeme,
    Lit,
    Node,
    Rep,
    Text,
    alt,
    chars,
    seq,
)
from homing_inference.grammar.shapes import (
    Anything,
    Arrays,
    Literals,
    Numbers,
    Objects,
    Shape,
    Strings,
    flattened,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from homing_core.canonical import JsonObject

    from homing_inference.grammar.json_rules import JsonRules
    from homing_inference.grammar.shapes import ToolShape

END: Final = f"\n{PARAMETER_END}\n"
_KEY_START: Final = chars((0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_KEY_REST: Final = chars((0x2D, 0x2E), (0x30, 0x39), *_KEY_START.ranges)
_LONGEST_KEY: Final = 64


def parameters(shape: ToolShape, schema: JsonObject, scope: str, rules: JsonRules) -> Node:
    """All the parameters of one call, each at most once, in any order.

    Args:
        shape: the tool's arguments.
        schema: as the reader will see it.
        scope: names this tool's rules.
        rules: takes the rules of values that are JSON.
    """
    values = _Values(scope, shape.definitions, rules)

    def entry(name: str, inner: Shape) -> Node:
        types = parameter_types(schema, name)
        head = Lit(f"{PARAMETER}{write_key(name)}>\n")
        return seq(head, values.value(inner, types))

    return alt(
        AnyOrder(
            tuple(entry(one.name, one.shape) for one in kind.members if one.required),
            tuple(entry(one.name, one.shape) for one in kind.members if not one.required),
            Lit(""),
            _extra(kind, values),
        )
        for kind in flattened(shape.parameters, shape.definitions)
        if isinstance(kind, Objects)
    )


def _extra(shape: Objects, values: _Values) -> Node | None:
    if shape.extra is None:
        return None
    if shape.members:  # a further name must differ from the declared ones
        names = tuple(member.name for member in shape.members)
        key: Node = Text(Form.RAW, 1, None, (_key_pattern(),), names, PARAMETER, ">\n")
    else:
        key = Lexeme(seq(Lit(PARAMETER), _key_pattern(), Lit(">\n")))
    return seq(key, values.value(shape.extra, ANY))


def _key_pattern() -> Node:
    return seq(_KEY_START, Rep(_KEY_REST, 0, _LONGEST_KEY - 1))


class _Values:
    """The values of one tool's parameters, with the end that follows them."""

    def __init__(self, scope: str, definitions: Mapping[str, Shape], rules: JsonRules) -> None:
        self._scope = scope
        self._definitions = definitions
        self._rules = rules

    def value(self, shape: Shape, types: Types) -> Node:
        return alt(self._options(flattened(shape, self._definitions), types))

    def _options(self, shapes: Iterator[Shape], types: Types) -> Iterator[Node]:
        for shape in shapes:
            match shape:
                case Anything():
                    yield from self._string(Strings(), types)
                    yield from self._json(Numbers(integer=False))
                    yield from self._json(Literals((True, False, None)))
                    yield from self._json(Objects((), Anything()))
                    yield from self._json(Arrays((), Anything()))
                case Strings():
                    yield from self._string(shape, types)
                case Literals():
                    yield from self._literals(shape, types)
                case _:
                    yield from self._json(shape)

    def _string(self, shape: Strings, types: Types) -> Iterator[Node]:
        bounds = (shape.least, shape.most, shape.patterns)
        if types == STRING:
            yield Text(Form.RAW, *bounds, end=END)
        else:
            yield Text(Form.RAW_AMONG_JSON, *bounds, end=END)
            yield seq(Text(Form.JSON_IN_MARKS, *bounds), Lit(END))

    def _json(self, shape: Shape) -> Iterator[Node]:
        node = self._rules.value(shape, self._scope, self._definitions)
        for one in node.options if isinstance(node, Alt) else (node,):
            # Read as one unit with its end: what else may stand here could go on with it.
            yield Lexeme(seq(one.part, Lit(END))) if isinstance(one, Lexeme) else seq(one, Lit(END))

    def _literals(self, shape: Literals, types: Types) -> Iterator[Node]:
        for value in shape.values:
            text = write_value(value, types)
            back = read_value(f"\n{text}\n", types)
            if sha256_json(back) == sha256_json(value):  # otherwise no text is read as it
                yield Lexeme(Lit(text + END))
