"""Pinned prefixes: sequences that hold what system message and tools render to, ready to fork."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog
from homing_core.errors import HomingError

from homing_inference.states.prefixes import Prefix
from homing_inference.states.saving import restored, saved

if TYPE_CHECKING:
    from homing_inference.states.prefixes import PrefixStore
    from homing_inference.states.sequence_pool import SequencePool

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Pin:
    """A pinned prefix.

    Attributes:
        sequence: that holds it.
        adapter: under which it was computed; empty for none.
        tokens: of the prefix.
        sha256: of its text, hex.
    """

    sequence: int
    adapter: str
    tokens: tuple[int, ...]
    sha256: str


class Pins:
    """The pinned prefixes; the least recently used one makes room.

    Args:
        sequences: where they are.
        most: pinned at once.
        store: where they are kept beyond the process; None for nowhere.
    """

    def __init__(self, sequences: SequencePool, most: int, store: PrefixStore | None) -> None:
        """Nothing is pinned yet."""
        self._sequences = sequences
        self._store = store
        self._most: Final = most
        self._pins: list[Pin] = []
        """Least recently used first."""

    @property
    def all(self) -> tuple[Pin, ...]:
        """Least recently used first."""
        return tuple(self._pins)

    @property
    def outlive(self) -> bool:
        """Whether a prefix can be had again once it is unpinned."""
        return self._store is not None

    @property
    def free_cells(self) -> int:
        """Cells that nothing holds."""
        return self._sequences.cells - self._sequences.used_cells

    def prune(self) -> None:
        """Forget pins that a failed computation closed. Called before any id is given out anew."""
        self._pins = [
            pin
            for pin in self._pins
            if self._sequences.is_open(pin.sequence)
            and self._sequences.tokens(pin.sequence) == pin.tokens
        ]

    def longest(self, tokens: tuple[int, ...], adapter: str) -> Pin | None:
        """The longest pin that `tokens` begin with."""
        fitting = [
            pin
            for pin in self._pins
            if pin.adapter == adapter and tokens[: len(pin.tokens)] == pin.tokens
        ]
        return max(fitting, key=lambda pin: len(pin.tokens), default=None)

    def renew(self, tokens: tuple[int, ...], adapter: str) -> bool:
        """Whether exactly this is pinned; if so it counts as just used."""
        for pin in self._pins:
            if pin.adapter == adapter and pin.tokens == tokens:
                self.touch(pin)
                return True
        return False

    def touch(self, pin: Pin) -> None:
        """It was used just now."""
        self._pins.remove(pin)
        self._pins.append(pin)

    def add(self, sequence: int, tokens: tuple[int, ...], adapter: str, sha256: str) -> None:
        """Pin what a sequence holds, as a fork of it if there is room, and have it stored."""
        if not self.renew(tokens, adapter) and self._free_place():
            try:
                kept = self._sequences.fork(sequence, pinned=True)
            except HomingError as error:  # no id is free: the answer matters more
                _log.info("engine.prefix_not_pinned", why=error.what)
            else:
                self._append(Pin(kept, adapter, tokens, sha256))
        if self._store is not None and not self._store.keeps(tokens, adapter=adapter):
            state = saved(self._sequences, sequence)
            if state is not None:
                self._store.put(Prefix(tokens, sha256, state), adapter=adapter)

    def load(self, tokens: tuple[int, ...], adapter: str) -> Pin | None:
        """Pin a prefix that is stored; None if it is not, or does not fit."""
        kept = self._store.load(tokens, adapter=adapter) if self._store and tokens else None
        if kept is None or not self._free_place() or not self.make_room(len(tokens)):
            return None
        sequence = restored(self._sequences, tokens, kept.state, adapter, pinned=True)
        if sequence is None:
            if self._store is not None:
                self._store.drop(tokens, adapter=adapter)  # there was room, so it is of no use
            return None
        pin = Pin(sequence, adapter, tokens, kept.sha256)
        self._append(pin)
        return pin

    def make_room(self, cells: int) -> bool:
        """See `Beginnings.make_room`."""
        for pin in self.all:
            if self.free_cells >= cells:
                break
            if self._sequences.own_cells(pin.sequence):
                self._remove(pin)
        return self.free_cells >= cells

    def close(self) -> None:
        """Unpin everything, and wait until what is being stored is there."""
        self.prune()
        for pin in self.all:
            self._remove(pin)
        if self._store is not None:
            self._store.close()

    def _free_place(self) -> bool:
        while self._pins and len(self._pins) >= self._most:
            self._remove(self._pins[0])
        return self._most > 0

    def _append(self, pin: Pin) -> None:
        """Add it; older ones go while pins alone fill half of the cells."""
        self._pins.append(pin)
        while len(self._pins) > 1 and (
            sum(len(other.tokens) for other in self._pins) > self._sequences.cells // 2
        ):
            self._remove(self._pins[0])

    def _remove(self, pin: Pin) -> None:
        self._pins.remove(pin)
        self._sequences.close(pin.sequence)
