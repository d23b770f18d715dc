"""How introduced devices are shut out again: by their home, or because it may do less. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from homing_core.ids import DeviceId
from homing_core.limits import stricter

from homing_crypto.devices import PairedDevice, Rewrite
from homing_crypto.vouching import Terms, allowed_scopes, find_home, may_introduce

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


@dataclass(frozen=True, slots=True)
class Ended(Rewrite):
    """Whom a change shuts out.

    Attributes:
        ended: keys that could come in before.
        idle: accounts that no key is left to: what they have under way ends.
        serial: the highest that their home has sent.
    """

    ended: tuple[PairedDevice, ...] = ()
    idle: tuple[DeviceId, ...] = ()
    serial: int = 0


def withdraw(
    device_ids: Iterable[DeviceId],
    serial: int,
    caller: DeviceId,
    everyone: Collection[PairedDevice],
    now: float,
) -> Ended:
    """A home takes its word for devices back; for `TrustStore.rewrite`.

    All keys of the devices end, whichever of them is named, but only those for which this home
    vouches. A serial below the highest changes nothing: the home learns the highest, and asks
    again.

    Raises:
        UnpairedError: the caller is not known.
    """
    home = find_home(caller, everyone)
    if serial < home.serial:
        return Ended(serial=home.serial)
    wanted: set[str] = set(device_ids)
    own = [one for one in everyone if home.vouches_for(one)]
    named = {one.owner for one in own if one.id in wanted or one.owner in wanted}
    ended = _end(everyone, [one for one in own if one.owner in named], now)
    if serial > home.serial:
        ended = replace(ended, put=(*ended.put, replace(home.entry, serial=serial)))
    return replace(ended, serial=serial)


def leave(caller: DeviceId, everyone: Collection[PairedDevice], now: float) -> Ended:
    """An introduced device leaves; for `TrustStore.rewrite`.

    Nothing of it stays for good, since its home could bring another in its place again and again;
    it counts among its home's for a day, as after a withdrawal. A device that was paired here, or
    is not known, is left alone. The home's next word brings it back.
    """
    homes = {(one.owner, one.introduced_by) for one in everyone if one.id == caller}
    keys = [one for one in everyone if (one.owner, one.introduced_by) in homes]
    return _end(everyone, [one for one in keys if one.introduced_by], now)


def tighten(everyone: Collection[PairedDevice], now: float, terms: Terms) -> Ended:
    """Hold introduced devices to what their homes may do now; for `TrustStore.rewrite`.

    A home that may do less than before takes its devices with it at once; where it may do more, its
    next push brings that.
    """
    accounts = {one.owner: one for one in everyone if may_introduce(one, now)}
    homes = {name: accounts.get(one.owner) for one in everyone for name in (one.id, one.owner)}
    held: list[PairedDevice] = []
    gone: list[PairedDevice] = []
    for one in everyone:
        if not one.introduced_by or not one.live(now):
            continue
        home = homes.get(DeviceId(one.introduced_by))
        scopes = one.scopes & allowed_scopes(home, terms) if home and terms.accept else None
        if home is None or not scopes:
            gone.append(one)
            continue
        less = replace(one, scopes=scopes, limits=stricter(one.limits, home.limits))
        if less != one:
            held.append(less)
    ended = _end(everyone, gone, now)
    return replace(ended, put=(*held, *ended.put))


def _end(everyone: Collection[PairedDevice], keys: Collection[PairedDevice], now: float) -> Ended:
    """End the leases of these keys, also of those that a wrong clock keeps out just now."""
    lapsed = {one.id: _lapsed(one, now) for one in keys if not one.revoked_at}
    after = [lapsed.get(one.id, one) for one in everyone]
    going_on = {one.owner for one in after if one.live(now)}
    return Ended(
        tuple(lapsed[one.id] for one in keys if one.id in lapsed and lapsed[one.id] != one),
        ended=tuple(one for one in keys if one.live(now)),
        idle=tuple(dict.fromkeys(one.owner for one in keys if one.owner not in going_on)),
    )


def _lapsed(device: PairedDevice, now: float) -> PairedDevice:
    return replace(device, lease_expires_at=max(1, min(device.lease_expires_at, int(now))))
