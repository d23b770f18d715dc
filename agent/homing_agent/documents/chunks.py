"""Text cut into chunks that a search finds and cites, each with its place in the file. Pure."""

from __future__ import annotations

import re
import time
import unicodedata
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHUNK_CHARS: Final = 1200
"""Characters of a chunk at most."""
_LABEL_CHARS: Final = 60
_ENDS: Final = tuple(re.compile(end) for end in (r"\n\s*\n", r"\n", r"[.!?…]\s", r"\s"))
"""Where to cut, the best first."""
_UNWANTED: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


class Unit(Enum):
    """What places in a file are counted by."""

    LINE = "line"
    PARAGRAPH = "paragraph"
    PAGE = "page"
    SLIDE = "slide"
    ROW = "row"


_WHOLE: Final = frozenset({Unit.PAGE, Unit.SLIDE})
"""Units that do not share a chunk, so that a citation names the right one."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a file's text.

    Attributes:
        text: at most `CHUNK_CHARS` characters.
        unit: what `number` counts.
        number: where it begins, from 1.
        label: a part of the file that has a name, such as a sheet; cleaned.
    """

    text: str
    unit: Unit
    number: int
    label: str = ""

    @property
    def place(self) -> str:
        """For people, such as "page 3" or "sheet Costs, row 12"."""
        return place_of(self.unit, self.number, self.label)


def place_of(unit: Unit, number: int, label: str) -> str:
    """As `Chunk.place`."""
    spot = f"{unit.value} {number}"
    return f"sheet {label}, {spot}" if label else spot


class SpentError(Exception):
    """As much of a file has been read as may be; what was taken is kept."""


class Chunker:
    """Takes a file's text bit by bit and cuts it.

    Args:
        most_chars: kept in all.
        deadline: on `clock`, in its seconds, after which no more is taken.
        clock: monotonic time.

    Attributes:
        chunks: those that are whole.
        problem: why part of the file is missing, for people; a reader may say so.
    """

    def __init__(
        self, most_chars: int, deadline: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Nothing is taken yet."""
        self.chunks: list[Chunk] = []
        self.problem = ""
        self._left = most_chars
        self._deadline = deadline
        self._clock = clock
        self._open: list[str] = []
        self._open_chars = 0
        self._open_at = (Unit.LINE, 1, "")

    def add(self, text: str, unit: Unit, number: int, label: str = "") -> None:
        """Take the text that begins at this place.

        Raises:
            SpentError: that was as much as may be read.
        """
        cleaned = clean_text(text[: self._left])
        self._left -= len(cleaned)
        if cleaned.strip():
            self._take(cleaned, unit, number, clean_line(label, _LABEL_CHARS))
        self.check()

    def check(self) -> None:
        """Raises `SpentError` if time or room is used up."""
        if self._left <= 0 or self._clock() >= self._deadline:
            raise SpentError

    def finish(self) -> tuple[Chunk, ...]:
        """All chunks."""
        self._close()
        return tuple(self.chunks)

    def _take(self, text: str, unit: Unit, number: int, label: str) -> None:
        here = (unit, number, label)
        fits = self._open_chars + len(text) < CHUNK_CHARS
        same = (unit, label) == (self._open_at[0], self._open_at[2])
        if not self._open or not fits or not same or unit in _WHOLE:
            self._close()
            self._open_at = here
        if len(text) <= CHUNK_CHARS:
            self._open.append(text.strip("\n") if unit is not Unit.LINE else text)
            self._open_chars += len(text) + 1
            return
        for piece, lines in _cut(text):
            place = number + lines if unit is Unit.LINE else number
            self.chunks.append(Chunk(piece, unit, place, label))

    def _close(self) -> None:
        if self._open:
            text = "\n".join(self._open)
            lines = len(text[: len(text) - len(text.lstrip())].split("\n")) - 1
            unit, number, label = self._open_at
            place = number + lines if unit is Unit.LINE else number
            self.chunks.append(Chunk(text.strip(), unit, place, label))
        self._open, self._open_chars = [], 0


def _cut(text: str) -> Iterator[tuple[str, int]]:
    """Pieces of a long text, each with the number of line breaks before it."""
    start, lines = 0, 0
    while start < len(text):
        end = _end(text, start)
        piece = text[start:end]
        body = piece.strip()
        if body:
            yield body, lines + piece[: piece.index(body[0])].count("\n")
        lines += piece.count("\n")
        start = end


def _end(text: str, start: int) -> int:
    """Where to cut next: in the last third of a chunk, if there is a good place."""
    most = start + CHUNK_CHARS
    if most >= len(text):
        return len(text)
    low = start + CHUNK_CHARS * 2 // 3
    for pattern in _ENDS:
        ends = [found.end() for found in pattern.finditer(text, low, most)]
        if ends:
            return ends[-1]
    return most


def clean_text(text: str) -> str:
    """Without control characters and what is no character; line ends become line feeds."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")
    return _UNWANTED.sub("", plain)


def clean_line(text: str, most: int) -> str:
    """One line for people: no control characters, no direction marks, folded white space."""
    kept = "".join(
        " " if char.isspace() else char
        for char in text[: most * 8]
        if char.isspace() or not unicodedata.category(char).startswith("C")
    )
    return " ".join(kept.split())[:most].rstrip()
