"""Where no call is wanted: the guard that lets none be opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_inference.grammar.opening import (
    FRESH,
    TEXT,
    OpeningReader,
    Reading,
    ThinkingOver,
    allowed_tokens,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from homing_inference.answers.choosing import Choice, Chooser
    from homing_inference.grammar.pieces import Pieces


class NoCallGuard:
    """Lets no call be opened; everything else is free.

    Args:
        names: the offered tools.
        pieces: the vocabulary.
        reading: where the answer begins.
    """

    def __init__(self, names: Sequence[str], pieces: Pieces, reading: Reading = FRESH) -> None:
        """Nothing is written yet."""
        self._pieces = pieces
        self._openings = OpeningReader(names)
        self._reading = reading
        self._marks = TEXT

    def choose(self, chooser: Chooser, scores: NDArray[np.float32]) -> Choice:
        """The next token, of those that open no call."""
        choice = chooser.choose(scores)
        if not self._fits(choice.token):
            choice = chooser.choose(scores, allowed_tokens(self._pieces, self._fits))
        self.force(choice.token)
        return choice

    def force(self, token: int) -> None:
        """A token that was written without being chosen."""
        self._marks, self._reading, _ = self._after(self._pieces.texts[token])

    def _fits(self, token: int) -> bool:
        return not self._after(self._pieces.texts[token])[2]

    def _after(self, piece: bytes) -> tuple[Reading, Reading, bool]:
        # Inside a think block the parser reads calls as well: marks count everywhere.
        marks, found = self._openings.read(self._marks, piece)
        opens = found is not None
        reading = self._reading
        while True:
            reading, found = self._openings.read(reading, piece)
            if found is None:
                return marks, reading, opens
            opens = opens or not isinstance(found.opening, ThinkingOver)
            piece = found.rest
