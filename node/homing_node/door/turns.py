"""Whose handshake is next: in turn over addresses, and friends first. Pure."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Container

FRIENDS_IN_A_ROW: Final = 3
"""So many turns of friends, then one of somebody else: a crowd at a friend's address cannot keep a
new phone out."""


class Turns:
    """Connections that wait, by household."""

    def __init__(self) -> None:
        """Nobody waits."""
        self._lines: OrderedDict[bytes, OrderedDict[int, None]] = OrderedDict()
        self._row = 0

    def add(self, household: bytes, number: int) -> None:
        """One more waits."""
        self._lines.setdefault(household, OrderedDict())[number] = None

    def remove(self, household: bytes, number: int) -> None:
        """It waits no more; harmless if it did not."""
        line = self._lines.get(household)
        if line is not None:
            line.pop(number, None)
            if not line:
                del self._lines[household]

    def next(self, friendly: Container[bytes]) -> int | None:
        """Take whoever is next; None if nobody waits.

        Args:
            friendly: households from which a paired device was let in lately.
        """
        friend, other = None, None
        for household in self._lines:
            if household in friendly:
                friend = household if friend is None else friend
            elif other is None:
                other = household
            if friend is not None and other is not None:
                break
        if friend is not None and (other is None or self._row < FRIENDS_IN_A_ROW):
            self._row += 1
            return self._pop(friend)
        self._row = 0
        return None if other is None else self._pop(other)

    def _pop(self, household: bytes) -> int:
        line = self._lines.pop(household)
        number, _ = line.popitem(last=False)
        if line:
            self._lines[household] = line  # at the end: the others come first
        return number
