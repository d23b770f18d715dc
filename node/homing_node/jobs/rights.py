"""Jobs of devices that may not have them any more: they stop, and after a revocation they go.

A job outlives the call that brought it, and the process. So whether its device is still let in, and
may still run its tool, is looked at when a device changes, every few seconds, and before anything
runs after a start: a revocation that was killed midway is finished then.
"""

from __future__ import annotations

import asyncio
from enum import Enum
from typing import TYPE_CHECKING, Final

from homing_agent.runtime.logs import get_logger
from homing_core.access import Scope
from homing_core.errors import HomingError
from homing_core.jobs import JobState
from homing_core.limits import may_use_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from homing_core.access import Limits
    from homing_core.clock import Clock
    from homing_core.ids import DeviceId
    from homing_core.tools import ToolId
    from homing_crypto.devices import PairedDevice
    from homing_crypto.trust import TrustStore

    from homing_node.jobs.ports import ConsoleJobs
    from homing_node.jobs.store import JobKey, JobRow, JobStore

LOOK_S: Final = 2.0
"""How late a job of a device whose time ran out may end, in seconds."""
_NEEDED: Final = frozenset({Scope.TOOLS, Scope.JOBS})
_PAGE: Final = 1_000

_log = get_logger(__name__)


class Right(Enum):
    """What becomes of a job."""

    GOES_ON = "goes on"
    STOPS = "stops"
    """It ends as cancelled; what it has done, and earlier results, stay as they are."""
    FORGOTTEN = "is forgotten"
    """Its device was shut out: everything of it goes."""


def right_of(
    keys: Iterable[PairedDevice],
    tool: ToolId,
    limits_of: Callable[[PairedDevice], Limits],
    now: float,
) -> Right:
    """What becomes of a job. Pure.

    Args:
        keys: every key of its account that the node knows, old and revoked ones too; none stops it
            only, for an entry that cannot be read must not destroy results.
        tool: what it runs.
        limits_of: the limits that hold for a device; raises `HomingError` if nobody vouches for it.
        now: wall time, seconds since the epoch.
    """
    known = tuple(keys)
    if known and all(key.revoked_at for key in known):
        return Right.FORGOTTEN
    for key in known:
        if not key.live(now) or not key.scopes >= _NEEDED:
            continue
        try:
            if may_use_tool(limits_of(key), tool.name, tool.server):
                return Right.GOES_ON
        except HomingError:
            continue
    return Right.STOPS


class JobRights:
    """Looks after jobs of devices that change. Belongs to one event loop.

    Args:
        jobs: ends them.
        kept: where they are kept.
        store: whom the node knows.
        limits_of: as of `right_of`.
        clock: for leases and ends.
        shared: whether other daemons have jobs there, of devices that only they know.
    """

    def __init__(  # noqa: PLR0913  # each is a boundary of its own
        self,
        jobs: ConsoleJobs,
        kept: JobStore,
        store: TrustStore,
        limits_of: Callable[[PairedDevice], Limits],
        clock: Clock,
        *,
        shared: bool = False,
    ) -> None:
        """Keep where to look."""
        self._shared = shared
        self._jobs = jobs
        self._kept = kept
        self._store = store
        self._limits_of = limits_of
        self._clock = clock

    async def forget(self, named: DeviceId) -> None:
        """An account, or the one key of it that is named, was shut out, whatever the store says."""
        rows = await asyncio.to_thread(self._kept.unended)
        accounts = {row.key.account for row in rows if row.device == named}
        for account in sorted({named, *accounts}):
            await self._jobs.end_account(account)

    async def look(self) -> None:
        """Stop and forget what must not go on; call it also after a device was changed."""
        known: dict[DeviceId, tuple[PairedDevice, ...] | None] = {}
        for row in await asyncio.to_thread(self._kept.unended):
            if row.key.account not in known:
                known[row.key.account] = await self._keys(row.key.account)
            await self._hold(row, known[row.key.account])

    async def look_at_all(self) -> None:
        """As `look`, and forget ended jobs too: before anything runs."""
        last: dict[DeviceId, JobRow] = {}
        before: JobKey | None = None
        while rows := await asyncio.to_thread(self._kept.jobs, None, most=_PAGE, before=before):
            last.update({row.key.account: row for row in rows})
            before = rows[-1].key
        for row in last.values():
            if self._right(row, await self._keys(row.key.account)) is Right.FORGOTTEN:
                await self._jobs.end_account(row.key.account)
        await self.look()

    async def run(self) -> None:
        """Look every `LOOK_S` seconds, for ever."""
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self.look()
            except Exception as error:  # noqa: BLE001  # the next look may do better
                _log.error("jobs.look_failed", error_type=type(error).__name__)

    async def _hold(self, row: JobRow, keys: tuple[PairedDevice, ...] | None) -> None:
        right = self._right(row, keys)
        if right is Right.FORGOTTEN:
            _log.info("jobs.device_shut_out", device=row.key.account)
            await self._jobs.end_account(row.key.account)
        elif right is Right.STOPS and not (row.cancel_wanted and row.state is JobState.RUNNING):
            _log.info("job.not_allowed_any_more", device=row.key.account, job=row.key.id)
            await self._jobs.cancel_any(row.key)

    async def _keys(self, account: DeviceId) -> tuple[PairedDevice, ...] | None:
        """Every key of an account; None if the store cannot say."""
        try:
            return await asyncio.to_thread(self._store.keys, account)
        except HomingError:
            return None

    def _right(self, row: JobRow, keys: tuple[PairedDevice, ...] | None) -> Right:
        if keys is None:
            return Right.GOES_ON  # new calls are refused by then; a busy disk ends nobody's work
        if not keys and self._shared:
            return Right.GOES_ON  # it is paired with another daemon, which looks after it
        return right_of(keys, row.tool, self._limits_of, self._clock.now())
