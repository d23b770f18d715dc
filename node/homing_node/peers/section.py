"""`[peers]` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from homing_core.access import Scope
from homing_crypto.introductions import MAX_DEVICES, MAX_LEASE_S, PASSABLE

_HOUR_S: Final = 60 * 60
_SLACK_S: Final = 10 * 60
"""A lease stays this far below the longest that peers take: clocks differ."""


class Share(Enum):
    """Whose devices are introduced to peers, unless it is said for one peer or device."""

    HOUSEHOLD = "household"
    EVERYONE = "everyone"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class PeersSection:
    """`[peers]`: lending this node to homes, and introducing its devices to peers.

    Attributes:
        accept: take devices of homes that were paired with `homing-node pair --role peer`.
        max_devices: devices of one such home in a day.
        scopes: what such devices may do at most: `inference`, `tools`, `jobs`; the last two only
            where they were granted to the home besides.
        share: whose devices are introduced to this node's peers: `household` is those of owners and
            members, `everyone` guests' too, `nobody` only those that are named for a peer.
        lease_hours: how long a peer may take this node's word for a device without hearing from
            it; renewed three times as often.
    """

    accept: bool = True
    max_devices: int = 64
    scopes: tuple[str, ...] = ("inference", "tools", "jobs")
    share: str = Share.HOUSEHOLD.value
    lease_hours: float = 12.0

    def __post_init__(self) -> None:
        """Check the ranges and words."""
        if not 1 <= self.max_devices <= MAX_DEVICES:
            msg = f"peers.max_devices is not between 1 and {MAX_DEVICES}"
            raise ValueError(msg)
        if not 0.1 <= self.lease_hours <= MAX_LEASE_S / _HOUR_S:  # noqa: PLR2004  # six minutes
            msg = "peers.lease_hours is not between 0.1 and 24"
            raise ValueError(msg)
        words = sorted(scope.value for scope in PASSABLE)
        if any(scope not in words for scope in self.scopes):
            msg = f"peers.scopes holds something other than {', '.join(words)}"
            raise ValueError(msg)
        if self.share not in {one.value for one in Share}:
            msg = f"peers.share is none of {', '.join(one.value for one in Share)}"
            raise ValueError(msg)

    @property
    def allowed(self) -> frozenset[Scope]:
        """What introduced devices may do here at most."""
        return frozenset(map(Scope, self.scopes))

    @property
    def lease_s(self) -> int:
        """How long a lease is, in seconds."""
        return min(int(self.lease_hours * _HOUR_S), MAX_LEASE_S - _SLACK_S)
