"""A paired device as people see it, on the node's command line and on an owner's phone."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from homing_core.access import Limits

if TYPE_CHECKING:
    from homing_core.access import DeviceRole, Scope
    from homing_core.ids import DeviceId


class DeviceState(Enum):
    """Whether a device is let in now."""

    LET_IN = "let in"
    OVER = "over"
    """Its time, or the word of the node that vouched for it."""
    SHUT_OUT = "shut out"
    """Also where a revocation could not be stored yet."""


@dataclass(frozen=True, slots=True)
class DeviceView:
    """A paired device. Times are wall time at the node, seconds since the epoch; 0 for never.

    Attributes:
        id: its device id.
        name: for people; cleaned.
        role: what it is.
        scopes: what it may do.
        paired_at: when it was paired.
        last_seen_at: when it last called.
        introduced_by: device id of the node that vouches for it; empty if it was paired there.
        limits: that it was granted; ceilings may be tighter.
        state: whether it is let in.
    """

    id: DeviceId
    name: str
    role: DeviceRole
    scopes: frozenset[Scope]
    paired_at: int
    last_seen_at: int
    introduced_by: str = ""
    limits: Limits = field(default_factory=Limits)
    state: DeviceState = DeviceState.LET_IN


def state_words(view: DeviceView) -> str:
    """Whether it is let in, for a person."""
    if view.state is DeviceState.LET_IN:
        return "let in"
    if view.state is DeviceState.SHUT_OUT:
        return "shut out"
    return "its home's word is over" if view.introduced_by else "its time is over"
