"""Fakes of the phone's boundaries. The contract suites run over them and the real ones."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from homing_core.approvals import Verdict
from homing_core.errors import ConflictError, NotFoundError, RefusedError
from homing_core.ids import DeviceId, JobId, new_approval_id, new_job_id, new_tool_call_id
from homing_core.jobs import JobEvent, JobResult, JobState, PendingApproval, ResultFile, Settlement
from homing_core.tools import EffectClass, Place, ToolCall, ToolSpec

from homing_client.jobs.ports import NodeTools, PhoneJob, Shown, Waiting

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

    from homing_core.canonical import JsonObject
    from homing_core.errors import HomingError
    from homing_core.ids import ApprovalId, RequestId
    from homing_core.jobs import JobProgress
    from homing_core.provenance import Sensitivity

FAKE_NODE = DeviceId("ab" * 32)
"""Device id of the only node that a `FakePhoneJobs` knows."""
_SETTLED = {
    Settlement.HAPPENED: JobState.RUNNING,
    Settlement.RUN_AGAIN: JobState.RUNNING,
    Settlement.GIVE_UP: JobState.FAILED,
}


class FakePhoneJobs:
    """A `PhoneJobs` whose node is whoever holds it: `say`, `end` and `question` are what it does.

    Args:
        tools: home tools that the node has.
        node_name: what the node is called.
        place: what it is to this phone.
    """

    def __init__(
        self, *tools: ToolSpec, node_name: str = "attic", place: Place = Place.HOME
    ) -> None:
        """No jobs yet."""
        self._tools = tuple(replace(tool, node=FAKE_NODE, place=place) for tool in tools)
        self._node_name = node_name
        self._jobs: dict[JobId, PhoneJob] = {}
        self._events: dict[JobId, list[JobEvent]] = {}
        self._results: dict[JobId, tuple[JobResult, Mapping[str, bytes]]] = {}
        self._questions: dict[ApprovalId, PendingApproval] = {}
        self._news = asyncio.Event()
        self.now = 1_800_000_000.0

    # What the node does.

    def say(
        self,
        job: JobId,
        state: JobState = JobState.RUNNING,
        progress: JobProgress | None = None,
        note: str = "",
        approval: ApprovalId | None = None,
    ) -> JobEvent:
        """The node says more of a job, a second after what it said before."""
        self.now += 1
        events = self._events[job]
        event = JobEvent(len(events) + 1, self.now, state, progress, approval, note)
        events.append(event)
        known = self._jobs[job]
        self._jobs[job] = replace(
            known,
            submitted=True,
            state=state,
            last_seq=event.seq,
            progress=progress or known.progress,
            ended_at=self.now if state.final else 0.0,
            note=note or known.note,
        )
        self._news.set()
        self._news = asyncio.Event()
        return event

    def end(
        self,
        job: JobId,
        content: str,
        *,
        say: str = "",
        is_error: bool = False,
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        """The job has ended, with this."""
        made = files or {}
        listed = tuple(ResultFile(name, "", len(data)) for name, data in made.items())
        self._results[job] = (
            JobResult(job, content, say=say, is_error=is_error, files=listed),
            made,
        )
        self._jobs[job] = replace(self._jobs[job], delivered=True)
        self.say(job, JobState.FAILED if is_error else JobState.SUCCEEDED)

    def question(self, job: JobId, *, device_name: str = "", preview: str = "") -> ApprovalId:
        """The job waits for a person."""
        known = self._jobs[job]
        asked = PendingApproval(
            id=new_approval_id(),
            job_id=job,
            request_id=known.request_id,
            step=1,
            tool=known.tool,
            call=ToolCall(new_tool_call_id(), known.tool.name, known.arguments),
            reason="it changes something at home",
            preview=preview,
            expires_at=int(self.now) + 86_400,
            device="cd" * 32 if device_name else "",
            device_name=device_name,
        )
        self._questions[asked.id] = asked
        self.say(job, JobState.WAITING_APPROVAL, approval=asked.id)
        return asked.id

    def trouble(self, job: JobId, error: HomingError | None) -> None:
        """The node is away, or refuses."""
        self._jobs[job] = replace(self._jobs[job], error=error)

    # See `PhoneJobs`.

    async def start(  # noqa: PLR0913  # as in `PhoneJobs`
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
        del sensitivity
        for job in self._jobs.values():
            if job.request_id == request_id:
                return job
        if node and node != self._node_name and not FAKE_NODE.startswith(node):
            msg = "no node has this name or id"
            raise NotFoundError(msg, "See: homing nodes")
        spec = self._tool(tool)
        if schema_hash and schema_hash != spec.schema_hash:
            msg = "the tool has changed"
            raise ConflictError(msg, "Look at it again: homing tools")
        if spec.effect is not EffectClass.READ and not allowed:
            msg = "this tool changes something and was not allowed"
            raise RefusedError(msg, "Allow it: --allow")
        made = PhoneJob(
            id=new_job_id(),
            request_id=request_id,
            node=FAKE_NODE,
            node_name=self._node_name,
            place=spec.place,
            tool=spec,
            arguments=arguments,
            submitted=True,
            state=JobState.QUEUED,
            last_seq=0,
            progress=None,
            asked_at=self.now,
            ended_at=0.0,
            delivered=False,
        )
        self._jobs[made.id] = made
        self._events[made.id] = []
        self.say(made.id, JobState.QUEUED)
        return self._jobs[made.id]

    async def list(self, *, refresh: bool) -> tuple[PhoneJob, ...]:
        """See `PhoneJobs.list`."""
        del refresh
        return tuple(reversed(self._jobs.values()))

    async def tools(self) -> tuple[NodeTools, ...]:
        """See `PhoneJobs.tools`."""
        return (NodeTools(FAKE_NODE, self._node_name, self._tools),)

    async def watch(self, job: str, after: int) -> AsyncGenerator[JobEvent, None]:
        """See `PhoneJobs.watch`."""
        found = self._find(job).id
        seen = after
        while True:
            news = self._news
            for event in self._events[found][seen:]:
                seen = event.seq
                yield event
            if len(self._events[found]) > seen:
                continue
            if self._jobs[found].state.final:
                return
            await news.wait()

    async def cancel(self, job: str) -> PhoneJob:
        """See `PhoneJobs.cancel`."""
        found = self._find(job)
        if not found.state.final:
            self.say(found.id, JobState.CANCELLED)
        return self._jobs[found.id]

    async def result(self, job: str) -> JobResult:
        """See `PhoneJobs.result`."""
        return self._result(job)[0]

    async def save_files(self, job: str, folder: Path, *, replace: bool) -> tuple[Path, ...]:
        """See `PhoneJobs.save_files`."""
        made = self._result(job)[1]
        if not folder.is_dir():  # noqa: ASYNC240  # a fake
            msg = "there is no such folder"
            raise NotFoundError(msg, "Make it first.")
        paths = tuple(folder / name for name in made)
        if not replace and any(path.exists() for path in paths):
            msg = "a file of this name is there already"
            raise ConflictError(msg, "Choose another folder, or say --replace.")
        for path, data in zip(paths, made.values(), strict=True):
            path.write_bytes(data)
        return paths

    async def waiting(self) -> tuple[Waiting, ...]:
        """See `PhoneJobs.waiting`."""
        return tuple(
            Waiting(FAKE_NODE, self._node_name, asked) for asked in self._questions.values()
        )

    async def answer(self, shown: Shown, verdict: Verdict) -> PhoneJob | None:
        """See `PhoneJobs.answer`."""
        found = [one for one in await self.waiting() if one.approval.id == shown.id]
        if not found:
            msg = "nothing waits under this id"
            raise NotFoundError(msg, "See: homing jobs approvals")
        if found[0].shown != shown:
            msg = "something else is asked now"
            raise ConflictError(msg, "Look at it again: homing jobs approvals")
        asked = self._questions.pop(shown.id)
        if verdict is Verdict.ALLOW:
            self.say(asked.job_id)
        else:
            self.say(asked.job_id, JobState.FAILED, note="a person said no")
        return None if asked.device_name else self._jobs[asked.job_id]

    async def settle(self, job: str, said: Settlement) -> PhoneJob:
        """See `PhoneJobs.settle`."""
        found = self._find(job)
        if found.state is not JobState.UNKNOWN_EFFECT:
            msg = "there is nothing to settle"
            raise ConflictError(msg, "See: homing jobs")
        self.say(found.id, _SETTLED[said])
        return self._jobs[found.id]

    async def forget(self, job: str) -> None:
        """See `PhoneJobs.forget`."""
        found = self._find(job)
        if not found.state.final:
            msg = "the job has not ended"
            raise ConflictError(msg, "End it first: homing jobs cancel")
        del self._jobs[found.id]
        self._results.pop(found.id, None)

    def _tool(self, name: str) -> ToolSpec:
        for tool in self._tools:
            if name in {tool.name, f"{tool.server}.{tool.name}"}:
                return tool
        msg = "no node has such a tool"
        raise NotFoundError(msg, "See: homing tools")

    def _find(self, beginning: str) -> PhoneJob:
        found = [job for job in self._jobs.values() if job.id.startswith(beginning)]
        if not found:
            msg = "this phone knows no such job"
            raise NotFoundError(msg, "See: homing jobs")
        if len(found) > 1:
            msg = "several jobs begin like this"
            raise ConflictError(msg, "Give more of the id.")
        return found[0]

    def _result(self, job: str) -> tuple[JobResult, Mapping[str, bytes]]:
        found = self._find(job)
        if found.id not in self._results:
            msg = "there is no result"
            raise NotFoundError(msg, "See how it is: homing jobs")
        return self._results[found.id]
