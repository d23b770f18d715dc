"""Which limits hold for a device: the tighter of what it was granted and of all ceilings. Pure."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

from homing_core.access import DeviceRole, Limits
from homing_core.errors import HomingError, RefusedError, UnpairedError
from homing_core.hours import open_at, opens_in, parse_hours
from homing_core.limits import stricter

if TYPE_CHECKING:
    from datetime import tzinfo

    from homing_crypto.devices import PairedDevice

    from homing_node.limit_sections import LimitsSection

_HOUR_S = 3600.0
_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class Standing:
    """What holds for a device now.

    Attributes:
        device: as the trust store knows it.
        limits: the tighter of all that apply.
        ceilings: what applied beside its own, by where it comes from.
        peer: account of the node that vouches for it; empty if paired here.
        shared: what all devices of that node have together: the numbers of its own entry, and where
            that says nothing, those of `[limits.introduced]`.
    """

    device: PairedDevice
    limits: Limits
    ceilings: tuple[tuple[str, Limits], ...] = ()
    peer: str = ""
    shared: Limits = field(default_factory=Limits)

    @property
    def household(self) -> bool:
        """Whether it goes before others: an owner's or a member's, and paired here."""
        return is_household(self.device)

    def tighter(self) -> tuple[tuple[str, str], ...]:
        """Kinds of limit that come from elsewhere than its own entry, and from where."""
        return tuple(
            (kind, _source(kind, self))
            for kind in (one.name for one in fields(Limits))
            if getattr(self.limits, kind) != getattr(self.device.limits, kind)
        )


def is_household(device: PairedDevice) -> bool:
    """Whether it is an owner's or a member's, and was paired here."""
    return device.role in {DeviceRole.OWNER, DeviceRole.MEMBER} and not device.introduced_by


def standing_of(
    device: PairedDevice, introducer: PairedDevice | None, section: LimitsSection
) -> Standing:
    """What holds for a device.

    Args:
        device: whom.
        introducer: the node that vouches for it; None if it is not known, or there is none.
        section: the operator's ceilings.

    Raises:
        RefusedError: the node that should vouch for it is not known.
    """
    ceilings: tuple[tuple[str, Limits], ...] = ()
    if device.introduced_by:
        if introducer is None:
            msg = "the node that vouched for this device is not known here any more"
            raise RefusedError(msg, "Ask its owner.")
        whose = f"{introducer.name} ({introducer.id[:12]})"
        ceilings = (("limits.introduced", section.introduced.limits), (whose, introducer.limits))
    elif device.role is DeviceRole.MEMBER:
        ceilings = (("limits.member", section.member.limits),)
    elif device.role is DeviceRole.GUEST:
        ceilings = (("limits.guest", section.guest.limits),)
    tightest = _tightest(device.limits, *(limits for _, limits in ceilings))
    if introducer is None or not device.introduced_by:
        return Standing(device, tightest, ceilings)
    shared = _together(introducer.limits, section.introduced.limits)
    return Standing(device, tightest, ceilings, introducer.owner, shared)


def check_expiry(limits: Limits, now: float) -> None:
    """Raises `UnpairedError` once the time is over."""
    if limits.expires_at and now >= limits.expires_at:
        msg = "this device's time on this node is over"
        raise UnpairedError(msg, "Ask the node's owner to extend it.")


def check_hours(limits: Limits, now: float, zone: tzinfo | None = None) -> None:
    """Raises `RefusedError` outside the hours of use, or if they cannot be read."""
    if not limits.hours:
        return
    try:
        hours = parse_hours(limits.hours)
    except HomingError as error:
        msg = "the hours in which this device may use the node cannot be read"
        raise RefusedError(msg, "Ask the node's owner to set them anew.") from error
    if open_at(hours, now, zone):
        return
    msg = f"this device may use the node at these hours only: {limits.hours}"
    wait = opens_in(hours, now, zone)
    hint = "Ask the node's owner." if wait is None else f"Try again in {duration(wait)}."
    raise RefusedError(msg, hint)


def seconds_until_open(limits: Limits, now: float, zone: tzinfo | None = None) -> int:
    """Seconds until the next hour of use; 0 if it is one now, a day if there is none."""
    if not limits.hours:
        return 0
    wait = opens_in(parse_hours(limits.hours), now, zone)
    return int(24 * _HOUR_S if wait is None else -(-wait // 1))


def duration(seconds: float) -> str:
    """A wait as a person says it, rounded up."""
    if seconds >= _HOUR_S:
        hours = -(-seconds // _HOUR_S)
        return f"{hours:.0f} hour{'s' if hours > 1 else ''}"
    minutes = max(-(-seconds // _MINUTE_S), 1)
    return f"{minutes:.0f} minute{'s' if minutes > 1 else ''}"


@functools.lru_cache(maxsize=1024)
def _tightest(*limits: Limits) -> Limits:
    return functools.reduce(stricter, limits)


def _together(granted: Limits, default: Limits) -> Limits:
    """What a home's devices share, so that a home has not as much as it has devices."""
    return replace(
        granted,
        tokens_per_day=granted.tokens_per_day or default.tokens_per_day,
        concurrent_streams=granted.concurrent_streams or default.concurrent_streams,
        jobs=granted.jobs or default.jobs,
    )


def _source(kind: str, standing: Standing) -> str:
    """Where the limit of a kind comes from: all sources that say anything of it."""
    if kind in {"tokens_per_day", "concurrent_streams", "jobs", "expires_at"}:
        value = getattr(standing.limits, kind)
        return next(name for name, limits in standing.ceilings if getattr(limits, kind) == value)
    said = [name for name, limits in standing.ceilings if getattr(limits, kind)]
    return ", ".join(said)
