"""How much a model leaned to each tool's name, from the very steps in which it wrote one.

Nothing is computed for it. While no name is being written, a token costs a look at its bytes.
"""

from __future__ import annotations

import codecs
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from homing_core.generation import NameProbability

from homing_inference.formats.marks import FUNCTION
from homing_inference.scoring.names import log_total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from homing_inference.scoring.names import NameTrie, NameTries, Place

_OPENINGS: Final = (
    (re.compile(rb'"(?:name|function)"\s*:\s*"'), '"'),
    (re.compile(re.escape(FUNCTION.encode())), ">"),
)
"""What stands in front of a name, and what closes it. Models mix the formats, as parsers know."""
_OPENING_BYTES: Final = 64
"""Bytes before a token that an opening may begin in."""
_KEPT: Final = 64
"""Names between two calls; a text about calls can hold many."""


@dataclass(slots=True)
class _Name:
    """A name that is being written.

    Attributes:
        trie: the offered names.
        place: how far it has come.
        others: of each name, the mass of the tokens that would have led to it at each step and were
            not written; shape (names,).
        reach: product of the probabilities of all tokens so far.
        product: of the probabilities of the name's tokens.
        written: number of the name, once it is complete.
    """

    trie: NameTrie
    place: Place
    others: NDArray[np.float64]
    reach: float = 1.0
    product: float = 1.0
    written: int | None = None

    def saw(self, scores: NDArray[np.float32], token: int, piece: bytes) -> bool:
        """One more token; whether the name goes on behind it."""
        total = log_total(scores)
        place = self.place
        behind = self.trie.after(place, piece)
        chance = math.exp(float(scores[token]) - total)
        if place.last - place.first > 1:
            self._part(self.trie.branches(place).masses(scores, total), chance, behind)
        if behind is None:
            return False
        end = self.trie.name_length(behind.first)
        single = behind.last - behind.first == 1
        # As signals count them: tokens that hold a character of the name.
        if len(piece) > len(place.lead) and not (single and len(place.written) >= end):
            self.product *= chance
        self.place = behind
        if behind.complete:
            self.written = behind.first
        return not behind.complete

    def _part(self, masses: NDArray[np.float64], chance: float, behind: Place | None) -> None:
        """Every token but the written one leads away from what is being written."""
        for (first, last), mass in zip(self.trie.branches(self.place).names, masses, strict=True):
            self.others[first:last] += self.reach * mass
        if behind is not None:
            self.others[behind.first : behind.last] -= self.reach * chance
        self.reach *= chance

    def probabilities(self) -> tuple[NameProbability, ...]:
        """Of every offered name, the most likely first."""
        found = self.others.copy()
        if self.written is not None:
            found[self.written] = self.product
        found = np.clip(np.nan_to_num(found), 0.0, 1.0)
        return tuple(
            NameProbability(name, probability)
            for name, probability in sorted(
                zip(self.trie.names, found.tolist(), strict=True), key=lambda pair: -pair[1]
            )
        )


class NameWatch:
    """Watches one answer being written.

    Args:
        tries: makes the tries of the names.
        names: the offered tools; none watches for nothing.
    """

    def __init__(self, tries: NameTries, names: Sequence[str]) -> None:
        """Nothing is written yet."""
        self._tries = tries
        self._names = tuple(names)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._characters = 0
        self._tail = b""
        self._name: _Name | None = None
        self._start = 0
        self._found: dict[int, tuple[NameProbability, ...]] = {}

    def saw(self, scores: NDArray[np.float32], token: int, piece: bytes) -> None:
        """A token was written. Called before the next computation overwrites the scores.

        Args:
            scores: the model's own logits for it and all others, shape (vocabulary,); looked at
                only if the token belongs to a name, and not kept.
            token: which one.
            piece: its bytes.
        """
        if not self._names:
            return
        opened = None if self._name else self._opened(piece)
        if opened is not None:
            self._begin(piece, *opened)
        else:
            self._characters += len(self._decoder.decode(piece))
        if self._name and not self._name.saw(scores, token, piece):
            self._found[self._start] = self._name.probabilities()
            self._name = None
            if len(self._found) > _KEPT:
                del self._found[next(iter(self._found))]
        self._tail = (self._tail + piece)[-_OPENING_BYTES:]

    def take(self, start: int) -> tuple[NameProbability, ...]:
        """The names at a call, the most likely first; empty if none was seen there.

        Args:
            start: offset of the name's first character in the answer; see `CallNamed`.
        """
        found = self._found.pop(start, ())
        for earlier in [place for place in self._found if place < start]:
            del self._found[earlier]
        return found

    def _opened(self, piece: bytes) -> tuple[int, str] | None:
        """Where in this piece an opening ends, and what will close the name."""
        if b'"' not in piece and b"=" not in piece:
            return None
        held = len(self._tail)
        text = self._tail + piece
        ends = (
            (match.end() - held, closing)
            for opening, closing in _OPENINGS
            for match in opening.finditer(text)
            if match.end() > held
        )
        return min(ends, default=None)

    def _begin(self, piece: bytes, end: int, closing: str) -> None:
        self._start = self._characters + len(self._decoder.decode(piece[:end]))
        self._characters = self._start + len(self._decoder.decode(piece[end:]))
        trie = self._tries.trie(self._names, closing)
        # Other tokens that reach into the name begin where this one does.
        self._name = _Name(trie, trie.start(piece[:end]), np.zeros(len(trie.names)))
