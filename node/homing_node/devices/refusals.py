"""Who was refused, told to the log and to the audit log in few words, however many they are.

The first refusal of a kind is told at once; those that follow are counted and told together when
its time is over. What strangers can cause is bounded: in the log by `LOG_KINDS` lines for each
`LOG_S`, in the audit log, where a connection of a stranger counts by its reason alone, by
`AUDIT_KINDS` entries for each `AUDIT_S`, twice over.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from homing_agent.runtime.logs import get_logger
from homing_crypto.audit.records import NODE, AuditKind

from homing_node.door.floor import Reason

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from homing_core.canonical import JsonValue
    from homing_core.clock import Clock
    from homing_crypto.audit.records import Audit
    from homing_crypto.guard import Refusal

K = TypeVar("K", bound="Hashable")

LOG_S: Final = 60.0
LOG_KINDS: Final = 128
AUDIT_S: Final = 600.0
AUDIT_KINDS: Final = 64
_QUIET: Final = frozenset({Reason.LEFT, Reason.CROWDED_OUT, Reason.TOO_MANY, Reason.EXPELLED})
"""What happens in peace too, or to bystanders: no matter for the audit log."""
_IN_PEACE: Final = frozenset({Reason.LEFT.value, Reason.NO_PROOF.value})
_FEW: Final = 8
"""So often in `LOG_S` it is no warning where phones cause it, too."""

_log = get_logger(__name__)


class Window(Generic[K]):
    """Counts what is of one kind within a time. Pure.

    Args:
        seconds: how long a kind is gathered.
        most: kinds that are told apart; the others are told as `rest`.
    """

    def __init__(self, seconds: float, most: int) -> None:
        """Nothing is counted."""
        self._seconds = seconds
        self._most = most
        self._open: dict[K, tuple[float, int]] = {}  # since when, and how many are untold

    def add(self, kind: K, rest: K, count: int, now: float) -> Iterator[tuple[K, int]]:
        """Count some more; what is to be told now.

        Args:
            kind: of which kind they are.
            rest: of which to take them where there are too many kinds.
            count: how many.
            now: monotonic seconds.
        """
        yield from self.due(now)
        if kind not in self._open and len(self._open) >= self._most:
            kind = rest
        since, untold = self._open.get(kind, (now, -1))
        if untold < 0:
            self._open[kind] = now, 0
            yield kind, count
        else:
            self._open[kind] = since, untold + count

    def due(self, now: float) -> Iterator[tuple[K, int]]:
        """What was counted, of kinds whose time is over."""
        for kind, (since, untold) in list(self._open.items()):
            if now - since < self._seconds:
                continue
            del self._open[kind]
            if untold:
                self._open[kind] = now, 0  # it goes on: the next ones wait again
                yield kind, untold


@dataclass(frozen=True, slots=True)
class _Kind:
    what: str
    method: str = ""
    device: str = ""
    address: str = ""


class Refusals:
    """Tells of refused calls and connections. Belongs to one event loop.

    Args:
        audit: where they are noted.
        clock: monotonic time.
    """

    def __init__(self, audit: Audit, clock: Clock) -> None:
        """Nobody was refused."""
        self._audit = audit
        self._clock = clock
        self._logged: Window[_Kind] = Window(LOG_S, LOG_KINDS)
        self._noted: Window[_Kind] = Window(AUDIT_S, AUDIT_KINDS)

    def call(self, refusal: Refusal) -> None:
        """A call was refused: for `Guard(on_refused=...)`; see `Refusal`."""
        what, now = refusal.error.what, self._clock.monotonic()
        rest = _Kind("many different calls were refused", method="*")
        kind = _Kind(what, refusal.method, refusal.device, refusal.address)
        for told, count in self._logged.add(kind, rest, 1, now):
            _tell(told, count)
        noted = _Kind(what, refusal.method, refusal.device)
        for told, count in self._noted.add(noted, rest, 1, now):
            self._note(told, count)

    def connection(self, address: str, reason: Reason, count: int) -> None:
        """Connections ended at the door: for `FrontDoor(on_refused=...)`."""
        now = self._clock.monotonic()
        for told, many in self._logged.add(
            _Kind(reason.value, address=address), _Kind(reason.value), count, now
        ):
            _tell(told, many)
        if reason not in _QUIET:
            kind = _Kind(reason.value)
            for told, many in self._noted.add(kind, kind, count, now):
                self._note(told, many)

    def tell_due(self) -> None:
        """Tell what was counted and whose time is over."""
        now = self._clock.monotonic()
        for told, count in self._logged.due(now):
            _tell(told, count)
        for told, count in self._noted.due(now):
            self._note(told, count)

    async def run(self) -> None:
        """Tell what is due, as long as the node runs."""
        while True:
            await asyncio.sleep(LOG_S / 2)
            self.tell_due()

    def _note(self, kind: _Kind, count: int) -> None:
        detail: dict[str, JsonValue] = {"what": kind.what, "count": count}
        if kind.method:
            detail["method"] = kind.method
        self._audit.record(
            AuditKind.REFUSED, actor=kind.device or NODE, device=kind.device, detail=detail
        )


def _tell(kind: _Kind, count: int) -> None:
    if kind.method:
        _log.warning(
            "call.refused",
            method=kind.method,
            device=kind.device,
            address=kind.address,
            reason=kind.what,
            count=count,
        )
    else:
        # A phone tries several addresses at once and leaves those that were slower.
        peaceful = kind.what in _IN_PEACE and count <= _FEW
        tell = _log.info if peaceful else _log.warning
        tell("door.refused", address=kind.address, reason=kind.what, count=count)
