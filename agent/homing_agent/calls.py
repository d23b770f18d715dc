"""One tool call, from the model's wish to its recorded result.

    valid? → can it work? → done before in this request? → permitted? → (person) → recorded as begun
    → run → recorded as finished

A call of a node's tool takes the same way, but for its run: see `home_call`.

Nothing runs that is not recorded, and what was recorded as finished is not run again.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from homing_core.errors import HomingError, RefusedError
from homing_core.tools import Place

from homing_agent.events import Note, ToolFinished, ToolStarted
from homing_agent.execute import execute, failed
from homing_agent.home_call import HomeCalls
from homing_agent.journal.base import EffectRecord, EffectState
from homing_agent.permission import Around, Permissions
from homing_agent.policy.consent import Step
from homing_agent.policy.permit import Refuse
from homing_agent.request import REFUSED, ToolStep
from homing_agent.tool import AskPersonError, ToolContext, UnknownOutcomeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from homing_core.ids import ConversationId
    from homing_core.tools import ToolCall, ToolSpec

    from homing_agent.events import AgentEvent
    from homing_agent.execute import Executed
    from homing_agent.home_call import AtNode
    from homing_agent.parts import Parts
    from homing_agent.ports import Consent, HomeJob
    from homing_agent.request import AskInput
    from homing_agent.tool import Tool


class Ending(Enum):
    """How a call ended."""

    DONE = "done"
    """It ran and worked."""
    FAILED = "failed"
    """It could not be read, or ran and failed; the model may try again."""
    REFUSED = "refused"
    """It was not allowed."""
    QUESTION = "question"
    """Only the person can say what is needed to run it."""
    UNKNOWN = "unknown"
    """It was started, and nobody knows whether it happened."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What came of a call.

    Attributes:
        step: the call and its result.
        ending: how it ended.
        say: words for the person: the tool's, or why not; empty if a model has to word it.
        error: why it did not work; None if it did.
        repeated: whether it had been done before in this request, and was not done again.
    """

    step: ToolStep
    ending: Ending
    say: str = ""
    error: HomingError | None = None
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is known when a call is put to the policy.

    Attributes:
        doubt: why the model's choice is doubtful; empty if it is not.
        untrusted: whether untrusted text is in the context.
        at: the node's tool that is called; None for one of the phone's.
    """

    doubt: str = ""
    untrusted: bool = False
    at: AtNode | None = None


class CallRunner:
    """Runs the calls of one request.

    Args:
        parts: the agent's collaborators.
        asked: the request.
        conversation_id: its conversation.
        consent: the way to the person.
        emit: shows an event.
        paused: stops the request's clock for the length of a block.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # each is a different collaborator or fact
        self,
        parts: Parts,
        asked: AskInput,
        conversation_id: ConversationId,
        consent: Consent,
        emit: Callable[[AgentEvent], None],
        paused: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        """Keep them."""
        self._parts = parts
        self._asked = asked
        self._emit = emit
        self._permissions = Permissions(parts, asked, conversation_id, consent)
        jobs = parts.jobs
        self._home = None if jobs is None else HomeCalls(parts, jobs, emit, paused)
        self._steps: dict[int, ToolStep] = {}
        self._numbers = itertools.count(1)

    @property
    def steps(self) -> list[ToolStep]:
        """Every call so far that has ended, in order."""
        return [self._steps[number] for number in sorted(self._steps)]

    def next_number(self) -> int:
        """The number of the request's next step, for one call."""
        return next(self._numbers)

    async def run(self, call: ToolCall, around: Circumstances, number: int) -> CallOutcome:
        """Take a call through everything above, and keep its step. Several may run side by side.

        Args:
            call: the call.
            around: what is known about it.
            number: from `next_number`.
        """
        outcome = await self._run(call, around, number)
        self._keep(outcome, number)
        return outcome

    def _keep(self, outcome: CallOutcome, number: int) -> None:
        self._steps[number] = outcome.step
        self._emit(ToolFinished(outcome.step))

    async def resume(self, effect: EffectRecord, job: HomeJob | None) -> CallOutcome | None:
        """Take up a call that an earlier process of this request made, and keep its step.

        Args:
            effect: what is recorded of it.
            job: its job, if it became one.

        Returns:
            What came of it; None if nothing did, so that it may be made anew.
        """
        call, spec = effect.call, None if job is None else job.asked.tool
        if effect.result is not None:
            place = Place.PHONE if spec is None else spec.place
            step = ToolStep(call, place, effect.approved_by, effect.result)
            ending = Ending.FAILED if effect.result.is_error else Ending.DONE
            outcome = CallOutcome(step, ending, effect.say)
        elif job is not None and self._home is not None:
            shown, executed = await self._home.resume(job, call, effect.approved_by)
            outcome = _of_job(shown, executed)
        else:
            return None
        self._keep(outcome, self.next_number())
        return outcome

    async def _run_at_node(
        self, home: HomeCalls, at: AtNode, step: Step, around: Circumstances
    ) -> CallOutcome:
        """Run a call of a node's tool; it is valid."""
        call = step.call
        try:
            earlier, changed = home.earlier(step), home.changed(at.spec)
        except HomingError as error:
            return _ended(call, failed(call, error), Ending.FAILED)
        if earlier is not None:
            self._emit(Note(f"{call.name} was already asked for this request"))
            shown, executed = await home.resume(earlier, call, "")
            return replace(_of_job(shown, executed), repeated=True)
        granted = await self._permissions.of(
            step, Around(around.doubt, around.untrusted, where=at.node_name, changed=changed)
        )
        if isinstance(granted, Refuse):
            return _refused(at.spec, call, granted)
        shown, executed = await home.run(step, at, granted)
        return _of_job(shown, executed)

    async def _run(self, call: ToolCall, around: Circumstances, number: int) -> CallOutcome:
        if around.at is not None and self._home is not None:
            step = Step(self._asked.request_id, number, around.at.spec, call)
            return await self._run_at_node(self._home, around.at, step, around)
        try:
            tool = self._parts.registry.check(call)
            preview = tool.preview(call.arguments)
        except AskPersonError as error:
            return _ended(call, failed(call, error), Ending.QUESTION)
        except HomingError as error:
            return _ended(call, failed(call, error), Ending.FAILED)
        earlier = self._earlier(tool, call)
        if earlier is not None:
            return earlier
        step = Step(self._asked.request_id, number, tool.spec, call)
        granted = await self._permissions.of(
            step, Around(around.doubt, around.untrusted, preview=preview)
        )
        if isinstance(granted, Refuse):
            return _refused(tool.spec, call, granted)
        return await self._recorded(tool, step, granted.by)

    def _earlier(self, tool: Tool, call: ToolCall) -> CallOutcome | None:
        """What came of the same call earlier in this request, if a second run would matter."""
        if tool.spec.idempotent:
            return None
        for effect in self._parts.journal.effects(self._asked.request_id):
            same = (
                effect.tool_hash == tool.spec.schema_hash
                and effect.call.argument_hash == call.argument_hash
            )
            if same and effect.result is not None and not effect.result.is_error:
                self._emit(Note(f"{call.name} was already done for this request"))
                result = replace(effect.result, call_id=call.id)
                step = ToolStep(call, tool.spec.place, effect.approved_by, result)
                return CallOutcome(step, Ending.DONE, effect.say, repeated=True)
        return None

    async def _recorded(self, tool: Tool, allowed: Step, by: str) -> CallOutcome:
        """Run an allowed call between its two records."""
        call = allowed.call
        step = ToolStep(call, tool.spec.place, by)
        self._parts.journal.begin_effect(
            EffectRecord(
                request_id=self._asked.request_id,
                step=allowed.number,
                call=call,
                tool_hash=tool.spec.schema_hash,
                idempotent=tool.spec.idempotent,
                approved_by=by,
                begun_at=self._parts.clock.now(),
                state=EffectState.BEGUN,
            )
        )
        self._emit(ToolStarted(step))
        run = asyncio.ensure_future(self._run_to_record(tool, call))
        try:
            executed = await asyncio.shield(run)
        except asyncio.CancelledError:
            # What has begun ends, within its time limit, and is recorded; then the request ends.
            await asyncio.wait({run})
            raise
        ended = replace(step, result=executed.result)
        return _ended(call, executed, _ending(tool, executed), ended)

    async def _run_to_record(self, tool: Tool, call: ToolCall) -> Executed:
        context = ToolContext(self._asked.request_id, call.id)
        executed = await execute(tool, call, context, self._parts.limits)
        if _ending(tool, executed) is Ending.UNKNOWN:
            self._parts.journal.settle_effect(call.id)
        else:
            self._parts.journal.finish_effect(call.id, executed.result, executed.say)
        return executed


def _ending(tool: Tool, executed: Executed) -> Ending:
    match executed.error:
        case None:
            return Ending.DONE
        case AskPersonError():
            return Ending.QUESTION
        case UnknownOutcomeError() if not tool.spec.idempotent:
            return Ending.UNKNOWN
        case _:
            return Ending.FAILED


def _ended(
    call: ToolCall, executed: Executed, ending: Ending, step: ToolStep | None = None
) -> CallOutcome:
    asks = ending in {Ending.QUESTION, Ending.UNKNOWN}
    say = str(executed.error) if asks else executed.say
    shown = step or ToolStep(call, result=executed.result)
    return CallOutcome(shown, ending, say, executed.error)


def _of_job(step: ToolStep, executed: Executed) -> CallOutcome:
    """What came of a job. If its node refuses it, that ends the request, as the phone's no does."""
    refused = isinstance(executed.error, RefusedError)
    done = Ending.DONE if executed.error is None else Ending.FAILED
    ending = Ending.REFUSED if refused else done
    say = f"Not done. {executed.error}" if refused else executed.say
    return CallOutcome(replace(step, result=executed.result), ending, say, executed.error)


def _refused(tool: ToolSpec, call: ToolCall, why: Refuse) -> CallOutcome:
    what = f"{call.name} was not allowed: {why.reason}"
    executed = failed(call, RefusedError(what, why.hint))
    step = ToolStep(call, tool.place, REFUSED, executed.result)
    return CallOutcome(step, Ending.REFUSED, f"Not done. {executed.error}", executed.error)
