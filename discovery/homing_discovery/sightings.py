"""What was heard, kept within bounds. Pure: names, addresses and times in, hints out.

Nodes that the phone wants (it is paired with them) are kept whatever is heard afterwards: a goodbye
does not remove their addresses, a flood of other nodes does not push them out, and another address
only joins those already known. Nodes that nobody wants have a few places, for display.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from homing_core.labels import clean_label

from homing_discovery.hints import MAX_ADDRESSES, MAX_ADDRESSES_PER_ANNOUNCEMENT, Hint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_core.addresses import Address

MAX_WANTED = 256
"""Nodes that a phone can be waiting for."""
MAX_UNWANTED = 32
"""Other nodes that are remembered; the one heard of longest ago goes first."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """One announcement as it was heard.

    Attributes:
        token: the node that is meant.
        label: the announced label, not yet cleaned.
        addresses: where, already checked; none means that nothing was said.
        version: the announced protocol version.
        at: wall time, seconds since the epoch.
        appeared: whether the node was not there just before; that alone is worth telling.
    """

    token: str
    label: str
    addresses: tuple[Address, ...]
    version: int
    at: float
    appeared: bool


class Sightings:
    """Hints by token.

    Args:
        wanted: tokens that are never forgotten; those over `MAX_WANTED` are not wanted.
    """

    def __init__(self, wanted: Iterable[str] = ()) -> None:
        """Start with nothing heard."""
        self._hints: dict[str, Hint] = {}  # in order of hearing, newest last
        self._changed: dict[str, int] = {}
        self._wanted: frozenset[str] = frozenset()
        self.changes = 0
        """Grows with every change that a watcher should hear of."""
        self.want(wanted)

    @property
    def wanted(self) -> frozenset[str]:
        """The tokens that are never forgotten."""
        return self._wanted

    def want(self, tokens: Iterable[str]) -> None:
        """Replace the wanted tokens."""
        self._wanted = frozenset(list(dict.fromkeys(tokens))[:MAX_WANTED])
        self._forget_surplus()

    def saw(self, sighting: Sighting) -> bool:
        """Take an announcement; true if watchers should hear of it."""
        if not sighting.addresses:
            return False
        token = sighting.token
        old = self._hints.pop(token, None)
        fresh = sighting.addresses[:MAX_ADDRESSES_PER_ANNOUNCEMENT]
        merged = dict.fromkeys((*fresh, *(old.addresses if old else ())))
        kept = tuple(merged)[:MAX_ADDRESSES]
        hint = Hint(token, kept, clean_label(sighting.label), sighting.version, sighting.at)
        self._hints[token] = hint
        self._forget_surplus()
        news = sighting.appeared or old is None or replace(old, seen_at=sighting.at) != hint
        if news:
            self.changes += 1
            self._changed[token] = self.changes
        return news

    def lost(self, token: str) -> None:
        """Take a goodbye or an end of life. Anybody can send one: a wanted node stays."""
        if token not in self._wanted:
            self._hints.pop(token, None)
            self._changed.pop(token, None)

    def hints(self, token: str | None = None) -> tuple[Hint, ...]:
        """What is known, newest first; of one node if a token is given."""
        return tuple(hint for hint in reversed(self._hints.values()) if token in {None, hint.token})

    def since(self, changes: int) -> tuple[Hint, ...]:
        """The hints that changed after the counter stood at `changes`, oldest change first."""
        newer = sorted((at, token) for token, at in self._changed.items() if at > changes)
        return tuple(self._hints[token] for _, token in newer)

    def _forget_surplus(self) -> None:
        unwanted = [token for token in self._hints if token not in self._wanted]
        for token in unwanted[: max(len(unwanted) - MAX_UNWANTED, 0)]:
            del self._hints[token]
            self._changed.pop(token, None)
