"""A peer's decisions about the devices for which a home vouches. Pure: entries in, entries out.

Only a node that was paired here itself, as a peer, may introduce devices: whom it introduces cannot
introduce others, whatever it says. An introduced device is a guest, may do no more than the home's
own entry and this node's owner allow, and never takes the place of a device that was paired here,
that another home vouches for now, or that was revoked here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_core.access import DeviceRole, Scope
from homing_core.errors import RefusedError, UnpairedError
from homing_core.limits import stricter

from homing_crypto.certificates import check_certificate
from homing_crypto.devices import PairedDevice, merged
from homing_crypto.introductions import PASSABLE, Introduction, verify_introduction

if TYPE_CHECKING:
    from collections.abc import Collection

    from homing_core.ids import DeviceId


@dataclass(frozen=True, slots=True)
class Terms:
    """What a node's owner allows to homes.

    Attributes:
        me: the ids under which this node is known.
        scopes: what introduced devices may do at most, whatever is granted to their home.
        most_devices: devices of one home at once.
        accept: whether homes may introduce devices at all.
    """

    me: frozenset[DeviceId]
    scopes: frozenset[Scope] = PASSABLE
    most_devices: int = 64
    accept: bool = True


def may_introduce(home: PairedDevice | None, now: float) -> bool:
    """Whether a caller may vouch for others: a peer that was paired here itself, and no other."""
    return (
        home is not None
        and home.role is DeviceRole.PEER
        and Scope.INTRODUCE in home.scopes
        and not home.introduced_by
        and home.live(now)
    )


def allowed_scopes(home: PairedDevice, terms: Terms) -> frozenset[Scope]:
    """What a home's devices may do at most: run models, and more only where it was granted more."""
    return terms.scopes & PASSABLE & (home.scopes | {Scope.INFERENCE})


@dataclass(frozen=True, slots=True)
class Home:
    """A home, with all of its keys.

    Attributes:
        entry: of the key that calls.
        keys: ids of all its keys, and its account's.
        serial: the highest that it has sent under any of them.
    """

    entry: PairedDevice
    keys: frozenset[str]
    serial: int

    def vouches_for(self, device: PairedDevice) -> bool:
        """Whether a device is here on this home's word."""
        return device.introduced_by in self.keys


def find_home(caller: DeviceId, everyone: Collection[PairedDevice]) -> Home:
    """The caller, as this node knows it; raises `UnpairedError` if it does not."""
    for entry in everyone:
        if entry.id == caller:
            keys = [one for one in everyone if one.owner == entry.owner]
            serial = max(one.serial for one in keys)
            return Home(entry, frozenset({entry.owner, *(one.id for one in keys)}), serial)
    msg = "this device is not paired with the node"
    raise UnpairedError(msg, "Pair it: homing-node pair, on the node.")


def accept(
    introduction: Introduction,
    home: Home,
    known: PairedDevice | None,
    now: float,
    terms: Terms,
) -> PairedDevice:
    """Decide on one introduction.

    Args:
        introduction: from outside.
        home: the caller.
        known: this node's entry of the introduced device.
        now: wall time here, seconds since the epoch.
        terms: what this node's owner allows.

    Returns:
        The entry to store; `known` itself where nothing changes.

    Raises:
        RefusedError: the caller may not introduce, the device was revoked here, or nothing is left
            that it might do.
        ConflictError: another home vouches for the device.
        IntegrityError: it is not the home's word, not for this node, or altered.
        InvalidDataError: it is malformed, its lease is over or too long, or its serial is old.
    """
    if not terms.accept or not may_introduce(home.entry, now):
        msg = "this node takes no devices from you"
        raise RefusedError(msg, "Its owner can pair you as a peer: homing-node pair --role peer.")
    certificate = verify_introduction(
        introduction, check_certificate(home.entry.certificate_der), terms.me, now
    )
    if certificate.device_id in terms.me:
        msg = "a node is not introduced to itself"
        raise RefusedError(msg)
    own = known if known is not None and home.vouches_for(known) else None
    if own and own.live(now) and introduction.serial == home.serial == own.serial:
        return own
    if introduction.serial <= home.serial:
        msg = "this introduction is older than what this home said since"
        raise RefusedError(msg, "The home sends a newer one by itself.")
    scopes = introduction.scopes & allowed_scopes(home.entry, terms)
    if not scopes:
        msg = "nothing that this device may do at home is allowed to it here"
        raise RefusedError(msg, "Ask this node's owner.")
    entry = PairedDevice(
        id=certificate.device_id,
        certificate_der=certificate.der,
        hpke_public_key=introduction.hpke_public_key,
        hpke_signature=introduction.hpke_signature,
        name=introduction.name,
        role=DeviceRole.GUEST,
        scopes=scopes,
        limits=stricter(introduction.limits, home.entry.limits),
        paired_at=now,
        introduced_by=own.introduced_by if own else home.entry.owner,
        lease_expires_at=introduction.lease_expires_at,
        serial=introduction.serial,
        account=own.account if own else "",  # its home alone says which of its keys are in use
    )
    stored = merged(known, entry)
    if not stored.live(now):
        msg = "this device's time on this node is over"
        raise UnpairedError(msg, "Ask this node's owner to extend it.")
    return stored
