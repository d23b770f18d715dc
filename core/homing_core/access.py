"""Roles and scopes: who may call what. Pure; the node asks it on every RPC."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class DeviceRole(Enum):
    """What a paired device is to a node, from most to least."""

    OWNER = "owner"
    MEMBER = "member"
    GUEST = "guest"
    PEER = "peer"


class Scope(Enum):
    """One thing that a device may be allowed to do on a node."""

    INFERENCE = "inference"
    TOOLS = "tools"
    JOBS = "jobs"
    DEVICES = "devices"
    RELAY = "relay"
    INTRODUCE = "introduce"


DEFAULT_SCOPES: dict[DeviceRole, frozenset[Scope]] = {
    DeviceRole.OWNER: frozenset(
        {Scope.INFERENCE, Scope.TOOLS, Scope.JOBS, Scope.DEVICES, Scope.RELAY}
    ),
    DeviceRole.MEMBER: frozenset({Scope.INFERENCE, Scope.TOOLS, Scope.JOBS, Scope.RELAY}),
    DeviceRole.GUEST: frozenset({Scope.INFERENCE}),
    DeviceRole.PEER: frozenset({Scope.INTRODUCE}),
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on one device; 0 or empty means no limit of that kind.

    What nothing at all is, and which of two limits is the tighter, `homing_core.limits` says.

    Attributes:
        tokens_per_day: tokens in 24 hours: those of prompts that had to be computed, and those that
            were written.
        concurrent_streams: generations at once.
        jobs: jobs that have not ended.
        models: patterns for names of models, and of adapters.
        tools: patterns for home tools, as `server.name`.
        expires_at: valid until then, seconds since the epoch.
        hours: hours of use, such as `08:00-22:00`, in the node's time zone.
    """

    tokens_per_day: int = 0
    concurrent_streams: int = 0
    jobs: int = 0
    models: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    expires_at: int = 0
    hours: str = ""


@dataclass(frozen=True, slots=True)
class AccessRule:
    """What a method needs of its caller.

    Attributes:
        scope: the scope it needs; None lets every paired device in.
        roles: the roles that may call it; empty means any.
        without_scope: the roles that need not have the scope.
    """

    scope: Scope | None = None
    roles: frozenset[DeviceRole] = frozenset()
    without_scope: frozenset[DeviceRole] = frozenset()


def allowed(rule: AccessRule | None, role: DeviceRole, scopes: frozenset[Scope]) -> bool:
    """Whether the caller may; a method without a rule is closed to everyone."""
    if rule is None:
        return False
    if rule.roles and role not in rule.roles:
        return False
    return rule.scope is None or rule.scope in scopes or role in rule.without_scope
