"""The same texts inside a JSON string: what has to be escaped there is."""

from __future__ import annotations

import json
from typing import Final

from homing_inference.grammar.expressions import (
    Alt,
    Chars,
    Lit,
    Node,
    Rep,
    Seq,
    alt,
    chars,
    seq,
    without,
)

_ESCAPED: Final = chars((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C))
_LESS: Final = 0x3C


def escaped_json(node: Node) -> Node:
    """A regular expression over characters, as one over the text between a JSON string's quotes."""
    match node:
        case Lit():
            return seq(*(escaped_json(chars((ord(one), ord(one)))) for one in node.text))
        case Chars():
            return _escaped(node)
        case Seq():
            return Seq(tuple(map(escaped_json, node.parts)))
        case Alt():
            return alt(map(escaped_json, node.options))
        case Rep():
            return Rep(escaped_json(node.part), node.least, node.most)
        case _:
            return node


def _escaped(found: Chars) -> Node:
    plain = without(found, _ESCAPED)
    options: list[Node] = [plain] if plain.ranges else []
    for first, last in found.ranges:
        for code in (*range(first, min(last, 0x1F) + 1), 0x22, 0x5C, _LESS):
            if first <= code <= last:
                text = json.dumps(chr(code))[1:-1]
                options.append(Lit("\\u003c" if code == _LESS else text))
    return alt(options)
