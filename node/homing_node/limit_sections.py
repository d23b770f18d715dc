"""`[limits]` of the configuration: ceilings on what devices of a role get, whatever is granted."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

from homing_core.access import Limits
from homing_core.config import HERE
from homing_core.errors import UsageError
from homing_core.limits import checked_limits

_MOST_CALLS = 100_000


@dataclass(frozen=True, slots=True)
class CeilingSection:
    """`[limits.ROLE]`: the most that any device of this kind gets; 0 or empty is no limit.

    Attributes:
        tokens_per_day: tokens of one device in 24 hours.
        concurrent_streams: generations of one device at once.
        jobs: jobs of one device that have not ended.
        models: patterns for names of models; `["none"]` allows none.
        tools: patterns for home tools, as `server.name`; `["none"]` allows none.
        hours: hours of use, such as `08:00-22:00`, in this machine's time zone; `none` is never.
    """

    tokens_per_day: int = 0
    concurrent_streams: int = 0
    jobs: int = 0
    models: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    hours: str = ""

    def __post_init__(self) -> None:
        """Check the numbers, patterns and hours."""
        for key in (one.name for one in fields(self)):
            try:
                checked_limits(replace(Limits(), **{key: getattr(self, key)}))
            except UsageError as error:
                msg = f"{HERE}.{key}: {error.what} ({error.hint.rstrip('.')})"
                raise ValueError(msg) from error

    @property
    def limits(self) -> Limits:
        """The same as limits."""
        return Limits(
            tokens_per_day=self.tokens_per_day,
            concurrent_streams=self.concurrent_streams,
            jobs=self.jobs,
            models=self.models,
            tools=self.tools,
            hours=self.hours,
        )


def _guests() -> CeilingSection:
    return CeilingSection(tokens_per_day=50_000, concurrent_streams=2, jobs=2)


def _introduced() -> CeilingSection:
    return CeilingSection(tokens_per_day=100_000, concurrent_streams=2, jobs=2)


@dataclass(frozen=True, slots=True)
class LimitsSection:
    """`[limits]`: what holds for every device, and ceilings by role. Owners have no ceiling.

    Attributes:
        calls_per_second: calls that one device may make, on average.
        calls_burst: calls that it may make at once after a rest.
        calls_at_once: calls of one device that may be open at a time.
        usage_days: days for which each answer's use is kept; sums of days are kept for good.
        member: ceiling for each member's device.
        guest: ceiling for each guest's device.
        introduced: ceiling for each device that another home vouches for, whatever its role; that
            home's own limits count as well, for all of its devices together, and where it has none
            these do.
    """

    calls_per_second: float = 50.0
    calls_burst: int = 200
    calls_at_once: int = 64
    usage_days: int = 90
    member: CeilingSection = field(default_factory=CeilingSection)
    guest: CeilingSection = field(default_factory=_guests)
    introduced: CeilingSection = field(default_factory=_introduced)

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not 0 < self.calls_per_second <= _MOST_CALLS:
            msg = f"limits.calls_per_second is not above 0 and at most {_MOST_CALLS:,}"
            raise ValueError(msg)
        for key in ("calls_burst", "calls_at_once", "usage_days"):
            if not 1 <= getattr(self, key) <= _MOST_CALLS:
                msg = f"limits.{key} is not between 1 and {_MOST_CALLS:,}"
                raise ValueError(msg)
