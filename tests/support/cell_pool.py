"""Sequences without a model: their bookkeeping, and states that hold nothing but their tokens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from homing_core.errors import InternalError, OverloadedError

if TYPE_CHECKING:
    from collections.abc import Sequence


class CellPool:
    """Does what `Sequences` does, except to compute."""

    def __init__(
        self,
        *,
        sequences: int = 8,
        cells: int = 4096,
        batch_tokens: int = 16,
        can_rewind: bool = False,
    ) -> None:
        self.sequences = sequences
        self.cells = cells
        self.batch_tokens = batch_tokens
        self.can_rewind = can_rewind
        self.adapter = ""
        self.saved = 0
        """States saved so far."""
        self.restored: list[int] = []
        """Lengths of the states that were restored."""
        self._held: dict[int, list[tuple[object, int]]] = {}
        self._adapters: dict[int, str] = {}

    @property
    def used_cells(self) -> int:
        return len({id(cell) for held in self._held.values() for cell, _ in held})

    def use_adapter(self, name: str) -> None:
        self.adapter = name

    def is_open(self, sequence: int) -> bool:
        return sequence in self._held

    def own_cells(self, sequence: int) -> int:
        others = {
            id(cell) for other, held in self._held.items() if other != sequence for cell, _ in held
        }
        return sum(id(cell) not in others for cell, _ in self._held[sequence])

    def open(self, *, pinned: bool = False) -> int:
        free = [number for number in range(self.sequences) if number not in self._held]
        if not free:
            msg = "all sequences are in use"
            raise OverloadedError(msg)
        sequence = max(free) if pinned else min(free)
        self._held[sequence] = []
        self._adapters[sequence] = self.adapter
        return sequence

    def fork(self, source: int, *, pinned: bool = False) -> int:
        held = list(self._held[source])
        target = self.open(pinned=pinned)
        self._held[target] = held
        self._adapters[target] = self._adapters[source]
        return target

    def tokens(self, sequence: int) -> tuple[int, ...]:
        try:
            return tuple(token for _, token in self._held[sequence])
        except KeyError:
            msg = "the sequence is not open"
            raise InternalError(msg) from None

    def grow(self, sequence: int, tokens: Sequence[int]) -> None:
        """As if they had been computed."""
        if len(tokens) > self.cells - self.used_cells:
            msg = "the memory is full"
            raise OverloadedError(msg)
        self._held[sequence] += [(object(), token) for token in tokens]

    def cut(self, sequence: int, keep: int) -> bool:
        if not self.can_rewind:
            return False
        del self._held[sequence][keep:]
        return True

    def close(self, sequence: int) -> None:
        self._held.pop(sequence, None)

    def save(self, sequence: int) -> bytes:
        self.saved += 1
        return json.dumps([self._adapters[sequence], self.tokens(sequence)]).encode()

    def restore(self, tokens: Sequence[int], state: bytes, *, pinned: bool = False) -> int | None:
        room = self.cells - self.used_cells
        if len(self._held) == self.sequences or len(tokens) > room:
            return None
        if state != json.dumps([self.adapter, list(tokens)]).encode():
            return None
        sequence = self.open(pinned=pinned)
        self.grow(sequence, tokens)
        self.restored.append(len(tokens))
        return sequence

    def fail(self) -> None:
        """As after a computation that broke off: everything is closed."""
        self._held.clear()
