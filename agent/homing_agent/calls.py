"""One tool call, from the model's wish to its recorded result.

    valid? → can it work? → done before in this request? → permitted? → (person) → recorded as begun
    → run → recorded as finished

Nothing runs that is not recorded, and what was recorded as finished is not run again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from homing_core.errors import HomingError, RefusedError

from homing_agent.events import Note, ToolFinished, ToolStarted
from homing_agent.execute import execute, failed
from homing_agent.journal.base import EffectRecord, EffectState
from homing_agent.policy.consent import ConsentDesk, Step
from homing_agent.policy.permit import (
    BY_PERSON,
    Allow,
    NeedPerson,
    PermitContext,
    Refuse,
    permit,
)
from homing_agent.request import REFUSED, ToolStep
from homing_agent.tool import AskPersonError, ToolContext, UnknownOutcomeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.ids import ConversationId
    from homing_core.tools import ToolCall

    from homing_agent.events import AgentEvent
    from homing_agent.execute import Executed
    from homing_agent.parts import Parts
    from homing_agent.ports import Consent
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
    """

    doubt: str = ""
    untrusted: bool = False


class CallRunner:
    """Runs the calls of one request.

    Args:
        parts: the agent's collaborators.
        asked: the request.
        conversation_id: its conversation.
        consent: the way to the person.
        emit: shows an event.
    """

    def __init__(
        self,
        parts: Parts,
        asked: AskInput,
        conversation_id: ConversationId,
        consent: Consent,
        emit: Callable[[AgentEvent], None],
    ) -> None:
        """Keep them."""
        self._parts = parts
        self._asked = asked
        self._conversation_id = conversation_id
        self._emit = emit
        self._desk = ConsentDesk(consent, parts.signer, parts.clock, parts.limits.consent_s)
        self.steps: list[ToolStep] = []

    async def run(self, call: ToolCall, around: Circumstances) -> CallOutcome:
        """Take a call through everything above, and keep its step."""
        outcome = await self._run(call, around)
        self.steps.append(outcome.step)
        self._emit(ToolFinished(outcome.step))
        return outcome

    async def _run(self, call: ToolCall, around: Circumstances) -> CallOutcome:
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
        allowed = await self._permission(tool, call, around, preview)
        if isinstance(allowed, CallOutcome):
            return allowed
        return await self._recorded(tool, call, allowed.by)

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

    async def _permission(
        self, tool: Tool, call: ToolCall, around: Circumstances, preview: str
    ) -> Allow | CallOutcome:
        journal = self._parts.journal
        context = PermitContext(
            interactive=self._asked.interactive,
            allowed_tools=self._asked.allowed_tools,
            remembered=journal.remembered(self._conversation_id),
            untrusted=around.untrusted,
            doubt=around.doubt,
        )
        permission = permit(tool.spec, call, context)
        match permission:
            case Allow():
                return permission
            case Refuse(reason=reason, hint=hint):
                return _refused(tool, call, reason, hint)
            case NeedPerson():
                step = Step(self._asked.request_id, len(self.steps) + 1, tool.spec, call)
                said = await self._desk.ask(step, permission, preview)
                if said.approval is not None:
                    journal.record_approval(said.approval)
                if said.remember:
                    journal.remember(self._conversation_id, tool.spec.schema_hash)
                if said.allowed:
                    return Allow(BY_PERSON)
                reason = "you said no" if said.approval is not None else "nobody answered in time"
                return _refused(tool, call, reason, "")

    async def _recorded(self, tool: Tool, call: ToolCall, by: str) -> CallOutcome:
        """Run an allowed call between its two records."""
        step = ToolStep(call, tool.spec.place, by)
        self._parts.journal.begin_effect(
            EffectRecord(
                request_id=self._asked.request_id,
                step=len(self.steps) + 1,
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


def _refused(tool: Tool, call: ToolCall, reason: str, hint: str) -> CallOutcome:
    what = f"{call.name} was not allowed: {reason}"
    executed = failed(call, RefusedError(what, hint))
    step = ToolStep(call, tool.spec.place, REFUSED, executed.result)
    return CallOutcome(step, Ending.REFUSED, f"Not done. {executed.error}", executed.error)
