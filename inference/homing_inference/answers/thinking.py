"""Whether an answer stands inside its think block, and for how long."""

from __future__ import annotations

from typing import Final

from homing_inference.formats.marks import THINK, THINK_END

CLOSING: Final = f"\n{THINK_END}\n\n"
"""What is written in the model's place when it has thought for long enough."""

_OPEN: Final = THINK.encode()
_CLOSE: Final = THINK_END.encode()


class ThinkingWatch:
    """Follows an answer's bytes.

    Args:
        inside: whether the answer's first token already stands inside the block.
    """

    def __init__(self, *, inside: bool) -> None:
        """Nothing is written yet."""
        self._tail = b""
        self._over = False
        self.inside = inside
        self.tokens = 0
        """Tokens inside the block so far."""

    def feed(self, piece: bytes) -> None:
        """The next token's bytes. A block stands only at the start; later marks are text."""
        if self._over:
            return
        self._tail += piece
        if self.inside:
            self.tokens += 1
        else:
            begun = self._tail.lstrip()
            if not begun.startswith(_OPEN):
                self._over = not _OPEN.startswith(begun)
                return
            self.inside, self._tail = True, begun[len(_OPEN) :]
        if _CLOSE in self._tail:
            self.inside, self._over = False, True
        self._tail = self._tail[-len(_CLOSE) :]
