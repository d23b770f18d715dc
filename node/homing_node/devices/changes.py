"""Changes to what a device may do, as a person says them: only what is named. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homing_core.access import DEFAULT_SCOPES, DeviceRole, Limits, Scope
from homing_core.limit_words import LimitChange

if TYPE_CHECKING:
    from homing_crypto.devices import PairedDevice


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
    limits: LimitChange = field(default_factory=LimitChange)
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
        change.limits.of(Limits() if change.reset else device.limits),
    )
