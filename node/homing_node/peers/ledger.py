"""What peers were told of which device: the boundary, and the values in it.

Whatever is sent to a peer is written here before. After a kill at any moment it is known whom a
peer may let in on this node's word, so that whoever should not be let in any more is withdrawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from homing_core.ids import DeviceId


class ToldState(Enum):
    """What came of it."""

    SENT = "sent"
    TAKEN = "taken"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Told:
    """A device of which a peer was told, or may have been.

    Attributes:
        device_id: the device.
        digest: of what was said, so that a change shows.
        lease_expires_at: end of the lease, seconds since the epoch.
        state: what came of it.
        reason: why the peer did not take it.
    """

    device_id: DeviceId
    digest: str
    lease_expires_at: int
    state: ToldState = ToldState.SENT
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PeerAccount:
    """How it stands with one peer.

    Attributes:
        peer_id: the peer.
        guests: whether guests' devices are introduced; None as the configuration says.
        choices: devices that are introduced, or not, whatever their role.
        leaving: whether everything is being taken back.
        serial: the last one used.
        pushed_at: when the peer last took something; 0 for never.
        told: what it was told, by device.
    """

    peer_id: DeviceId
    guests: bool | None = None
    choices: Mapping[DeviceId, bool] = field(default_factory=dict["DeviceId", bool])
    leaving: bool = False
    serial: int = 0
    pushed_at: float = 0.0
    told: Mapping[DeviceId, Told] = field(default_factory=dict["DeviceId", Told])


class PeerLedger(Protocol):
    """What peers were told. Each method is durable when it returns. Safe from any thread."""

    def account(self, peer_id: DeviceId) -> PeerAccount:
        """How it stands with a peer; a peer of which nothing is written has told nothing."""
        ...

    def choose(
        self, peer_id: DeviceId, *, guests: bool | None, choices: Mapping[DeviceId, bool]
    ) -> None:
        """Change whose devices are introduced; None and devices that are not named stay."""
        ...

    def leave(self, peer_id: DeviceId, *, leaving: bool) -> None:
        """Begin to take everything back, or stop doing so."""
        ...

    def begin_push(self, peer_id: DeviceId, told: Iterable[Told], serial: int) -> None:
        """These are about to be sent under this serial."""
        ...

    def end_push(
        self,
        peer_id: DeviceId,
        taken: Iterable[DeviceId],
        refused: Mapping[DeviceId, str],
        at: float,
    ) -> None:
        """The peer answered: whom it took, and why it did not take others."""
        ...

    def begin_withdrawal(self, peer_id: DeviceId, serial: int) -> None:
        """A withdrawal is about to be sent under this serial."""
        ...

    def end_withdrawal(self, peer_id: DeviceId, gone: Iterable[DeviceId]) -> None:
        """The peer lets these in no more."""
        ...

    def forget(self, peer_id: DeviceId) -> None:
        """Forget all about a peer."""
        ...

    def rename(self, old: DeviceId, new: DeviceId) -> None:
        """The peer has a new key, and so another id; what it was told stays. Harmless twice."""
        ...
