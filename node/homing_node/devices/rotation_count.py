"""How often each device replaced its key lately, on disk: a restart of the node forgets nothing.

Each rotation is an entry in the audit log, and a finished one leaves nothing else behind: without
this, any paired device could fill the log by replacing its key in a loop.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from homing_agent.runtime.logs import get_logger
from homing_core.errors import InvalidDataError, OverloadedError
from homing_crypto.private_files import read_private, write_private

if TYPE_CHECKING:
    from pathlib import Path

    from homing_core.clock import Clock
    from homing_core.ids import DeviceId

ROTATIONS_FILE: Final = "rotations.json"
MOST_A_DAY: Final = 5
"""Rotations of one account within `DAY_S`, finished or not."""
DAY_S: Final = 24 * 60 * 60.0
_MOST_BYTES: Final = 1 << 22

_log = get_logger(__name__)


class RotationCount:
    """Counts before a rotation is stored, so that a kill in between counts it all the same.

    Not for several threads at once: the trust store's own lock is around each use.

    Args:
        path: usually `ROTATIONS_FILE` in the data directory.
        clock: wall time.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        """Keep where to look."""
        self._path = path
        self._clock = clock

    def count(self, account: DeviceId) -> None:
        """One more of this account.

        Raises:
            OverloadedError: it had its share of this day.
            HomingError: it could not be stored; then it must not happen.
        """
        now = self._clock.now()
        # A clock that was set back must not lock a device out for longer than a day.
        lately = {
            one: recent
            for one, times in self._read().items()
            if (recent := [at for at in times if abs(now - at) < DAY_S])
        }
        mine = lately.setdefault(account, [])
        if len(mine) >= MOST_A_DAY:
            msg = f"this device replaced its key {MOST_A_DAY} times within a day"
            wait_ms = int((min(mine) + DAY_S - now) * 1000)
            raise OverloadedError(msg, "Its present key goes on; try again tomorrow.", wait_ms)
        mine.append(now)
        write_private(self._path, json.dumps(lately).encode())

    def _read(self) -> dict[str, list[float]]:
        try:
            raw = read_private(self._path, _MOST_BYTES)
            return {} if raw is None else _from_json(raw)
        except InvalidDataError:
            _log.warning("rotations.damaged", path=self._path.name)
            return {}


def _from_json(raw: bytes) -> dict[str, list[float]]:
    msg = "the count of rotations is damaged"
    try:
        found = cast("object", json.loads(raw))
    except (ValueError, RecursionError) as error:
        raise InvalidDataError(msg) from error
    if not isinstance(found, dict):
        raise InvalidDataError(msg)
    counts: dict[str, list[float]] = {}
    for account, times in cast("dict[str, object]", found).items():
        if not isinstance(times, list):
            raise InvalidDataError(msg)
        listed = cast("list[object]", times)
        numbers = [at for at in listed if isinstance(at, float) and at >= 0]
        if len(numbers) != len(listed):
            raise InvalidDataError(msg)
        counts[account] = numbers
    return counts
