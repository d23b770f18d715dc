"""What a node's list of devices becomes when a home pushes introductions. Pure.

A device whose home took its word back stays in the list for a day with its lease ended, and one
that was revoked counts for a day, so that a home cannot bring more devices in a day than it may
have at once. Devices are counted and held to their limits by account, whatever keys they have, and
an account belongs to the home that vouches for its keys: no other home can take its name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from homing_core.errors import ConflictError, HomingError, OverloadedError
from homing_core.limits import stricter

from homing_crypto.devices import PairedDevice, Rewrite
from homing_crypto.introductions import MAX_LEASE_S, Introduction
from homing_crypto.vouching import Home, Terms, accept, find_home

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from homing_core.ids import DeviceId


@dataclass(frozen=True, slots=True)
class Taken(Rewrite):
    """What came of a push.

    Attributes:
        accepted: devices that are known now, as they are stored.
        fresh: those of them that could not come in before.
        refused: who was not taken, and why.
        serial: the highest that this home has sent.
    """

    accepted: tuple[PairedDevice, ...] = ()
    fresh: tuple[PairedDevice, ...] = ()
    refused: tuple[tuple[DeviceId, HomingError], ...] = ()
    serial: int = 0


def take(
    introductions: Iterable[Introduction],
    caller: DeviceId,
    everyone: Collection[PairedDevice],
    now: float,
    terms: Terms,
) -> Taken:
    """Decide on a push, whole; for `TrustStore.rewrite`.

    Args:
        introductions: from outside.
        caller: the home's key.
        everyone: all that this node knows.
        now: wall time here, seconds since the epoch.
        terms: what this node's owner allows.

    Raises:
        UnpairedError: the caller is not known.
    """
    home = find_home(caller, everyone)
    stale = _forgettable(everyone, now)
    before = {device.id: device for device in everyone if device.id not in stale}
    known = dict(before)
    counted = {one.owner for one in known.values() if home.vouches_for(one) and _counts(one, now)}
    accepted: dict[DeviceId, PairedDevice] = {}
    refused: list[tuple[DeviceId, HomingError]] = []
    for one in introductions:
        entry = known.get(one.device_id)
        try:
            if entry is None and len(counted) >= terms.most_devices:
                raise _too_many(terms.most_devices)
            if entry is None or entry.introduced_by:
                _check_name_free(one.device_id, home, known.values())
            stored = accept(one, home, entry, now, terms)
        except HomingError as error:
            refused.append((one.device_id, error))
            continue
        accepted[stored.id] = known[stored.id] = stored
        if stored.introduced_by:
            counted.add(stored.owner)
            known.update(_other_keys_held(stored, home, known.values()))
    serial = max([home.serial, *(one.serial for one in accepted.values() if one.introduced_by)])
    put = [one for one in known.values() if one != before.get(one.id)]
    if serial > home.serial:
        put.append(replace(home.entry, serial=serial))
    inside = {one.id for one in before.values() if one.live(now)}
    return Taken(
        tuple(put),
        stale,
        accepted=tuple(known[device_id] for device_id in accepted),
        fresh=tuple(one for one in accepted.values() if one.id not in inside),
        refused=tuple(refused),
        serial=serial,
    )


def _forgettable(everyone: Collection[PairedDevice], now: float) -> tuple[DeviceId, ...]:
    """Introduced devices that lapsed a day ago; an account's first key only with the others."""
    stale = {
        one.id
        for one in everyone
        if one.introduced_by and not one.revoked_at and one.lease_expires_at <= now - MAX_LEASE_S
    }
    named = {one.account for one in everyone if one.id not in stale}
    return tuple(one.id for one in everyone if one.id in stale and one.id not in named)


def _counts(device: PairedDevice, now: float) -> bool:
    """Whether a device takes one of its home's places: not if it was revoked a day ago."""
    return not device.revoked_at or device.revoked_at > now - MAX_LEASE_S


def _check_name_free(device_id: DeviceId, home: Home, everyone: Iterable[PairedDevice]) -> None:
    """Raises `ConflictError` where others' keys are counted under this id."""
    if any(one.account == device_id and not home.vouches_for(one) for one in everyone):
        msg = "another device goes on under this key's name"
        raise ConflictError(msg, "Introduce the device's present key.")


def _other_keys_held(
    device: PairedDevice, home: Home, everyone: Iterable[PairedDevice]
) -> dict[DeviceId, PairedDevice]:
    """The device's other keys, which may do no more and for no longer than was just said of it."""
    return {
        one.id: replace(
            one,
            scopes=one.scopes & device.scopes,
            limits=stricter(one.limits, device.limits),
            lease_expires_at=min(one.lease_expires_at, device.lease_expires_at),
        )
        for one in everyone
        if one.owner == device.owner and one.id != device.id and home.vouches_for(one)
    }


def _too_many(most: int) -> OverloadedError:
    msg = f"this node takes {most} devices of one home in a day"
    return OverloadedError(msg, "Its owner can allow more: [peers] max_devices.")
