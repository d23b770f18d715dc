"""A model's place on a node: how it is configured, whether it is loaded, who uses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from homing_node.models.room import Held

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_agent.runtime.model_host import Admission, ModelHost, ModelStatus
    from homing_inference.engine import Engine

HOUSEHOLD_KEEPS_S: Final = 600.0
"""How long what the household used last is not unloaded for anybody else."""


class PoolSource(Protocol):
    """Where a model of several comes from."""

    async def load(self, report: Callable[[ModelStatus], None], admit: Admission) -> Engine:
        """Fetch it, then load it within `admit`; raises `HomingError`.

        What takes no memory of this machine has no need of `admit`.
        """
        ...


@dataclass(frozen=True, slots=True)
class ConfiguredModel:
    """A model that a node may serve.

    Attributes:
        status: what is known of it before it is loaded; its name is how requests ask for it.
        source: where it comes from.
        called: how the configuration calls it, by which requests may ask as well.
        resident: always kept, and tried again if it cannot be had: a model behind a server.
    """

    status: ModelStatus
    source: PoolSource
    called: str = ""
    resident: bool = False


@dataclass(slots=True, eq=False)
class Slot:
    """One model's place in the pool.

    Attributes:
        host: brings it up.
        called: how the configuration calls it.
        resident: as in `ConfiguredModel`.
        leases: who uses it now, or waits for it.
        household: of these, those that make way for nobody.
        household_at: when one of these last used it, monotonic seconds; None for never.
        displaced: what was unloaded for the load that goes on.
        used_at: when it was last in use, monotonic seconds.
        need_bytes: of memory, as estimated when it was loaded.
        failed_at: when it last could not be loaded, monotonic seconds.
    """

    host: ModelHost
    called: str
    resident: bool
    leases: int = 0
    household: int = 0
    household_at: float | None = None
    displaced: tuple[Slot, ...] = ()
    used_at: float = 0.0
    need_bytes: int = 0
    failed_at: float = 0.0

    @property
    def name(self) -> str:
        """Under which it is served, as far as that is known."""
        return self.host.status.name

    @property
    def names(self) -> tuple[str, ...]:
        """All names by which it may be asked for, the served one first."""
        return tuple(dict.fromkeys((self.name, self.called)))

    @property
    def held_bytes(self) -> int:
        """Of memory, loaded: what was estimated, or more if it says so."""
        engine = self.host.engine
        return max(self.need_bytes, engine.state.memory_bytes) if engine is not None else 0

    @property
    def active(self) -> int:
        """Requests that it runs, or that wait for it."""
        engine = self.host.engine
        known = engine.state.running + engine.state.waiting if engine is not None else 0
        return max(self.leases, known)

    def kept(self, now: float) -> bool:
        """Whether it is kept for the household, which used it last, or at the start.

        Args:
            now: monotonic seconds.
        """
        return self.household_at is not None and now - self.household_at < HOUSEHOLD_KEEPS_S

    def held_against(self, wanted: Slot, now: float) -> Held:
        """This loaded model, as whoever waits for another may make it give way.

        Args:
            wanted: the other one.
            now: monotonic seconds.
        """
        # Everything goes through leases; what an engine says of itself is some moments old.
        if wanted.household:
            in_use, last_resort = self.household > 0, self.leases > 0
        else:
            in_use, last_resort = self.leases > 0 or self.kept(now), False
        return Held(self.name, self.held_bytes, in_use, self.used_at, last_resort)
