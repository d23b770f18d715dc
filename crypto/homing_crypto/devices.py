"""Paired devices as values, and the rules for changing them. Pure.

A pairing never raises what a device may do: a device that is paired already keeps its role, and
only an explicit grant changes it. An introduction by another node never touches a device that was
paired here, nor brings a revoked one back.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from homing_core.access import DEFAULT_SCOPES, DeviceRole, Limits, Scope
from homing_core.errors import (
    ConflictError,
    IntegrityError,
    RefusedError,
)
from homing_core.ids import DeviceId
from homing_core.labels import clean_label

from homing_crypto.certificates import check_certificate

if TYPE_CHECKING:
    from collections.abc import Iterable

RETIRED = 1
"""`retires_at` of a key that is over for good, wherever the clock is set."""
CLOCK_SLACK_S = 24 * 60 * 60
"""A clock that is set back by less is believed."""
_MOST_LEASE_S = 25 * 60 * 60
"""Leases are at most a day long; an hour more for clocks that differ."""


@dataclass(frozen=True, slots=True)
class PairedDevice:
    """A device that a node knows. Times are wall time at the node, seconds since the epoch.

    Attributes:
        id: SHA-256 of its public key.
        certificate_der: its certificate.
        hpke_public_key: where to seal messages for it, raw; empty if it gave none.
        hpke_signature: its key's word for that; empty if an older Homing paired it.
        name: for people; cleaned.
        role: what it is.
        scopes: what it may do.
        limits: how much of it.
        paired_at: when it was paired.
        last_seen_at: when it last called; 0 for never.
        revoked_at: when it was revoked; 0 if it is not.
        introduced_by: device id of the node that vouches for it; empty if paired here.
        lease_expires_at: end of that node's word; 0 for none.
        serial: of the newest introduction of it, or the highest that a peer has pushed.
        account: the device id under which it is counted and whose work is its own: that of its
            first key, so that a new key inherits limits, usage and what is under way; empty
            stands for its own id.
        retires_at: end of an old key's overlap after a rotation; 0 for a key in use.
    """

    id: DeviceId
    certificate_der: bytes = field(repr=False)
    hpke_public_key: bytes = field(repr=False)
    name: str
    role: DeviceRole
    scopes: frozenset[Scope]
    limits: Limits = field(default_factory=Limits)
    paired_at: float = 0.0
    last_seen_at: float = 0.0
    revoked_at: float = 0.0
    introduced_by: str = ""
    lease_expires_at: int = 0
    serial: int = 0
    account: str = ""
    retires_at: int = 0
    hpke_signature: bytes = field(default=b"", repr=False)

    @property
    def owner(self) -> DeviceId:
        """Whose work and usage this key's is: the account, or itself."""
        return DeviceId(self.account or self.id)

    @property
    def listed(self) -> bool:
        """Whether people see it as a device: not revoked, and no earlier key of one."""
        return not self.revoked_at and not self.retires_at

    def live(self, now: float) -> bool:
        """Whether it may connect at all: not revoked; lease, time and overlap not run out.

        A clock that was set back would let begin again what has ended. So whatever has an end is
        over while the clock stands before the device's last call, or further before the end of a
        lease than any lease is long.
        """
        ends = (self.lease_expires_at, self.limits.expires_at, self.retires_at)
        if self.revoked_at or self.retires_at == RETIRED:
            return False
        if not any(ends):
            return True
        set_back = now < self.last_seen_at - CLOCK_SLACK_S
        set_back |= self.lease_expires_at - now > _MOST_LEASE_S
        return not set_back and all(now < end for end in ends if end)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A change to what a node knows, decided from all of it.

    Attributes:
        put: entries to store as they are.
        drop: entries to delete.
    """

    put: tuple[PairedDevice, ...] = ()
    drop: tuple[DeviceId, ...] = ()


def shut_out_with(device: PairedDevice, known: Iterable[PairedDevice]) -> tuple[PairedDevice, ...]:
    """Every entry that a revocation of this device ends, itself first.

    These are all keys of its account, and all devices for which any of them vouches.
    """
    everyone = tuple(known)
    keys = {other.id for other in everyone if other.owner == device.owner}
    keys |= {device.id, device.owner}
    others = (
        other
        for other in everyone
        if other.id != device.id and (other.id in keys or other.introduced_by in keys)
    )
    return (device, *others)


def scopes_for(role: DeviceRole) -> frozenset[Scope]:
    """What a device of this role may do unless granted otherwise."""
    return DEFAULT_SCOPES[role]


def merged(existing: PairedDevice | None, new: PairedDevice) -> PairedDevice:
    """What the store holds after `new` was paired or introduced.

    Raises:
        RefusedError: an introduction of a device that was revoked here.
        ConflictError: an introduction of a device for which another node vouches.
    """
    if existing is None:
        return new
    if new.introduced_by:
        if existing.revoked_at:
            msg = "this device was revoked here"
            raise RefusedError(msg, "Only a new pairing at this node brings it back.")
        if not existing.introduced_by:
            return existing
        if existing.introduced_by != new.introduced_by and existing.live(new.paired_at):
            msg = "another node already vouches for this device"
            raise ConflictError(msg, "Withdraw that introduction first.")
        return replace(new, paired_at=existing.paired_at, last_seen_at=existing.last_seen_at)
    if existing.introduced_by or not existing.live(new.paired_at):
        return new  # a person opened a pairing for it: that starts anew
    return replace(
        existing,
        certificate_der=new.certificate_der,
        hpke_public_key=new.hpke_public_key,
        hpke_signature=new.hpke_signature,
        name=new.name,
    )


def repeated(existing: PairedDevice | None, new: PairedDevice, link_user: str) -> PairedDevice:
    """What a link that was used before still gives: its device the same entry, unchanged.

    So a lost answer can be asked for again, but a device that was revoked meanwhile cannot bring
    itself back with its old link.

    Raises:
        ConflictError: another device used the link.
        RefusedError: the device was revoked since.
    """
    if link_user != new.id:
        msg = "this pairing link was already used"
        raise ConflictError(msg, "Ask for a new one on the node: homing-node pair.")
    if existing is None or not existing.live(new.paired_at):
        msg = "this device was shut out after it used this link"
        raise RefusedError(msg, "Ask the node's owner for a new link.")
    return existing


def granted(
    device: PairedDevice, role: DeviceRole, scopes: frozenset[Scope], limits: Limits
) -> PairedDevice:
    """The device with another role, scopes and limits.

    Raises:
        RefusedError: it is revoked, another node vouches for it, or it would become a home node,
            or one would become something else: what is one is told when it is paired.
    """
    if (role is DeviceRole.PEER) is not (device.role is DeviceRole.PEER):
        what = "another home's node" if device.role is DeviceRole.PEER else "a phone"
        msg = f"this device was paired as {what}, and stays one"
        raise RefusedError(msg, "A home is paired with: homing-node pair --role peer.")
    if device.revoked_at:
        msg = "this device is revoked"
        raise RefusedError(msg, "Pair it again first.")
    if device.introduced_by:
        msg = "this device is here on another node's word, and is what that node may make it"
        raise RefusedError(msg, "Change what its home may do, or revoke this device.")
    return replace(device, role=role, scopes=scopes, limits=limits)


def checked_device(device: PairedDevice) -> PairedDevice:
    """The device with a clean name, its certificate checked to be of its id.

    Raises:
        InvalidDataError: the certificate is malformed.
        IntegrityError: it is another device's.
    """
    if _certificate_id(device.certificate_der) != device.id:
        msg = "the certificate belongs to another device"
        raise IntegrityError(msg, "Pair the device again.")
    return replace(device, name=clean_label(device.name))


@functools.lru_cache(maxsize=4096)
def _certificate_id(der: bytes) -> DeviceId:
    return check_certificate(der).device_id
