"""All generations of all devices, within limits. Decides; does no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_core.errors import ConflictError, NotFoundError, OverloadedError
from homing_core.generation import Failed

from homing_node.generations.events import EventLog, event_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homing_core.clock import Clock
    from homing_core.generation import GenerationEvent
    from homing_core.ids import DeviceId, GenerationId

_RETRY_MS = 2000


@dataclass(frozen=True, slots=True)
class GenerationLimits:
    """What the table holds at most.

    Attributes:
        running: generations that have not ended, of all devices.
        running_per_device: the same of one device.
        keep_s: seconds for which an ended one waits to be fetched.
        kept_per_device: ended ones of one device; the oldest goes first.
        device_bytes: unacknowledged events of one device.
    """

    running: int = 16
    running_per_device: int = 4
    keep_s: float = 1800.0
    kept_per_device: int = 256
    device_bytes: int = 16 << 20


class GenerationTable:
    """Generations by device and id: an id of one device means nothing to another.

    Args:
        limits: what it holds at most.
        clock: for ageing.
    """

    def __init__(self, limits: GenerationLimits, clock: Clock) -> None:
        """Start empty."""
        self._limits = limits
        self._clock = clock
        self._logs: dict[DeviceId, dict[GenerationId, EventLog]] = {}

    def same(self, device: DeviceId, id: GenerationId, digest: str) -> EventLog | None:  # noqa: A002
        """The generation with this id, if there is one and it was asked the same.

        Raises:
            ConflictError: the id was used for something else.
        """
        log = self._logs.get(device, {}).get(id)
        if log is not None and log.digest != digest:
            msg = "this generation id was used for a different request"
            raise ConflictError(msg, "Choose a new id for a new request.")
        return log

    def begin(
        self,
        device: DeviceId,
        id: GenerationId,  # noqa: A002
        digest: str,
        *,
        yields: bool = False,
    ) -> EventLog:
        """A new generation; `same` has found none.

        Args:
            device: whose.
            id: of the generation.
            digest: of what was asked.
            yields: whether it makes way for the household, for which a few places are kept.

        Raises:
            OverloadedError: as many run as may.
        """
        self.check_room(device, yields=yields)
        own = self._logs.setdefault(device, {})
        log = own[id] = EventLog(device, id, digest)
        return log

    def check_room(self, device: DeviceId, *, yields: bool = False) -> None:
        """Raises `OverloadedError` if `begin` would."""
        self.sweep()
        kept = max(self._limits.running // 4, 1) if yields and self._limits.running > 1 else 0
        for count, most, whose in (
            (self.running(device), self._limits.running_per_device, "this device"),
            (self.running(), self._limits.running - kept, "this node"),
        ):
            if count >= most:
                msg = f"{whose} already runs {count} answers, which is the most at once"
                raise OverloadedError(msg, "Try again when one has ended.", _RETRY_MS)

    def find(self, device: DeviceId, id: GenerationId) -> EventLog:  # noqa: A002
        """Raises `NotFoundError` if this device has no such generation, or had it too long ago."""
        log = self._logs.get(device, {}).get(id)
        if log is None:
            msg = "this node has no such generation, or no longer keeps it"
            raise NotFoundError(msg, "Ask again with a new id; it may continue from what arrived.")
        return log

    def append(self, log: EventLog, event: GenerationEvent) -> None:
        """Add an event. Where the device's room is used up, its oldest ended ones make way.

        If that does not help, this generation fails: nothing that was promised is dropped.
        """
        own = self._logs.get(log.device, {})
        excess = (
            sum(other.size_bytes for other in own.values())
            + event_bytes(event)
            - self._limits.device_bytes
        )
        if excess > 0 and not log.ended:
            for other in _oldest_ended(own):
                if excess <= 0:
                    break
                excess -= other.size_bytes
                del own[other.id]
            if excess > 0:
                event = Failed.from_error(
                    OverloadedError(
                        "more unacknowledged output is waiting than this node keeps",
                        "Acknowledge events as they are stored, then continue.",
                        _RETRY_MS,
                    )
                )
        was_ended = log.ended
        log.append(event)
        if log.ended and not was_ended:
            log.ended_at = self._clock.monotonic()

    def sweep(self) -> None:
        """Forget ended generations that are too old or too many."""
        horizon = self._clock.monotonic() - self._limits.keep_s
        for device, own in tuple(self._logs.items()):
            ended = list(_oldest_ended(own))
            surplus = len(ended) - self._limits.kept_per_device
            for index, log in enumerate(ended):
                if index < surplus or log.ended_at <= horizon:
                    del own[log.id]
            if not own:
                del self._logs[device]

    def forget(self, device: DeviceId) -> None:
        """Drop everything of a device."""
        self._logs.pop(device, None)

    def running(self, device: DeviceId | None = None) -> int:
        """How many have not ended, of one device or of all."""
        return len(self.unended(device))

    def unended(self, device: DeviceId | None = None) -> list[EventLog]:
        """Those that have not ended, of one device or of all."""
        groups = self._logs.values() if device is None else (self._logs.get(device, {}),)
        return [log for own in groups for log in own.values() if not log.ended]


def _oldest_ended(own: dict[GenerationId, EventLog]) -> Iterator[EventLog]:
    """Ended ones, those whose reader has everything first, then by age."""
    ended = [log for log in own.values() if log.ended]
    return iter(sorted(ended, key=lambda log: (not log.delivered, log.ended_at)))
