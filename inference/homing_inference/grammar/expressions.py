"""Grammar expressions: what a call may look like, before any backend's own notation.

A rule's body is built from these. Everything below a `Lexeme`, and every pattern, is regular: it
holds no `Ref`, no `AnyOrder` and no `Text`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LAST_CHARACTER: Final = 0x10FFFF


@dataclass(frozen=True, slots=True)
class Lit:
    """Exactly this text."""

    text: str


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set: closed ranges of code points, ascending, not touching."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Seq:
    """One after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alt:
    """Any one of these; at least one."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Rep:
    """Repeated `least` to `most` times; without `most`, no upper limit."""

    part: Node
    least: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Ref:
    """Another rule of the same grammar."""

    rule: str


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A regular part that is read as one unit; what follows it must not go on with it."""

    part: Node


class Form(Enum):
    """How a string stands in a call."""

    JSON = "json"
    """A JSON string in quotes."""
    JSON_IN_MARKS = "json in marks"
    """The same where marks structure the text: it must not hold one."""
    RAW = "raw"
    """Its own characters, up to `Text.end`, or the escaped form of `formats.values`."""
    RAW_AMONG_JSON = "raw among json"
    """The same where JSON could stand as well: what reads as JSON is not a raw string."""


@dataclass(frozen=True, slots=True)
class Text:
    """A string of any characters, within bounds.

    Attributes:
        form: how it is written.
        least: characters, at least.
        most: characters, at most; None for no limit.
        patterns: regular expressions that all of it must match.
        excluded: texts that it must not be.
        start: what stands before a raw string.
        end: what follows a raw string.
    """

    form: Form
    least: int = 0
    most: int | None = None
    patterns: tuple[Node, ...] = ()
    excluded: tuple[str, ...] = ()
    start: str = ""
    end: str = ""


@dataclass(frozen=True, slots=True)
class AnyOrder:
    """Entries in any order, each at most once, the required ones always.

    Attributes:
        required: entries that must be there.
        optional: entries that may be there.
        separator: stands between two entries.
        extra: a further kind of entry that may occur any number of times; None if there is none.
    """

    required: tuple[Node, ...]
    optional: tuple[Node, ...]
    separator: Node
    extra: Node | None = None


Node: TypeAlias = Lit | Chars | Seq | Alt | Rep | Ref | Lexeme | Text | AnyOrder


@dataclass(frozen=True, slots=True)
class Grammar:
    """Rules by name, and the one to begin with. Behind it any text may follow."""

    root: Node
    rules: Mapping[str, Node] = field(default_factory=dict[str, "Node"])


EMPTY: Final = Lit("")
DIGIT: Final = Chars(((0x30, 0x39),))
ANY_CHARACTER: Final = Chars(((1, LAST_CHARACTER),))


def seq(*parts: Node) -> Node:
    """A sequence."""
    return parts[0] if len(parts) == 1 else Seq(parts)


def alt(options: Iterable[Node]) -> Node:
    """A choice; the same option only once."""
    unique = tuple(dict.fromkeys(options))
    return unique[0] if len(unique) == 1 else Alt(unique)


def optional(part: Node) -> Node:
    """Once or not at all."""
    return Rep(part, 0, 1)


def chars(*ranges: tuple[int, int]) -> Chars:
    """A set of characters from ranges in any order, which may overlap."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return Chars(tuple(merged))


def one_of(characters: str) -> Chars:
    """Any one of these characters."""
    return chars(*((ord(one), ord(one)) for one in characters))


def inverted(found: Chars) -> Chars:
    """Every character that is not in the set; never U+0000, which no text holds."""
    ranges: list[tuple[int, int]] = []
    start = 1
    for first, last in found.ranges:
        if first > start:
            ranges.append((start, first - 1))
        start = max(start, last + 1)
    if start <= LAST_CHARACTER:
        ranges.append((start, LAST_CHARACTER))
    return Chars(tuple(ranges))


def without(found: Chars, removed: Chars) -> Chars:
    """The characters of one set that are not in the other."""
    return inverted(chars(*inverted(found).ranges, *removed.ranges))
