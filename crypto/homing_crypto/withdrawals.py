"""How introduced devices are shut out again: by their home, or because it may do less. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from homing_core.ids import DeviceId
from homing_core.limits import stricter

from homing_crypto.devices import PairedDevice, Rewrite
from homing_crypto.vouching import (
    Terms,
    allowed_scopes,
    find_home,
    may_introduce,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


@dataclass(frozen=True, slots=True)
class Ended(Rewrite):
    """Whom a change shuts out.

    Attributes:
        ended: devices that could come in before.
        serial: the highest that their home has sent.
    """

    ended: tuple[PairedDevice, ...] = ()
    serial: int = 0


def withdraw(
    device_ids: Iterable[DeviceId],
    serial: int,
    caller: DeviceId,
    everyone: Collection[PairedDevice],
    now: float,
) -> Ended:
    """A home takes its word for devices back; for `TrustStore.rewrite`.

    It touches only devices for which this home vouches. A serial below the highest changes nothing:
    the home learns the highest, and asks again.

    Raises:
        UnpairedError: the caller is not known.
    """
    home = find_home(caller, everyone)
    if serial < home.serial:
        return Ended(serial=home.serial)
    wanted = set(device_ids)
    ended = tuple(
        one for one in everyone if one.id in wanted and home.vouches_for(one) and one.live(now)
    )
    put = [_lapsed(one, now) for one in ended]
    if serial > home.serial:
        put.append(replace(home.entry, serial=serial))
    return Ended(tuple(put), ended=ended, serial=serial)


def tighten(everyone: Collection[PairedDevice], now: float, terms: Terms) -> Ended:
    """Hold introduced devices to what their homes may do now; for `TrustStore.rewrite`.

    A home that may do less than before takes its devices with it at once; where it may do more, its
    next push brings that.
    """
    accounts = {one.owner: one for one in everyone if may_introduce(one, now)}
    homes = {name: accounts.get(one.owner) for one in everyone for name in (one.id, one.owner)}
    put: list[PairedDevice] = []
    ended: list[PairedDevice] = []
    for one in everyone:
        if not one.introduced_by or not one.live(now):
            continue
        home = homes.get(DeviceId(one.introduced_by))
        scopes = one.scopes & allowed_scopes(home, terms) if home and terms.accept else None
        if home is None or not scopes:
            ended.append(one)
            put.append(_lapsed(one, now))
            continue
        held = replace(one, scopes=scopes, limits=stricter(one.limits, home.limits))
        if held != one:
            put.append(held)
    return Ended(tuple(put), ended=tuple(ended))


def _lapsed(device: PairedDevice, now: float) -> PairedDevice:
    return replace(device, lease_expires_at=max(1, min(device.lease_expires_at, int(now))))
