"""Whose devices a peer is told of, and what is to be sent to it now. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.access import DeviceRole
from homing_crypto.introductions import MAX_DEVICES, PASSABLE

from homing_node.peers.ledger import PeerAccount, Told, ToldState
from homing_node.peers.section import Share

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_core.ids import DeviceId
    from homing_crypto.devices import PairedDevice

RENEWALS: Final = 3
"""A lease is renewed when a third of it is over."""
LAPSE_SLACK_S: Final = 60 * 60
"""A lease that ended this long ago by this node's clock is over by the peer's clock too."""

_HOUSEHOLD = frozenset({DeviceRole.OWNER, DeviceRole.MEMBER})
_BY_SHARE = {
    Share.HOUSEHOLD: _HOUSEHOLD,
    Share.EVERYONE: _HOUSEHOLD | {DeviceRole.GUEST},
    Share.NOBODY: frozenset[DeviceRole](),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do about one peer.

    Attributes:
        withdraw: devices that it must not let in any more.
        lapsed: the same, but its leases are over: nothing has to be sent.
        push: devices to tell it of, or to renew, with what will have been told.
        next_at: when the next renewal is due, wall time in seconds since the epoch; 0 for never.
    """

    withdraw: tuple[DeviceId, ...]
    lapsed: tuple[DeviceId, ...]
    push: tuple[tuple[PairedDevice, Told], ...]
    next_at: float


def shared_devices(
    devices: Iterable[PairedDevice], account: PeerAccount, share: Share, now: float
) -> tuple[PairedDevice, ...]:
    """The devices that a peer may let in on this node's word.

    Only devices that were paired here count, never those for which another node vouches, nor other
    nodes: introductions do not chain.
    """
    if account.leaving:
        return ()
    if account.guests is None:
        roles = _BY_SHARE[share]
    elif account.guests:
        roles = _BY_SHARE[share] | {DeviceRole.GUEST}
    else:
        roles = _BY_SHARE[share] - {DeviceRole.GUEST}
    return tuple(
        device
        for device in devices
        if device.live(now)
        and not device.introduced_by
        and device.role is not DeviceRole.PEER
        and device.scopes & PASSABLE
        and account.choices.get(device.id, account.choices.get(device.owner, device.role in roles))
    )[:MAX_DEVICES]


def plan(
    home: DeviceId,
    wanted: Iterable[PairedDevice],
    account: PeerAccount,
    now: float,
    lease_s: int,
) -> Plan:
    """What a peer has to be told now.

    Args:
        home: the key that will sign; another than before makes everything be said again.
        wanted: see `shared_devices`.
        account: what it was told.
        now: wall time, seconds since the epoch.
        lease_s: how long leases are, in seconds.
    """
    by_id = {device.id: device for device in wanted}
    unwanted = [one for one in account.told.values() if one.device_id not in by_id]
    lapsed = tuple(one.device_id for one in unwanted if one.lease_expires_at + LAPSE_SLACK_S < now)
    push: list[tuple[PairedDevice, Told]] = []
    renewals: list[float] = []
    for device in by_id.values():
        before, said = account.told.get(device.id), digest(home, device)
        renew_at = before.lease_expires_at - lease_s * (1 - 1 / RENEWALS) if before else now
        known = before is not None and before.digest == said
        # A lease that ends later than any made now was made by a clock that has been set back.
        odd = before is not None and before.lease_expires_at > now + lease_s + LAPSE_SLACK_S
        if known and before and before.state is not ToldState.SENT and now < renew_at and not odd:
            renewals.append(renew_at)
        else:
            push.append((device, Told(device.id, said, int(now) + lease_s)))
    if push:
        renewals.append(now + lease_s / RENEWALS)
    return Plan(
        withdraw=tuple(one.device_id for one in unwanted if one.device_id not in lapsed),
        lapsed=lapsed,
        push=tuple(push),
        next_at=min(renewals, default=0.0),
    )


def digest(home: DeviceId, device: PairedDevice) -> str:
    """Of all that an introduction says of a device, so that a change is seen."""
    parts = (
        home,
        device.certificate_der.hex(),
        device.hpke_public_key.hex(),
        device.hpke_signature.hex(),
        device.name,
        str(sorted(scope.value for scope in device.scopes)),
        repr(device.limits),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()
