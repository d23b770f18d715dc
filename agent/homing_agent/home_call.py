"""One call of a node's tool: a job, from the model's wish to the result for the model.

    permitted? → recorded as a job → handed in → followed → result → recorded as finished

The job belongs to the phone's job book, not to the request: whoever leaves stops nothing, and a
request that is asked again finds its job, and never hands it in twice.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_core.errors import HomingError, UnavailableError
from homing_core.provenance import Origin, Provenance, Sensitivity, Trust
from homing_core.tools import Place, ToolResult

from homing_agent.events import ToolProgress, ToolStarted
from homing_agent.execute import Executed, cut, failed
from homing_agent.job_pace import JobPace
from homing_agent.journal.base import EffectRecord, EffectState
from homing_agent.ports import JobAsked
from homing_agent.request import ToolStep

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from homing_core.ids import JobId
    from homing_core.jobs import JobEvent, JobResult
    from homing_core.tools import ToolCall, ToolSpec

    from homing_agent.events import AgentEvent
    from homing_agent.parts import Parts
    from homing_agent.permission import Granted
    from homing_agent.policy.consent import Step
    from homing_agent.ports import HomeJob, HomeJobs


@dataclass(frozen=True, slots=True)
class AtNode:
    """A tool of the node that is at work.

    Attributes:
        spec: the tool.
        node_name: for people.
        sensitivity: how far what is in the call may travel.
    """

    spec: ToolSpec
    node_name: str
    sensitivity: Sensitivity


class HomeCalls:
    """Runs calls as jobs, for one request.

    Args:
        parts: the agent's collaborators.
        jobs: the way to the nodes' tools.
        emit: shows an event.
        paused: stops the request's clock for the length of a block.
    """

    def __init__(
        self,
        parts: Parts,
        jobs: HomeJobs,
        emit: Callable[[AgentEvent], None],
        paused: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """Keep them."""
        self._parts = parts
        self._jobs = jobs
        self._emit = emit
        self._paused = paused

    def changed(self, spec: ToolSpec) -> bool:
        """Whether a tool has changed since its person allowed it."""
        return self._jobs.changed(spec)

    def earlier(self, step: Step) -> HomeJob | None:
        """The job of the same call in the same request, if there is one."""
        for job in self._jobs.of_request(step.request_id):
            same = (
                job.asked.tool.schema_hash == step.tool.schema_hash
                and job.asked.call.argument_hash == step.call.argument_hash
            )
            if same:
                return job
        return None

    async def run(self, step: Step, at: AtNode, granted: Granted) -> tuple[ToolStep, Executed]:
        """Make an allowed call."""
        self._record(step, granted.by)
        shown = ToolStep(step.call, at.spec.place, granted.by)
        self._emit(ToolStarted(shown))
        asked = JobAsked(
            step.request_id, step.number, at.spec, step.call, at.sensitivity, granted.approval
        )
        with self._paused():
            executed = await self._executed(asked, at.node_name, None)
        self._parts.journal.finish_effect(step.call.id, executed.result, executed.say)
        return shown, executed

    async def resume(
        self, job: HomeJob, call: ToolCall, approved_by: str
    ) -> tuple[ToolStep, Executed]:
        """Go on with a job that was begun before, for this call or for the same one.

        Args:
            job: the job.
            call: the call that its result answers.
            approved_by: as of the call that began it.
        """
        shown = ToolStep(call, job.asked.tool.place, approved_by)
        self._emit(ToolStarted(shown))
        asked = JobAsked(
            job.asked.request_id,
            job.asked.step,
            job.asked.tool,
            call,
            job.asked.sensitivity,
            job.asked.approval,
        )
        with self._paused():
            executed = await self._executed(asked, job.node_name, job.id)
        self._parts.journal.finish_effect(call.id, executed.result, executed.say)
        return shown, executed

    def _record(self, step: Step, by: str) -> None:
        known = self._parts.journal.effects(step.request_id)
        if any(effect.call.id == step.call.id for effect in known):
            return  # a killed process wrote it down, and the same generation was read again
        self._parts.journal.begin_effect(
            EffectRecord(
                request_id=step.request_id,
                step=step.number,
                call=step.call,
                tool_hash=step.tool.schema_hash,
                idempotent=step.tool.idempotent,
                approved_by=by,
                begun_at=self._parts.clock.now(),
                state=EffectState.JOB,
            )
        )

    async def _executed(self, asked: JobAsked, node_name: str, job: JobId | None) -> Executed:
        trust = trust_of(asked.tool, Trust.TRUSTED)
        try:
            found = await self._jobs.start(asked) if job is None else job
            await self._show(found, asked.call, node_name)
            result = await self._jobs.result(found)
        except HomingError as error:
            return failed(asked.call, error, trust)
        return for_model(asked, result, self._parts.limits.job_chars)

    async def _show(self, job: JobId, call: ToolCall, node_name: str) -> None:
        def show(event: JobEvent) -> None:
            self._emit(ToolProgress(call.id, job, node_name, event))

        paced = JobPace(show, self._parts.clock)
        try:
            async with aclosing(self._jobs.follow(job)) as events:
                async for event in events:
                    paced.see(event)
        finally:
            paced.close()


def for_model(asked: JobAsked, result: JobResult, most_chars: int) -> Executed:
    """What came of a job, as the result of its call. Pure.

    Args:
        asked: what was asked.
        result: what came of it.
        most_chars: of the text, for the model.
    """
    tool, call = asked.tool, asked.call
    peer = tool.place is Place.PEER
    provenance = Provenance(
        Origin.TOOL,
        trust_of(tool, result.trust),
        # What a peer returns is made of what it was given, and may go there again.
        asked.sensitivity if peer else result.sensitivity,
        result.source or tool.name,
    )
    content = cut(result.content, most_chars)
    if result.files:
        names = ", ".join(file.name for file in result.files)
        content = f"{content}\n(files that the tool made, now on the phone: {names})"
    answer = ToolResult(call.id, content, is_error=result.is_error, provenance=provenance)
    if result.is_error:
        return Executed(answer, "", UnavailableError(f"{tool.name} could not do it", ""))
    return Executed(answer, cut(result.say, most_chars))


def trust_of(tool: ToolSpec, said: Trust) -> Trust:
    """How far a result is trusted: never better than its tool, and a peer's never."""
    if tool.place is Place.PEER or tool.output_trust is Trust.UNTRUSTED:
        return Trust.UNTRUSTED
    return said
