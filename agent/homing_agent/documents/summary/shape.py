"""How a summary of a folder reads: the text, then its files by number. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_NUMBERS: Final = re.compile(r"\s?\[(\d{1,6}(?:\s*[,;-]\s*\d{1,6})*)\]")
_MOST_CHARS: Final = 12_000
"""Of the list of files; what is over that goes into a file of its own."""
_MOST_LINE: Final = 400


@dataclass(frozen=True, slots=True)
class FileNote:
    """What is said of one file.

    Attributes:
        number: by which the file is cited, from 1.
        name: its path for people.
        text: its summary, or what it says about the question; empty if that is nothing.
        pages: pages or slides; 0 if it has none.
    """

    number: int
    name: str
    text: str
    pages: int = 0

    @property
    def line(self) -> str:
        """Number, name and text, for a list."""
        pages = f" ({self.pages} pages)" if self.pages > 1 else ""
        said = " ".join(self.text.split())
        return f"[{self.number}] {self.name}{pages}: {said}" if said else self.title

    @property
    def bare(self) -> str:
        """Number and text: with the names a small model would list them instead."""
        return f"[{self.number}] {' '.join(self.text.split())}"

    @property
    def title(self) -> str:
        """Number and name."""
        return f"[{self.number}] {self.name}"


def without_wrong_numbers(text: str, known: frozenset[int]) -> str:
    """The text without citations of files that do not exist."""

    def kept(found: re.Match[str]) -> str:
        numbers = [int(one) for one in re.findall(r"\d+", found[1])]
        return found[0] if all(number in known for number in numbers) else ""

    return _NUMBERS.sub(kept, text).strip()


def only_repeats(text: str, notes: Sequence[FileNote]) -> bool:
    """Whether a text on several files says nothing but what the list of files says anyway."""
    said = [" ".join(note.text.split()) for note in notes if note.text]
    folded = " ".join(text.split())
    return len(said) > 1 and all(one in folded for one in said)


def listed(notes: Sequence[FileNote], left_out: Sequence[tuple[str, str]]) -> tuple[str, bool]:
    """The list of files, and whether it had to be shortened."""
    lines = [note.line for note in notes]
    out = [f"{name}: {why}" for name, why in left_out]
    whole = _with_heading(lines, out)
    if len(whole) <= _MOST_CHARS and all(len(line) <= _MOST_LINE for line in lines):
        return whole, False
    most = max(0, min(_MOST_LINE, _MOST_CHARS // max(1, len(lines) + len(out))))
    short = [_cut(note, most) for note in notes]
    text = _with_heading(short, [line[: max(most, 40)] for line in out])
    if len(text) > _MOST_CHARS:
        text = text[:_MOST_CHARS].rpartition("\n")[0] + "\n…"
    return text, True


def full_list(notes: Sequence[FileNote], left_out: Sequence[tuple[str, str]]) -> str:
    """The whole list of files."""
    return _with_heading([note.line for note in notes], [f"{n}: {why}" for n, why in left_out])


def _with_heading(lines: Sequence[str], out: Sequence[str]) -> str:
    parts = ["Files:", *lines]
    if out:
        parts += ["", "Left out:", *out]
    return "\n".join(parts)


def _cut(note: FileNote, most: int) -> str:
    if len(note.line) <= most:
        return note.line
    return f"{note.line[: most - 1]}…" if most > len(note.title) + 20 else note.title
