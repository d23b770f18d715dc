"""Conversation states in main memory: the least recently used one goes when the room is used up.

A state is the prompt in another form, so it belongs to whoever wrote the prompt: it is looked up
by owner and adapter, and nothing in this module touches a disk.

There are few entries, since each is some megabytes large, so a lookup goes through all of an
owner's. Tokens are compared as bytes: 3,000 of them take less than a microsecond.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_INT: Final = "i"
_TOKEN_BYTES: Final = array(_INT).itemsize


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a sequence held at one moment.

    Attributes:
        tokens: in it.
        state: as `Sequences.save` gave it.
    """

    tokens: tuple[int, ...]
    state: bytes


@dataclass(frozen=True, slots=True)
class _Entry:
    owner: str
    adapter: str
    key: bytes
    checkpoint: Checkpoint

    @property
    def size(self) -> int:
        return len(self.checkpoint.state) + len(self.key)


class Checkpoints:
    """States of conversations, by owner. Belongs to one thread.

    Args:
        max_bytes: kept at most; 0 keeps nothing.
    """

    def __init__(self, max_bytes: int) -> None:
        """Nothing is kept yet."""
        self._max_bytes: Final = max_bytes
        self._entries: OrderedDict[tuple[str, str, bytes], _Entry] = OrderedDict()
        """Least recently used first."""
        self._bytes = 0

    def __len__(self) -> int:
        """Number of states."""
        return len(self._entries)

    @property
    def used_bytes(self) -> int:
        """Main memory that the states take."""
        return self._bytes

    def renew(self, tokens: Sequence[int], *, owner: str, adapter: str) -> bool:
        """Whether exactly this is kept; if so it counts as just used."""
        key = (owner, adapter, _key(tokens))
        if key not in self._entries:
            return False
        self._entries.move_to_end(key)
        return True

    def put(
        self, checkpoint: Checkpoint, *, owner: str, adapter: str, supersede: bool = False
    ) -> None:
        """Keep a state, if it fits at all.

        Args:
            checkpoint: the state.
            owner: whose conversation it is.
            adapter: under which it was computed; empty for none.
            supersede: drop the owner's states that are a beginning of this one: a model that can
                rewind gets them from this one.
        """
        entry = _Entry(owner, adapter, _key(checkpoint.tokens), checkpoint)
        if entry.size > self._max_bytes:
            return
        if supersede:
            for other in self._of(owner, adapter):
                if entry.key.startswith(other.key):
                    self._drop(other)
        key = (owner, adapter, entry.key)
        old = self._entries.get(key)
        if old is not None:
            self._drop(old)
        self._entries[key] = entry
        self._bytes += entry.size
        while self._bytes > self._max_bytes:
            self._drop(next(iter(self._entries.values())))

    def best(
        self, tokens: Sequence[int], *, owner: str, adapter: str, can_cut: bool
    ) -> tuple[Checkpoint, int] | None:
        """The owner's state that has most in common with `tokens`.

        Args:
            tokens: wanted.
            owner: who asks.
            adapter: that will compute.
            can_cut: whether a state may go on differently behind what it has in common; otherwise
                all of it must be a beginning of `tokens`.

        Returns:
            The state and how many tokens it has in common, at least 1; it counts as just used.
        """
        wanted = _key(tokens)
        found: _Entry | None = None
        most = 0
        for entry in self._of(owner, adapter):
            if wanted.startswith(entry.key):
                common = len(entry.checkpoint.tokens)
            elif can_cut:
                common = _common(wanted, entry.key)
            else:
                continue
            # Of equals the shorter one: less is restored and cut off again.
            if common > most or (
                found is not None and common == most and len(entry.key) < len(found.key)
            ):
                found, most = entry, common
        if found is None or most == 0:
            return None
        self._entries.move_to_end((owner, adapter, found.key))
        return found.checkpoint, most

    def drop(self, checkpoint: Checkpoint) -> None:
        """Forget one state, since it cannot be restored."""
        for entry in tuple(self._entries.values()):
            if entry.checkpoint is checkpoint:
                self._drop(entry)

    def forget(self, owner: str) -> None:
        """Forget all states of an owner."""
        for entry in tuple(self._entries.values()):
            if entry.owner == owner:
                self._drop(entry)

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self._bytes = 0

    def _of(self, owner: str, adapter: str) -> list[_Entry]:
        return [
            entry
            for entry in self._entries.values()
            if entry.owner == owner and entry.adapter == adapter
        ]

    def _drop(self, entry: _Entry) -> None:
        del self._entries[(entry.owner, entry.adapter, entry.key)]
        self._bytes -= entry.size


def _key(tokens: Sequence[int]) -> bytes:
    return array(_INT, tokens).tobytes()


def _common(left: bytes, right: bytes) -> int:
    """Tokens that both begin with, found by halving."""
    low, high = 0, min(len(left), len(right)) // _TOKEN_BYTES
    while low < high:
        middle = (low + high + 1) // 2
        end = middle * _TOKEN_BYTES
        if left[low * _TOKEN_BYTES : end] == right[low * _TOKEN_BYTES : end]:
            low = middle
        else:
            high = middle - 1
    return low
