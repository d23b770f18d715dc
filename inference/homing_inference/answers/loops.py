"""Noticing that a model says the same over and over. Pure.

Greedy decoding of a small model falls into loops (Holtzman et al., 2020: once a phrase was
repeated, its repetition becomes ever more likely). Prose is left alone: the reader sees it and can
end it. Of a call nothing is seen before it is whole, so a loop in one would go on unseen to the
length limit.
"""

from __future__ import annotations

from typing import Final

LONGEST: Final = 48
"""Tokens of the longest piece whose repetition is noticed."""
TIMES: Final = 8
"""So often in a row it is a loop; data that people send repeats a piece less often."""
LEAST: Final = 128
"""Tokens that a loop must have lasted, so that short pieces may be repeated more often."""


class LoopWatch:
    """Looks at the tokens of one call as they are written."""

    def __init__(self) -> None:
        """Nothing is written."""
        self._tokens: list[int] = []
        self._same = [0] * (LONGEST + 1)
        """By length of a piece: how many of the last tokens equal the one so far before."""

    def clear(self) -> None:
        """Another call, or none, begins."""
        if self._tokens:
            self._tokens.clear()
            self._same = [0] * (LONGEST + 1)

    def add(self, token: int) -> bool:
        """One more token; whether they repeat one piece.

        Args:
            token: the token.
        """
        known = self._tokens
        for length in range(1, min(len(known), LONGEST) + 1):
            same = known[-length] == token
            self._same[length] = self._same[length] + 1 if same else 0
        known.append(token)
        return any(
            same >= max(LEAST, length * TIMES) - length
            for length, same in enumerate(self._same)
            if length
        )
