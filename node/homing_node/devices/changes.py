"""Changes to what a device may do, as a person says them: only what is named. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from homing_core.access import DEFAULT_SCOPES, DeviceRole, Limits, Scope
from homing_core.limits import checked_limits

if TYPE_CHECKING:
    from homing_crypto.devices import PairedDevice

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LimitChanges:
    """Limits to change; None leaves one as it is. The fields are those of `Limits`."""

    tokens_per_day: int | None = None
    concurrent_streams: int | None = None
    jobs: int | None = None
    models: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    expires_at: int | None = None
    hours: str | None = None

    def apply(self, limits: Limits) -> Limits:
        """The limits with what is named changed.

        Raises:
            UsageError: it makes no limits.
        """
        return checked_limits(
            Limits(
                tokens_per_day=_or(self.tokens_per_day, limits.tokens_per_day),
                concurrent_streams=_or(self.concurrent_streams, limits.concurrent_streams),
                jobs=_or(self.jobs, limits.jobs),
                models=_or(self.models, limits.models),
                tools=_or(self.tools, limits.tools),
                expires_at=_or(self.expires_at, limits.expires_at),
                hours=_or(self.hours, limits.hours),
            )
        )


@dataclass(frozen=True, slots=True)
class DeviceChange:
    """What to change of a device; what is not named stays.

    Attributes:
        role: its new role, with that role's scopes unless others are named.
        scopes: its new scopes.
        limits: what to change of its limits.
        reset: begin with the role's own scopes and without limits.
    """

    role: DeviceRole | None = None
    scopes: frozenset[Scope] | None = None
    limits: LimitChanges = LimitChanges()
    reset: bool = False


def changed(
    device: PairedDevice, change: DeviceChange
) -> tuple[DeviceRole, frozenset[Scope], Limits]:
    """Role, scopes and limits of the device after a change.

    Raises:
        UsageError: the limits make none.
    """
    role = change.role or device.role
    anew = change.reset or role is not device.role
    scopes = DEFAULT_SCOPES[role] if anew else device.scopes
    return (
        role,
        scopes if change.scopes is None else change.scopes,
        change.limits.apply(Limits() if change.reset else device.limits),
    )


def _or(named: T | None, before: T) -> T:
    return before if named is None else named
