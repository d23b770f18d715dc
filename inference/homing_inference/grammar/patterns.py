r"""A JSON Schema `pattern` as an expression: the regular part of ECMA 262's syntax.

Literals, `.`, classes, groups, `|`, quantifiers, `^` and `$` at the ends. What is not regular or
not needed (look-around, back-references, `\b`, `\p`) is refused by name. `\d`, `\w` and `\s` are
ASCII, as in ECMA 262 without flags, so that every validator agrees with what is written.
"""

from __future__ import annotations

from typing import Final

from homing_inference.grammar.character_classes import CLASSES, CONTROLS, DOT
from homing_inference.grammar.expressions import (
    ANY_CHARACTER,
    EMPTY,
    Chars,
    Node,
    Rep,
    alt,
    chars,
    inverted,
    seq,
)
from homing_inference.grammar.measures import expanded_size

MAX_PATTERN: Final = 1000
"""Characters of a pattern."""
MAX_EXPANDED: Final = 20_000
"""Characters of a pattern once its counted repetitions are written out."""
_MAX_DEPTH: Final = 32
_MAX_COUNT: Final = 10_000
_SURROGATES: Final = range(0xD800, 0xE000)
_ANYWHERE: Final = Rep(ANY_CHARACTER)


class PatternError(ValueError):
    """The pattern cannot be an expression; the text says why."""


def parse_pattern(pattern: str) -> Node:
    """Everything that the pattern matches; where it is not anchored, within any text.

    Raises:
        PatternError: it is no regular expression, or uses what a grammar cannot hold.
    """
    if len(pattern) > MAX_PATTERN:
        msg = "is far too long"
        raise PatternError(msg)
    reader = _Reader(pattern)
    node = reader.alternatives(0)
    if reader.here < len(pattern):
        msg = "closes a group that is not open"
        raise PatternError(msg)
    if expanded_size(node) > MAX_EXPANDED:
        msg = "repeats too much"
        raise PatternError(msg)
    return node


class _Reader:
    """A recursive-descent reader of one pattern."""

    def __init__(self, pattern: str) -> None:
        self.here: int = 0
        self._text: Final = pattern

    def alternatives(self, depth: int) -> Node:
        if depth > _MAX_DEPTH:
            msg = "is nested too deeply"
            raise PatternError(msg)
        options = [self._branch(depth)]
        while self._peek() == "|":
            self.here += 1
            options.append(self._branch(depth))
        return alt(options)

    def _branch(self, depth: int) -> Node:
        parts: list[Node] = []
        starts = self._peek() == "^"
        self.here += starts
        ends = False
        while self._peek() not in {"", "|", ")"}:
            if ends:
                msg = "has a $ that is not at the end"
                raise PatternError(msg)
            if self._peek() == "$":
                self.here += 1
                ends = True
                continue
            parts.append(self._quantified(depth))
        if depth and (starts or ends):
            msg = "has ^ or $ inside a group"
            raise PatternError(msg)
        if not depth:
            parts = [*([] if starts else [_ANYWHERE]), *parts, *([] if ends else [_ANYWHERE])]
        return seq(*parts) if parts else EMPTY

    def _peek(self) -> str:
        return self._text[self.here : self.here + 1]

    def _take(self) -> str:
        char = self._peek()
        if not char:
            msg = "ends too early"
            raise PatternError(msg)
        self.here += 1
        return char

    def _quantified(self, depth: int) -> Node:
        part = self._atom(depth)
        counts = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        char = self._peek()
        if char in counts:
            self.here += 1
            least, most = counts[char]
        elif char == "{":
            least, most = self._count()
        else:
            return part
        if self._peek() == "?":  # lazy: the same texts
            self.here += 1
        if self._peek() in {"*", "+", "?", "{"} and self._peek():
            msg = "repeats a repetition"
            raise PatternError(msg)
        return Rep(part, least, most)

    def _count(self) -> tuple[int, int | None]:
        end = self._text.find("}", self.here)
        first, comma, second = self._text[self.here + 1 : max(end, self.here + 1)].partition(",")
        numbers = [one for one in (first, second) if one]
        if end < 0 or not first or not all(one.isascii() and one.isdigit() for one in numbers):
            msg = "has a { that counts nothing"
            raise PatternError(msg)
        self.here = end + 1
        if any(len(one) > len(str(_MAX_COUNT)) or int(one) > _MAX_COUNT for one in numbers):
            msg = "repeats too much"
            raise PatternError(msg)
        least = int(first)
        most = least if not comma else int(second) if second else None
        if most is not None and most < least:
            msg = "counts backwards"
            raise PatternError(msg)
        return least, most

    def _atom(self, depth: int) -> Node:
        char = self._take()
        match char:
            case ".":
                return DOT
            case "(":
                return self._group(depth)
            case "[":
                return self._class()
            case "\\":
                return self._escape()
            case "*" | "+" | "?" | "{":
                msg = "repeats nothing"
                raise PatternError(msg)
            case "^":
                msg = "has a ^ that is not at the start"
                raise PatternError(msg)
            case _:
                return _literal(ord(char))

    def _group(self, depth: int) -> Node:
        if self._peek() == "?":
            if self._text.startswith("?:", self.here):
                self.here += 2
            elif self._text[self.here : self.here + 3] in {"?<=", "?<!"} or not (
                self._text.startswith("?<", self.here) and ">" in self._text[self.here :]
            ):
                msg = "looks around"
                raise PatternError(msg)
            else:
                self.here = self._text.index(">", self.here) + 1
        node = self.alternatives(depth + 1)
        if self._peek() != ")":
            msg = "opens a group that it does not close"
            raise PatternError(msg)
        self.here += 1
        return node

    def _escape(self) -> Chars:
        char = self._take()
        if char in CLASSES:
            return CLASSES[char]
        return _literal(self._escaped(char))

    def _escaped(self, char: str) -> int:
        if char in CONTROLS:
            return ord(CONTROLS[char])
        if char in "ux":
            width = 4 if char == "u" else 2
            digits = self._text[self.here : self.here + width]
            try:
                code = int(digits, 16) if len(digits) == width and digits.isalnum() else -1
            except ValueError:
                code = -1
            if code <= 0:
                msg = f"has a wrong \\{char}"
                raise PatternError(msg)
            self.here += width
            return code
        if char.isascii() and char.isalnum():
            msg = f"uses \\{char}"
            raise PatternError(msg)
        return ord(char)

    def _class(self) -> Chars:
        negated = self._peek() == "^"
        self.here += negated
        ranges: list[tuple[int, int]] = []
        while (char := self._take()) != "]":
            found = self._class_part(char)
            if isinstance(found, Chars):
                ranges += found.ranges
                continue
            last = found
            if self._peek() == "-" and self._text[self.here + 1 : self.here + 2] not in {"]", ""}:
                self.here += 1
                end = self._class_part(self._take())
                if isinstance(end, Chars) or end < found:
                    msg = "has a range that runs backwards"
                    raise PatternError(msg)
                last = end
            ranges.append((found, last))
        kept = chars(*ranges)
        kept = inverted(kept) if negated else kept
        if not kept.ranges:
            msg = "has a class of no characters"
            raise PatternError(msg)
        return Chars(tuple((_outside(a, up=True), _outside(b, up=False)) for a, b in kept.ranges))

    def _class_part(self, char: str) -> Chars | int:
        if char != "\\":
            return ord(char)
        escaped = self._take()
        if escaped in CLASSES:
            return CLASSES[escaped]
        return 8 if escaped == "b" else self._escaped(escaped)


def _literal(code: int) -> Chars:
    if code in _SURROGATES or code == 0:
        msg = "names a character that is none"
        raise PatternError(msg)
    return Chars(((code, code),))


def _outside(code: int, *, up: bool) -> int:
    """The code point itself, or the nearest one that is no surrogate."""
    if code not in _SURROGATES:
        return code
    return _SURROGATES.stop if up else _SURROGATES.start - 1
