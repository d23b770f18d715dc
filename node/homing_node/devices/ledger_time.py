"""The ledger's own time: it goes on with the machine, whatever its clock is set to. Pure.

While the daemon runs, it goes by the monotonic clock. Over a restart it goes by that as well if the
machine has not been started anew, and by the wall clock otherwise, where that is credible: a clock
that was set back, or on by more than a month, brings nothing, so that what was used before counts
until the node has run for a day.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from homing_core.clock import Clock

_CREDIBLE_S: Final = 31 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Reading:
    """All clocks at one moment, in seconds.

    Attributes:
        ledger: the ledger's own time.
        wall: since the epoch.
        monotonic: since some start, which is the machine's where `boot` is known.
        boot: which start of the machine it was; empty if unknown.
    """

    ledger: float = 0.0
    wall: float = 0.0
    monotonic: float = 0.0
    boot: str = ""


def elapsed(before: Reading, wall: float, monotonic: float, boot: str) -> float:
    """Seconds of ledger time between a reading and a later start of the daemon."""
    if boot and boot == before.boot:
        return max(monotonic - before.monotonic, 0.0)
    passed = wall - before.wall
    return passed if 0 <= passed <= _CREDIBLE_S else 0.0


class LedgerTime:
    """Ledger time for one run of the daemon.

    Args:
        clock: the machine's clocks.
        last: the last reading that was stored; None for the first run.
        boot: which start of the machine this is; empty if unknown.
    """

    def __init__(self, clock: Clock, last: Reading | None, boot: str = "") -> None:
        """Go on from the last reading."""
        self._clock = clock
        self._boot = boot
        self._began = clock.monotonic()
        self._start = 0.0
        if last is not None:
            self._start = last.ledger + elapsed(last, clock.now(), self._began, boot)

    def now(self) -> float:
        """Seconds; never goes back."""
        return self._start + max(self._clock.monotonic() - self._began, 0.0)

    def reading(self) -> Reading:
        """To be stored."""
        return Reading(self.now(), self._clock.now(), self._clock.monotonic(), self._boot)


def machine_boot(root: Path = Path("/")) -> str:
    """Which start of the machine this is, where the kernel says so; else empty."""
    try:
        return (root / "proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
