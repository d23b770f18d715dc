"""What a node's list of devices becomes when a device replaces its key. Pure.

The new key is another entry of the same account: same role, scopes, limits, name, lease; whatever
the device vouches for names its account and stays as it is. The old key goes on for an overlap, or
until the device says that the new one works. A rotation never raises what a device may do, and a
key that has a successor names no other: whoever finds an old phone cannot make itself a key that
outlives the overlap.

A device that is here on another node's word replaces no key here: its home tells this node of the
new one, and takes back the old. So a home's withdrawal always reaches all that came from its word.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from homing_core.errors import ConflictError, NotFoundError, OverloadedError, RefusedError

from homing_crypto.devices import RETIRED, PairedDevice, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_core.ids import DeviceId

    from homing_crypto.rotation import NewKey

MOST_EARLIER_KEYS = 4
"""Earlier keys of one device that are kept; more rotations in one overlap are refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated(Rewrite):
    """The list after a rotation.

    Attributes:
        device: the entry of the new key.
        old_until: when the old key's overlap ends.
        again: whether it was there already, so that nothing changes.
    """

    device: PairedDevice
    old_until: int
    again: bool = False


def rotated(
    known: tuple[PairedDevice, ...],
    old_id: DeviceId,
    new: NewKey,
    *,
    now: float,
    retires_at: int,
) -> Rotated:
    """Let `new` follow `old_id`. Repeating it changes nothing.

    Args:
        known: every device.
        old_id: the key that speaks for the new one.
        new: the new key, checked.
        now: wall time at the node, seconds since the epoch.
        retires_at: when the old key's overlap ends.

    Raises:
        NotFoundError: the old key is unknown.
        RefusedError: it is revoked, its time is over, or another node vouches for it.
        ConflictError: it has another successor already, or the new key is another device's.
        OverloadedError: too many rotations in one overlap.
    """
    by_id = {device.id: device for device in known}
    old = by_id.get(old_id)
    if old is None:
        msg = "no such device is paired"
        raise NotFoundError(msg, "List them to see their ids.")
    keys = [device for device in known if device.owner == old.owner]
    if not old.live(now) or any(key.revoked_at for key in keys):
        msg = "this device was shut out and cannot replace its key"
        raise RefusedError(msg, "Ask the node's owner to pair it again.")
    if old.introduced_by:
        raise _a_homes()
    existing = by_id.get(new.id)
    if existing is not None and existing.introduced_by and not existing.revoked_at:
        existing = None  # its home was faster; but it was paired here itself
    if any(device.account == new.id for device in known):
        msg = "the new key is known here already, as another device's first one"
        raise ConflictError(msg, "Rotate the key again.")
    if existing is not None:
        if existing.owner != old.owner or existing.retires_at:
            msg = "the new key is known here already, and not as this device's next one"
            raise ConflictError(msg, "Rotate the key again.")
        return Rotated(device=existing, old_until=old.retires_at, again=True)
    if old.retires_at:
        msg = "this key has another successor already"
        raise ConflictError(msg, "Use the newer key, or pair again.")
    over = sorted((key for key in keys if key.retires_at), key=lambda key: key.retires_at)
    past = [key for key in over if not key.live(now)]
    if len(over) - len(past) >= MOST_EARLIER_KEYS:
        msg = "this device replaced its key too often"
        raise OverloadedError(msg, "Wait until its earlier keys have run out.")
    fresh = replace(
        old,
        id=new.id,
        certificate_der=new.certificate.der,
        hpke_public_key=new.hpke_public_key,
        hpke_signature=new.hpke_signature,
        account=old.owner,
        last_seen_at=0.0,
    )
    retiring = replace(old, retires_at=retires_at)
    # The first one stays: the device is counted under its id, and may be named by it.
    drop = tuple(key.id for key in past if key.id != old.owner)
    return Rotated(put=(fresh, retiring), drop=drop, device=fresh, old_until=retires_at)


def finished(known: Iterable[PairedDevice], new_id: DeviceId) -> Rewrite:
    """The new key works: the earlier ones of its device are over. Repeating it changes nothing.

    Raises:
        RefusedError: another node vouches for the device.
    """
    devices = tuple(known)
    caller = next((device for device in devices if device.id == new_id), None)
    if caller is not None and caller.introduced_by:
        raise _a_homes()
    account = caller.owner if caller else None
    return Rewrite(
        put=tuple(
            replace(device, retires_at=RETIRED)
            for device in devices
            if device.owner == account and device.retires_at > RETIRED and device.id != new_id
        )
    )


def _a_homes() -> RefusedError:
    msg = "this device is here on its home's word: its home tells this node of a new key"
    return RefusedError(msg, "Replace the key at home; this node hears of it from there.")
