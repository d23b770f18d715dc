"""What to unload so that another model fits. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_core.errors import ConfigError, OverloadedError

if TYPE_CHECKING:
    from collections.abc import Sequence

_RETRY_MS = 2000


@dataclass(frozen=True, slots=True)
class Held:
    """A loaded model.

    Attributes:
        name: under which it is served.
        bytes: of memory that it takes.
        in_use: whether it is answering, or has been promised to somebody, for whom it stays.
        used_at: when it was last in use, monotonic seconds.
        last_resort: unloaded only if unloading all others is not enough: it is answering somebody
            who makes way.
    """

    name: str
    bytes: int
    in_use: bool
    used_at: float
    last_resort: bool = False


class NoRoomError(OverloadedError):
    """A model does not fit beside those that are in use."""


def make_room(name: str, need: int, budget: int, held: Sequence[Held]) -> tuple[str, ...]:
    """Names of the models to unload so that another fits: as few as will do, least recent first.

    Args:
        name: of the model that shall fit.
        need: bytes that it takes.
        budget: bytes for all models together.
        held: the loaded ones.

    Raises:
        ConfigError: it would not fit even alone.
        NoRoomError: those that are in use leave too little.
    """
    if need > budget:
        msg = f"{name} needs about {_mib(need)}, and this node may use {_mib(budget)} for models"
        raise ConfigError(msg, "Raise model.memory_mib, or choose a smaller model.")
    taken = sum(one.bytes for one in held if one.in_use)
    if need + taken > budget:
        msg = (
            f"{name} needs about {_mib(need)}, but models that are answering leave"
            f" {_mib(max(budget - taken, 0))} of {_mib(budget)}"
        )
        raise NoRoomError(msg, "Try again when they have answered.", _RETRY_MS)
    excess = need + sum(one.bytes for one in held) - budget
    chosen: list[Held] = []
    for one in sorted(held, key=lambda one: (one.last_resort, one.used_at)):
        if excess <= 0:
            break
        if not one.in_use and one.bytes > 0:
            chosen.append(one)
            excess -= one.bytes
    # What the last one frees may make an earlier, smaller one unnecessary.
    for one in sorted(chosen, key=lambda one: not one.last_resort):
        if excess + one.bytes <= 0:
            chosen.remove(one)
            excess += one.bytes
    return tuple(one.name for one in chosen)


def _mib(count: int) -> str:
    return f"{-(-count >> 20):,} MiB"
