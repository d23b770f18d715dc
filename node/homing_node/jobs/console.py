"""What the person at the node's console sees of everybody's jobs, and says to them."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from homing_core.errors import ConflictError, NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from homing_core.ids import ApprovalId
    from homing_core.jobs import JobEvent, JobProgress, JobState, PendingApproval, Settlement
    from homing_crypto.trust import TrustStore

    from homing_node.jobs.ports import ConsoleJobs
    from homing_node.jobs.store import JobRow

FoundT = TypeVar("FoundT")

MOST_LOOKED_AT: Final = 5_000
"""Jobs among which a beginning of an id is looked for."""
_LIST: Final = "See them with: homing-node jobs"
_PREFIX: Final = re.compile(r"(?:([0-9a-f]{4,64})/)?(?:(job|appr)-)?([0-9a-f]{1,32})")
_SHORTEST: Final = 4


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as the console sees it: nothing of its arguments or its result.

    Attributes:
        id: chosen by its phone.
        account: of the device that submitted it.
        device_name: what that is called; empty if it is not known any more.
        peer: account of the home that vouches for it; empty if it was paired here.
        tool_server: MCP server or built-in group of its tool.
        tool_name: the tool.
        state: where it stands.
        submitted_at: by the node's clock, seconds since the epoch.
        ended_at: 0 before.
        last_seq: number of its newest event.
        progress: the newest, if any.
        summary: one line; empty until it ends.
        priority: higher runs first.
        attempt: how often it was begun.
        runner: name of the daemon that has it; empty while nobody does.
        ending: whether an end is wanted and has not come yet.
        result_bytes: size of the sealed result that waits; 0 if none does.
        delivered_at: when its device had the result for good; 0 before.
    """

    id: str
    account: str
    device_name: str
    peer: str
    tool_server: str
    tool_name: str
    state: JobState
    submitted_at: float
    ended_at: float
    last_seq: int
    progress: JobProgress | None
    summary: str
    priority: int
    attempt: int
    runner: str
    ending: bool
    result_bytes: int
    delivered_at: float


class JobConsole:
    """Does what the console asks.

    Args:
        jobs: everybody's.
        store: knows what devices are called.
    """

    def __init__(self, jobs: ConsoleJobs, store: TrustStore) -> None:
        """Keep where to look."""
        self._jobs = jobs
        self._store = store

    async def list(self, most: int) -> tuple[JobView, ...]:
        """Everybody's, newest first."""
        return await self._views(await self._jobs.rows(most))

    async def show(self, prefix: str) -> tuple[JobView, tuple[JobEvent, ...]]:
        """One job and its record; errors as of `cancel`."""
        row = await self._find(prefix)
        return await self._view(row), await self._jobs.events_any(row.key)

    async def cancel(self, prefix: str) -> JobView:
        """End one.

        Raises:
            UsageError: this is no beginning of an id.
            NotFoundError: no job begins like that.
            ConflictError: several do.
        """
        row = await self._find(prefix)
        return await self._view(await self._jobs.cancel_any(row.key))

    async def settle(self, prefix: str, said: Settlement) -> JobView:
        """Say what became of an effect that nobody knows of; errors as of `cancel`."""
        row = await self._find(prefix)
        return await self._view(await self._jobs.settle_any(row.key, said))

    async def approvals(self) -> tuple[PendingApproval, ...]:
        """Everything that waits for a person, oldest first."""
        return await self._jobs.pending_any()

    async def answer(self, approval: ApprovalId, *, allow: bool) -> JobView:
        """Answer exactly the question that was shown, named by its whole id.

        Jobs' ids are their devices' choice, and part of an id may fit a later question too.

        Raises:
            NotFoundError: there is no such question.
            ConflictError: it was answered otherwise, or has expired.
        """
        return await self._view(await self._jobs.answer_any(approval, allow=allow))

    async def _find(self, prefix: str) -> JobRow:
        account, kind, digits = _parts(prefix)
        if kind == "appr":
            msg = "that is the id of a question, not of a job"
            raise UsageError(msg, _LIST)
        rows = {
            row.key: row
            for row in await self._jobs.rows(MOST_LOOKED_AT)
            if row.key.account.startswith(account) and row.key.id.startswith(f"job-{digits}")
        }
        return rows[_only(list(rows), "job", _LIST)]

    async def _view(self, row: JobRow) -> JobView:
        (view,) = await self._views([row])
        return view

    async def _views(self, rows: Iterable[JobRow]) -> tuple[JobView, ...]:
        known = await asyncio.to_thread(self._store.devices)
        names = {device.owner: device.name for device in known}
        return tuple(_seen(row, names.get(row.key.account, "")) for row in rows)


def _parts(prefix: str) -> tuple[str, str, str]:
    """Beginning of an account, kind of id, digits."""
    found = _PREFIX.fullmatch(prefix.strip().lower())
    if found is None or len(found[3]) < _SHORTEST:
        msg = f"that is not the beginning of an id: {_SHORTEST} digits or more are needed"
        raise UsageError(msg, _LIST)
    return found[1] or "", found[2] or "", found[3]


def _only(found: Sequence[FoundT], what: str, hint: str) -> FoundT:
    if not found:
        msg = f"no {what} has an id that begins like that"
        raise NotFoundError(msg, hint)
    if len(found) > 1:
        msg = f"several {what}s have an id that begins like that"
        raise ConflictError(msg, f"Give more of it, or DEVICE/ID. {hint}")
    return found[0]


def _seen(row: JobRow, name: str) -> JobView:
    return JobView(
        id=row.key.id,
        account=row.key.account,
        device_name=name,
        peer=row.peer,
        tool_server=row.tool.server,
        tool_name=row.tool.name,
        state=row.state,
        submitted_at=row.submitted_at,
        ended_at=row.ended_at,
        last_seq=row.last_seq,
        progress=row.progress,
        summary=row.summary,
        priority=row.priority,
        attempt=row.attempt,
        runner=row.runner,
        ending=row.cancel_wanted and not row.state.final,
        result_bytes=row.result_bytes,
        delivered_at=row.delivered_at,
    )
