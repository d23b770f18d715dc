"""Connections by whom they belong to, and which of them has to make room. Pure."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

K = TypeVar("K", bound="Hashable")


class Pool(Generic[K]):
    """Numbered connections in order of arrival, grouped by owner. Every step takes constant time.

    Args:
        most: how many it may hold.
        most_each: how many of one owner.
    """

    def __init__(self, most: int, most_each: int) -> None:
        """Empty."""
        self._most = most
        self._most_each = min(most, most_each)
        self._owner: dict[int, K] = {}
        self._of: dict[K, OrderedDict[int, None]] = {}
        self._with: dict[int, OrderedDict[K, None]] = {}  # owners by how many they have
        self._top = 0

    def __len__(self) -> int:
        """How many it holds."""
        return len(self._owner)

    def __contains__(self, number: int) -> bool:
        """Whether it holds this one."""
        return number in self._owner

    def of(self, owner: K) -> tuple[int, ...]:
        """One owner's, the oldest first."""
        return tuple(self._of.get(owner, ()))

    def victim(self, owner: K) -> int | None:
        """Who must go before this owner gets one more; None if there is room.

        It is the oldest of the owner who has the most, and the owner's own oldest where that has
        reached its limit.
        """
        mine = self._of.get(owner, ())
        if len(mine) >= self._most_each:
            return next(iter(mine))
        if len(self._owner) < self._most:
            return None
        greediest = next(iter(self._with[self._top]))
        return next(iter(self._of[greediest]))

    def add(self, owner: K, number: int) -> None:
        """Take one in; first remove the `victim`."""
        self._owner[number] = owner
        self._of.setdefault(owner, OrderedDict())[number] = None
        self._moved(owner, -1)

    def remove(self, number: int) -> bool:
        """Whether it was there."""
        if number not in self._owner:
            return False
        owner = self._owner.pop(number)
        del self._of[owner][number]
        self._moved(owner, +1)
        if not self._of[owner]:
            del self._of[owner]
        return True

    def _moved(self, owner: K, before: int) -> None:
        count = len(self._of[owner])
        old = self._with.get(count + before, OrderedDict())
        old.pop(owner, None)
        if not old:
            self._with.pop(count + before, None)
        if count:
            self._with.setdefault(count, OrderedDict())[owner] = None
        self._top = max(self._top, count)
        while self._top and self._top not in self._with:
            self._top -= 1
