"""What a person sees of peers and homes. Values, and how they are made; pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from homing_core.access import DeviceRole
from homing_core.errors import UnpairedError
from homing_crypto.vouching import Terms, allowed_scopes, find_home

from homing_node.peers.ledger import PeerAccount, ToldState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from homing_core.access import Limits, Scope
    from homing_core.errors import HomingError
    from homing_core.ids import DeviceId
    from homing_crypto.devices import PairedDevice
    from homing_crypto.nodes import KnownNode


class Standing(Enum):
    """How a device stands at a peer."""

    TAKEN = "taken"
    WAITING = "waiting"
    REFUSED = "refused"
    WITHDRAWING = "withdrawing"


@dataclass(frozen=True, slots=True)
class SharedView:
    """A device at a peer.

    Attributes:
        id: the device.
        name: for people; empty if it is not paired here any more.
        standing: how it stands there.
        lease_expires_at: end of the lease, seconds since the epoch; 0 if it was never sent.
        reason: why it was not taken.
    """

    id: DeviceId
    name: str
    standing: Standing
    lease_expires_at: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PeerView:
    """A peer that takes this node's devices.

    Attributes:
        id: the peer.
        name: for people.
        addresses: `host:port`, best first.
        pushed_at: when it last took something, seconds since the epoch; 0 for never.
        error: why it could not be told.
        guests: whether guests' devices are introduced too.
        leaving: whether everything is being taken back.
        devices: devices there, or to be there.
    """

    id: DeviceId
    name: str
    addresses: tuple[str, ...]
    pushed_at: float
    error: HomingError | None
    guests: bool
    leaving: bool
    devices: tuple[SharedView, ...]


@dataclass(frozen=True, slots=True)
class HomeView:
    """A home whose devices this node takes.

    Attributes:
        id: its account: the device id of its first key.
        name: for people.
        devices: its devices that are let in now.
        most_devices: how many there can be.
        scopes: what they may do at most.
        limits: of each of them, at most.
        last_seen_at: when the home last called, seconds since the epoch; 0 for never.
    """

    id: DeviceId
    name: str
    devices: int
    most_devices: int
    scopes: frozenset[Scope]
    limits: Limits
    last_seen_at: float


def view_peer(  # noqa: PLR0913  # each is looked up elsewhere
    node: KnownNode,
    account: PeerAccount,
    wanted: Collection[PairedDevice],
    everyone: Iterable[PairedDevice],
    *,
    guests: bool,
    error: HomingError | None,
) -> PeerView:
    """How it stands with a peer.

    Args:
        node: the peer.
        account: what it was told.
        wanted: whom it may let in.
        everyone: whom this node knows.
        guests: whether guests' devices are introduced too.
        error: why it could not be told.
    """
    names = {device.id: device.name for device in everyone}
    if isinstance(error, UnpairedError):  # it lets in nobody on this node's word any more
        account = replace(account, told={})
    found = [_wanted(device, account) for device in wanted]
    if isinstance(error, UnpairedError):
        found = [replace(one, standing=Standing.REFUSED, reason=error.what) for one in found]
    there = {one.id for one in found}
    found += [
        SharedView(
            one.device_id,
            names.get(one.device_id, ""),
            Standing.WITHDRAWING,
            one.lease_expires_at,
        )
        for one in account.told.values()
        if one.device_id not in there
    ]
    return PeerView(
        node.id,
        node.name,
        node.addresses,
        account.pushed_at,
        error,
        guests,
        account.leaving,
        tuple(found),
    )


def _wanted(device: PairedDevice, account: PeerAccount) -> SharedView:
    told = account.told.get(device.id)
    if told is None:
        return SharedView(device.id, device.name, Standing.WAITING)
    standing = {
        ToldState.SENT: Standing.WAITING,
        ToldState.TAKEN: Standing.TAKEN,
        ToldState.REFUSED: Standing.REFUSED,
    }[told.state]
    return SharedView(device.id, device.name, standing, told.lease_expires_at, told.reason)


def view_homes(everyone: Iterable[PairedDevice], now: float, terms: Terms) -> tuple[HomeView, ...]:
    """Every home whose devices this node takes; its newest key speaks for it."""
    known = tuple(everyone)
    homes: dict[DeviceId, PairedDevice] = {}
    for one in known:
        if one.role is DeviceRole.PEER and not one.introduced_by and one.live(now):
            homes[one.owner] = one
    return tuple(
        HomeView(
            account,
            home.name,
            sum(1 for one in known if find_home(home.id, known).vouches_for(one) and one.live(now)),
            terms.most_devices if terms.accept else 0,
            allowed_scopes(home, terms),
            home.limits,
            home.last_seen_at,
        )
        for account, home in homes.items()
    )
