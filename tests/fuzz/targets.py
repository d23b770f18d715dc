"""The one table of everything that is fuzzed; used by every driver."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fuzz import (
    device_targets,
    home_targets,
    job_targets,
    mcp_targets,
    model_targets,
    phone_targets,
    trust_targets,
)
from fuzz.found import automatic

if TYPE_CHECKING:
    from fuzz.target import Target

_BY_HAND = [
    *trust_targets.TARGETS,
    *model_targets.TARGETS,
    *device_targets.TARGETS,
    *home_targets.TARGETS,
    *job_targets.TARGETS,
    *mcp_targets.TARGETS,
    *phone_targets.TARGETS,
]


@cache
def all_targets() -> dict[str, Target]:
    """Every target by name: those written by hand, and the others as they are found."""
    by_hand = {function for target in _BY_HAND for function in target.covers}
    found = [target for target in automatic() if not by_hand.intersection(target.covers)]
    return {target.name: target for target in sorted([*_BY_HAND, *found], key=lambda one: one.name)}
