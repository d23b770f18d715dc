"""Which addresses of a node to try, and in which order. Values in, values out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_core.addresses import Address

    from homing_discovery.hints import Hint

MAX_LAST_GOOD = 4
"""Addresses that worked, remembered for one node."""
MAX_STATIC = 8
"""Addresses written by a person or learnt when pairing, used for one node."""
MAX_HINTED = 8
"""Addresses from mDNS, used for one node at a time."""


@dataclass(frozen=True, slots=True)
class AddressBook:
    """What is remembered of one node's addresses. Whoever stores the node stores this.

    Attributes:
        last_good: addresses at which the node proved its key, newest first.
        static: addresses written by a person or learnt when pairing, in their order.
    """

    last_good: tuple[Address, ...] = ()
    static: tuple[Address, ...] = ()

    def worked(self, address: Address) -> AddressBook:
        """The book after the node proved its key at `address`."""
        return replace(self, last_good=_first((address, *self.last_good), MAX_LAST_GOOD))

    def candidates(self, hints: Iterable[Hint] = ()) -> tuple[Address, ...]:
        """Addresses to try, best first and each once.

        What worked comes first, then what a person said, then hints, newest first. Each kind has a
        limit of its own, so that forged hints can neither push out nor delay the others.

        Args:
            hints: those for this node's token, in any order.
        """
        newest = sorted(hints, key=lambda hint: hint.seen_at, reverse=True)
        hinted = (address for hint in newest for address in hint.addresses)
        known = (*self.last_good[:MAX_LAST_GOOD], *self.static[:MAX_STATIC])
        kept = _first(known, len(known))
        return (*kept, *_first((one for one in hinted if one not in kept), MAX_HINTED))


def _first(addresses: Iterable[Address], most: int) -> tuple[Address, ...]:
    return tuple(dict.fromkeys(addresses))[:most]
