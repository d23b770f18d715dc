r"""Named classes of characters in patterns: `.`, `\d`, `\w`, `\s` and their opposites, in ASCII."""

from __future__ import annotations

from typing import Final

from homing_inference.grammar.expressions import chars, inverted, one_of

_DIGITS: Final = chars((0x30, 0x39))
_WORD: Final = chars((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE: Final = one_of(" \t\n\r\f\v")
DOT: Final = inverted(one_of("\n\r\u2028\u2029"))
CLASSES: Final = {
    "d": _DIGITS,
    "w": _WORD,
    "s": _SPACE,
    "D": inverted(_DIGITS),
    "W": inverted(_WORD),
    "S": inverted(_SPACE),
}
CONTROLS: Final = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v"}
