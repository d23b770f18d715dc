"""The phone's jobs for its person; implements `homing_client.jobs.ports.PhoneJobs`."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from homing_agent.ports import JobAsked
from homing_agent.runtime.job_words import short_job
from homing_core.approvals import ApprovalStatement
from homing_core.errors import (
    ConflictError,
    HomingError,
    IntegrityError,
    NotFoundError,
)
from homing_core.ids import new_tool_call_id
from homing_core.tools import ToolCall

from homing_client.jobs.keeper import REACH_S
from homing_client.jobs.offers import seen_from_here
from homing_client.jobs.pauses import passing
from homing_client.jobs.ports import NodeTools, PhoneJob, Shown, Waiting
from homing_client.jobs.starting import CONSENT_S, check_call, same_again
from homing_client.jobs.watching import of_status

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from homing_agent.ports import Signer
    from homing_core.approvals import Verdict
    from homing_core.canonical import JsonObject
    from homing_core.clock import Clock
    from homing_core.ids import RequestId
    from homing_core.jobs import JobEvent, JobResult, Settlement
    from homing_core.provenance import Sensitivity
    from homing_crypto.nodes import KnownNode

    from homing_client.jobs.book import JobBook
    from homing_client.jobs.entry import JobEntry
    from homing_client.jobs.following import Following
    from homing_client.jobs.keeper import JobKeeper
    from homing_client.jobs.node import JobNodes
    from homing_client.jobs.offers import Offers
    from homing_client.jobs.results import ResultFolder
    from homing_client.jobs.starting import Starter

_REFRESHED: Final = 50
"""Jobs that are asked about at once when a person wants news."""


class JobDesk:
    """See `PhoneJobs` for what each method does. Belongs to one event loop.

    Args:
        book: the jobs.
        nodes: the way to the nodes.
        offers: their tools.
        starter: begins jobs.
        following: watches them.
        keeper: looks after them.
        folder: where results lie.
        signer: signs answers.
        clock: wall time.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # each is another collaborator
        self,
        book: JobBook,
        nodes: JobNodes,
        offers: Offers,
        starter: Starter,
        following: Following,
        keeper: JobKeeper,
        folder: ResultFolder,
        signer: Signer,
        clock: Clock,
    ) -> None:
        """Keep them."""
        self._book = book
        self._nodes = nodes
        self._offers = offers
        self._starter = starter
        self._following = following
        self._keeper = keeper
        self._folder = folder
        self._signer = signer
        self._clock = clock

    async def start(  # noqa: PLR0913  # what a person may say of it
        self,
        tool: str,
        arguments: JsonObject,
        *,
        node: str,
        sensitivity: Sensitivity,
        request_id: RequestId,
        allowed: bool,
        schema_hash: str = "",
    ) -> PhoneJob:
        """See `PhoneJobs.start`."""
        call = ToolCall(new_tool_call_id(), tool, arguments)
        known = same_again(self._book.of_request(request_id), tool, call)
        if known is not None:
            self._keeper.ensure(known.id)
            return self._shown(known)
        _, spec = await self._starter.find(tool, node, sensitivity)
        if schema_hash not in {"", spec.schema_hash}:
            msg = f"{spec.name} has changed since you were shown it"
            raise ConflictError(msg, "Look at it again with homing tools, and start it then.")
        call = replace(call, name=spec.name)
        check_call(spec, call)
        approval = self._starter.consent(spec, call, request_id, allowed=allowed)
        asked = JobAsked(request_id, 1, spec, call, sensitivity, approval)
        return self._shown(await self._starter.begin(asked))

    async def list(self, *, refresh: bool) -> tuple[PhoneJob, ...]:
        """See `PhoneJobs.list`."""
        if refresh:
            running = [entry for entry in self._book.all() if not entry.state.final]
            async with asyncio.TaskGroup() as tasks:
                for entry in running[:_REFRESHED]:
                    tasks.create_task(self._refresh(entry))
        return tuple(self._shown(entry) for entry in self._book.all())

    async def tools(self) -> tuple[NodeTools, ...]:
        """See `PhoneJobs.tools`."""
        said = await self._offers.of_all(await self._nodes.known(), fresh=True)
        return tuple(
            NodeTools(node.id, node.name, error=found)
            if isinstance(found, HomingError)
            else NodeTools(node.id, node.name, found)
            for node, found in said
        )

    async def watch(self, job: str, after: int) -> AsyncGenerator[JobEvent, None]:
        """See `PhoneJobs.watch`."""
        async with aclosing(self._following.watch(self._book.find(job), after)) as events:
            async for event in events:
                yield event

    async def cancel(self, job: str) -> PhoneJob:
        """See `PhoneJobs.cancel`."""
        return self._shown(await self._cancel(self._book.get(self._book.find(job))))

    async def cancel_request(self, request_id: RequestId) -> None:
        """End every job of a request, because the person has ended that."""
        entries = self._book.of_request(request_id)
        for entry in entries:  # all of them first: while one is ended no other is handed in
            if not entry.state.final:
                self._book.want_cancel(entry.id, wanted=True)
                await self._keeper.leave(entry.id)
        for entry in entries:
            self._keeper.ensure(entry.id)
        for entry in entries:
            await self._cancel(entry)

    async def result(self, job: str) -> JobResult:
        """See `PhoneJobs.result`."""
        return await self._following.result(self._book.find(job), patient=False)

    async def save_files(self, job: str, folder: Path, *, replace: bool) -> tuple[Path, ...]:
        """See `PhoneJobs.save_files`."""
        found = self._book.find(job)
        result = await self._following.result(found, patient=False)

        def save() -> tuple[Path, ...]:
            return self._folder.save(found, result, folder, replace=replace)

        return await asyncio.to_thread(save)

    async def waiting(self) -> tuple[Waiting, ...]:
        """See `PhoneJobs.waiting`."""
        found = await asyncio.gather(*map(self._waiting_at, await self._nodes.known()))
        return tuple(waiting for of_node in found for waiting in of_node)

    async def answer(self, shown: Shown, verdict: Verdict) -> PhoneJob | None:
        """See `PhoneJobs.answer`."""
        asks = await self._asking(shown)
        signed = self._signer.sign(
            ApprovalStatement(
                id=shown.id,
                request_id=shown.request_id,
                step=shown.step,
                tool_hash=shown.tool_hash,
                argument_hash=shown.argument_hash,
                verdict=verdict,
                device=self._signer.device,
                expires_at=min(asks.approval.expires_at, int(self._clock.now()) + CONSENT_S),
            )
        )
        told = await (await self._nodes.open(asks.node, REACH_S)).answer(signed)
        try:
            entry = self._book.get(shown.job_id)
        except NotFoundError:  # another device's
            return None
        if entry.node == asks.node and told.status.id == entry.id:
            self._book.note_event(entry.id, of_status(told.status), self._clock.now())
            self._keeper.news.tell()
        return self._shown(self._book.get(entry.id))

    async def settle(self, job: str, said: Settlement) -> PhoneJob:
        """See `PhoneJobs.settle`."""
        entry = self._book.get(self._book.find(job))
        told = await (await self._nodes.open(entry.node, REACH_S)).settle(entry.id, said)
        self._book.note_event(entry.id, of_status(told.status), self._clock.now())
        self._keeper.ensure(entry.id)
        return self._shown(self._book.get(entry.id))

    async def forget(self, job: str) -> None:
        """See `PhoneJobs.forget`."""
        found = self._book.find(job)
        with contextlib.suppress(IntegrityError):  # a damaged entry is what one wants to be rid of
            if not self._book.get(found).state.final:
                msg = "this job has not ended"
                raise ConflictError(msg, f"End it first: homing jobs cancel {short_job(found)}")
        await self._keeper.leave(found)
        self._book.forget(found)
        await asyncio.to_thread(self._folder.forget, found)

    async def _cancel(self, entry: JobEntry) -> JobEntry:
        job = entry.id
        if entry.state.final:
            return entry
        self._book.want_cancel(job, wanted=True)
        await self._keeper.leave(job)  # so that it sees that at once
        self._keeper.ensure(job)

        def look() -> JobEntry | None:
            now = self._book.get(job)
            error = self._keeper.error(job)
            if error is not None and not passing(error) and not now.state.final:
                raise error
            return now if now.state.final or not now.cancel_wanted or error else None

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2 * REACH_S):
                return await self._keeper.news.until(look)
        return self._book.get(job)

    async def _refresh(self, entry: JobEntry) -> None:
        if not entry.submitted:
            return
        with contextlib.suppress(HomingError):
            node = await self._nodes.open(entry.node, REACH_S)
            told = await node.status(entry.id)
            self._book.note_event(entry.id, of_status(told.status), self._clock.now())

    async def _asking(self, shown: Shown) -> Waiting:
        """The question as its node asks it now, which must be the one that was shown."""
        for one in await self.waiting():
            if one.node != shown.node or one.approval.id != shown.id:
                continue
            if one.shown != shown:
                msg = f"{one.node_name} asks something else now than you were shown"
                raise ConflictError(msg, "Look at it again: homing jobs approvals")
            return one
        msg = "no node that answers waits for this"
        raise NotFoundError(msg, "See what waits: homing jobs approvals")

    async def _waiting_at(self, node: KnownNode) -> tuple[Waiting, ...]:
        try:
            pending = await (await self._nodes.open(node.id, REACH_S)).pending()
        except HomingError:
            return ()
        return tuple(
            Waiting(node.id, node.name, replace(one, tool=seen_from_here(one.tool, node)))
            for one in pending
        )

    def _shown(self, entry: JobEntry) -> PhoneJob:
        return entry.shown(self._keeper.error(entry.id))
