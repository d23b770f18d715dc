"""One request while it is worked on: what is in its context, where it is, and what was shown."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from homing_core.errors import (
    HomingError,
    IntegrityError,
    UnavailableError,
    UnpairedError,
    error_from_code,
)
from homing_core.generation import Failed, TextDelta
from homing_core.messages import user
from homing_core.provenance import Origin, Provenance, Trust
from homing_core.tools import EffectClass, Place

from homing_agent.compaction import compacted
from homing_agent.completing import Completing
from homing_agent.conversation import (
    assistant_turn,
    estimate_tokens,
    estimate_tool_tokens,
    is_untrusted,
    said,
    sensitivity_of,
    system_message,
    told,
)
from homing_agent.events import Note, RouteChosen
from homing_agent.home_call import AtNode
from homing_agent.ports import Need
from homing_agent.prompts import AFTER_TOOL
from homing_agent.questions import (
    asking_turn,
    is_question,
    question,
    with_what_it_answers,
)
from homing_agent.request import NO_FIRST_TOKEN, UNKNOWN_CONFIDENCE, ExitStatus, FinalAnswer
from homing_agent.retrieval import offer
from homing_agent.routing.clues import best_rival, clues, overlap
from homing_agent.routing.decide import decide
from homing_agent.routing.decisions import Decline, Escalate
from homing_agent.routing.features import CallFacts, Features, Point, Reach
from homing_agent.routing.grounding import unused_numbers
from homing_agent.schema import check_arguments, unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from homing_core.canonical import JsonObject
    from homing_core.generation import CallSignals, TokenSignals
    from homing_core.ids import ConversationId, DeviceId
    from homing_core.messages import Message
    from homing_core.tools import ToolCall, ToolSpec

    from homing_agent.events import AgentEvent
    from homing_agent.parts import Parts
    from homing_agent.ports import Remote
    from homing_agent.request import AskInput, ToolStep
    from homing_agent.routing.decisions import Decision
    from homing_agent.routing.grounding import Grounding
    from homing_agent.routing.leaning import PhonePrefix

CALL_FORMATS = frozenset({"hermes-json", "qwen35-xml"})
"""Chat formats in which the engine can hold a model to a call."""
_TO_PEER = "no home can answer it now, and it may go to a peer"


class RequestState:
    """Belongs to one request's task.

    Args:
        parts: the agent's collaborators.
        asked: the request.
        conversation_id: its conversation.
        prefix: what is known of the phone's system-and-tools prefix.
        tools: the phone's, of which its model may call any.
        emit: shows an event.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # each is a different collaborator or fact
        self,
        parts: Parts,
        asked: AskInput,
        conversation_id: ConversationId,
        prefix: PhonePrefix,
        tools: tuple[ToolSpec, ...],
        emit: Callable[[AgentEvent], None],
    ) -> None:
        """Take up the conversation."""
        self.parts = parts
        self.asked = asked
        self.conversation_id = conversation_id
        self.emit = emit
        self.tools = self._phone_tools = tools
        self._home_tools: dict[str, ToolSpec] = {}
        self.remote: Remote | None = None
        self.failures = 0
        self.failure = ""
        self.failed_with: HomingError | None = None
        self.engine_failed = False
        self.must_call = False
        """Whether the phone's model wanted to use words and shall call a tool in its next turn."""
        self.begun = ""
        """Text of the answer that a model began and the next one goes on with."""
        self._started = parts.clock.monotonic()
        self._prefix = prefix
        self._history: Sequence[Message] = parts.journal.conversation(conversation_id)
        self._said_now = with_what_it_answers(self._history, asked.text)
        self._clues = clues(self._said_now)
        source = Provenance(Origin.PERSON, Trust.TRUSTED, asked.sensitivity)
        self._question = user(asked.text, source)
        self._made: list[Message] = []
        self._settled = 0
        self._reach = Reach.UNKNOWN
        self._home_problem = ""
        self._failed_nodes: set[DeviceId] = set()
        self._reason = ""
        self._confidence = UNKNOWN_CONFIDENCE
        self._numbers: Mapping[str, float] = {}
        self._announced: RouteChosen | None = None
        self._shown = ""
        self._written = ""
        self._first_token: float | None = None
        self._asked_for = ""
        self._asks: tuple[str, ...] = ()

    # What is in the context

    @property
    def messages(self) -> tuple[Message, ...]:
        """Earlier turns, the question, and what came of it so far; without a system message."""
        return (*self._history, self._question, *self._made)

    @property
    def _untaught(self) -> bool:
        """Whether no example shows the phone's model when to call these tools."""
        return not self.parts.prompts.teaches(self.tools)

    def prompt(self) -> tuple[Message, ...]:
        """The whole conversation for the model that is at work."""
        prompts = self.parts.prompts
        home = prompts.home_tools if self._home_tools else prompts.home
        chat_format = self.parts.engine.info.chat_format
        phone = prompts.for_phone(self.tools, chat_format)
        text = phone if self.remote is None else home
        begun = (assistant_turn(self.begun, (), self.messages),) if self.begun else ()
        return (system_message(text), *self.messages, *begun)

    def untrusted(self) -> bool:
        """Whether text that others may have written is in the context."""
        return is_untrusted(self.messages)

    def said(self) -> list[str]:
        """Where a call's arguments may honestly come from."""
        return said(self.messages)

    def at_node(self, name: str) -> AtNode | None:
        """A tool of the node that is at work; None if the phone has this tool, or nobody."""
        spec = self._home_tools.get(name)
        if spec is None or self.remote is None:
            return None
        return AtNode(spec, self.remote.name, sensitivity_of(self.messages))

    def check(self, call: ToolCall) -> ToolSpec:
        """The tool of a call, once the call is known to be well formed; raises as `Registry.check`.

        The schema of a node's tool may say more than the phone understands: its node checks that.
        """
        at = self.at_node(call.name)
        if at is None:
            return self.parts.registry.check(call).spec
        if not unsupported(at.spec.parameters):
            check_arguments(at.spec.parameters, call.arguments)
        return at.spec

    def facts(
        self,
        spec: ToolSpec,
        signals: CallSignals | None,
        grounding: Grounding | None = None,
        arguments: JsonObject | None = None,
    ) -> CallFacts:
        """What a routing rule may know of a call of this tool, once its arguments are written."""
        text = self._said_now
        return CallFacts(
            spec.name,
            spec.effect,
            signals,
            grounding,
            leaning=self._prefix.leaning,
            overlap=overlap(text, spec),
            rival_overlap=best_rival(text, self.tools, spec.name),
            unused=unused_numbers(arguments or {}, text),
        )

    def add(self, messages: Sequence[Message], *, settled: bool) -> None:
        """Put turns into the context.

        Args:
            messages: the turns.
            settled: whether they stay if the work moves home; a failed attempt does not.
        """
        self._made.extend(messages)
        if settled:
            self._settled = len(self._made)

    # Where the work goes

    async def settle(
        self,
        point: Point,
        *,
        call: CallFacts | None = None,
        text: TokenSignals | None = None,
        broken_call: bool = False,
    ) -> Decision:
        """Decide, and act on `Escalate`: it is given back only if the work has moved home.

        Where home cannot be reached, the decision is made again with that known.
        """
        decision = self._decide(point, call, text, broken_call)
        if isinstance(decision, Escalate):
            if await self._go_home(decision.reason):
                return decision
            decision = self._decide(point, call, text, broken_call)
        too_long = isinstance(decision, Decline) and point is Point.START
        if too_long and self._leave_out_earlier_turns():
            decision = self._decide(point, call, text, broken_call)
        return decision

    async def go_home(self, reason: str) -> bool:
        """Move the work home without a decision; whether that went well."""
        return await self._go_home(reason)

    def announce(self) -> None:
        """Show where the work is done, unless that has been shown."""
        remote, info = self.remote, self.parts.engine.info
        if remote is None:
            route = RouteChosen(Place.PHONE, "", self._reason, info.model)
        else:
            route = RouteChosen(remote.place, remote.name, self._reason, remote.model)
        known = self._announced
        if known is None or (known.place, known.node) != (route.place, route.node):
            self._announced = route
            self.emit(route)

    async def try_another(self, error: HomingError) -> bool:
        """Move a step, of which nothing has come yet, from a node that failed to the next one."""
        failed = self.remote
        if failed is None or not error.retryable:
            return False
        self._failed_nodes.add(failed.node)
        try:
            remote = await self._pick()
        except HomingError:
            return False
        self.emit(Note(f"{failed.name} could not answer: {error.what}; {remote.name} is asked"))
        await self._take_to(remote, self._reason)
        return True

    def lose_home(self, error: HomingError, begun: str) -> None:
        """The node is gone for good: the phone goes on, from the text that the node began."""
        gone = isinstance(error, UnavailableError)
        verb = "stopped answering" if gone else "could not answer"
        peer = self.remote is not None and self.remote.place is Place.PEER
        who = self.remote.name if self.remote is not None and peer else "home"
        self._home_problem = f"{who} {verb}: {error.what}"
        self._reach = Reach.UNREACHABLE
        self.remote = None
        self._drop_home_tools()
        self.begun = begun
        if begun:
            self.emit(Note(f"{self._home_problem}; the phone goes on from here"))
            return
        self._shown = self._written = ""
        self._first_token = None
        self.emit(Note(f"{self._home_problem}; the phone answers instead"))

    def fail(self, what: str, error: HomingError | None = None, *, engine: bool = False) -> None:
        """Count a failed attempt of the phone's own model."""
        self.failures += 1
        self.failure = what
        self.failed_with = error
        self.engine_failed = self.engine_failed or engine

    # What is shown

    @property
    def shown(self) -> str:
        """The text shown so far by whoever gives the answer."""
        return self._shown

    def show(self, text: str) -> None:
        """Show text that a model wrote."""
        self._written += text
        self._show(text)

    def show_apart(self, text: str) -> None:
        """Show a tool's own words, on a line of their own.

        They are not kept as the assistant's: a small model that finds such a receipt among its own
        words writes the next one by itself, without calling the tool.
        """
        self._show(f"\n{text}" if self._shown and not self._shown.endswith("\n") else text)

    def completed(self, call: ToolCall) -> ToolCall:
        """The call with what its tool reads out of the person's own words."""
        tool = None if call.name in self._home_tools else self.parts.registry.get(call.name)
        if not isinstance(tool, Completing):
            return call
        arguments = tool.complete(call.arguments, self._said_now)
        return call if arguments == call.arguments else replace(call, arguments=arguments)

    def ask_for(self, spec: ToolSpec, parameters: Sequence[str]) -> None:
        """Ask the person for what a call lacks; that is the answer to this request."""
        at_node = spec.name in self._home_tools
        tool = None if at_node else self.parts.registry.get(spec.name)
        self._asked_for = question(spec, tool, parameters)
        self._asks = tuple(parameters)
        self.show_apart(self._asked_for)

    def saw_token(self, at: float | None = None) -> None:
        """The answer's first token was written now, or at a moment of the monotonic clock."""
        moment = self.parts.clock.monotonic() if at is None else at
        if self._first_token is None or moment < self._first_token:
            self._first_token = moment

    # How it ends

    def answered(self, steps: Sequence[ToolStep]) -> FinalAnswer:
        """It went well; the answer is what was shown."""
        return self._final(steps, ExitStatus.ANSWERED, None)

    def ended_by(self, error: HomingError, steps: Sequence[ToolStep]) -> FinalAnswer:
        """It did not. If something was done before, that is said first."""
        done = self._done(steps)
        if done:
            # Whoever reads only this must not do it a second time.
            what = f"{' and '.join(done)} was done, but then {error.what}"
            error = error_from_code(error.code.value, what, "Ask for the rest only.")
        refused = error.exit_status == ExitStatus.REFUSED.value
        status = ExitStatus.REFUSED if refused else ExitStatus.FAILED
        return self._final(steps, status, error)

    def declined(self, decision: Decline, steps: Sequence[ToolStep]) -> FinalAnswer:
        """Neither the phone nor home may or can do it."""
        known = self.failed_with
        if known is not None:
            return self.ended_by(type(known)(decision.reason, known.hint or decision.hint), steps)
        error = error_from_code(decision.code.value, decision.reason, decision.hint)
        return self.ended_by(error, steps)

    def record(self, answer: FinalAnswer) -> tuple[Message, ...]:
        """The turns to keep for the conversation."""
        closing: tuple[Message, ...] = ()
        context = self.messages
        if self._asked_for:
            closing = (asking_turn(self._asked_for, context),)
        elif self._written.strip():
            closing = (assistant_turn(self._written, (), context),)
        elif answer.error is not None and not self._made:
            closing = (told(str(answer.error.to_error()), context),)
        elif self._made:
            closing = (told(AFTER_TOOL, context),)
        return (self._question, *self._made, *closing)

    def _done(self, steps: Sequence[ToolStep]) -> list[str]:
        """Tools that changed something for this request, in order."""
        tools = (*self.parts.registry.offered(), *self._home_tools.values())
        acting = {spec.name for spec in tools if spec.effect is not EffectClass.READ}
        done = (
            step.call.name
            for step in steps
            if step.result is not None and not step.result.is_error and step.call.name in acting
        )
        return list(dict.fromkeys(done))

    def _show(self, text: str) -> None:
        self.saw_token()
        self._shown += text
        self.emit(TextDelta(text))

    def _final(
        self, steps: Sequence[ToolStep], status: ExitStatus, error: HomingError | None
    ) -> FinalAnswer:
        now = self.parts.clock.monotonic()
        remote, info = self.remote, self.parts.engine.info
        first = self._first_token
        return FinalAnswer(
            request_id=self.asked.request_id,
            conversation_id=self.conversation_id,
            place=Place.PHONE if remote is None else remote.place,
            node="" if remote is None else remote.name,
            reason=self._reason,
            confidence=self._confidence,
            model=info.model if remote is None else remote.model,
            stand_in=info.stand_in if remote is None else remote.stand_in,
            ttft_ms=NO_FIRST_TOKEN if first is None else (first - self._started) * 1000,
            total_ms=(now - self._started) * 1000,
            text=self._shown,
            steps=tuple(steps),
            exit_status=status.value,
            error=None if error is None else Failed.from_error(error),
            features=dict(self._numbers),
            asks=self._asks,
        )

    def _decide(
        self,
        point: Point,
        call: CallFacts | None,
        text: TokenSignals | None,
        broken_call: bool,  # noqa: FBT001  # private, and handed on as it came
    ) -> Decision:
        info = self.parts.engine.info
        features = Features(
            point=point,
            route=self.asked.route,
            reach=self._reach,
            home_problem=self._home_problem,
            sensitivity=sensitivity_of(self.messages),
            untrusted=self.untrusted(),
            prompt_tokens=self._prompt_tokens(),
            context_tokens=info.context_tokens,
            tools=len(self.tools),
            failures=self.failures,
            failure=self.failure,
            engine_failed=self.engine_failed,
            call=call,
            text=text,
            broken_call=broken_call,
            clues=self._clues,
            request=self._said_now,
            asked_before=self._asked_before(call),
            best_overlap=best_rival(self._said_now, self.tools, "") if point is Point.TEXT else 0.0,
            must_call=self.must_call,
            can_require=self._untaught and info.chat_format in CALL_FORMATS,
        )
        decision = decide(features, self.parts.rules)
        if self._reach is not Reach.THERE:
            self._reason = decision.reason
            self._numbers = self.parts.rules.score.numbers(features)
            if decision.confidence != UNKNOWN_CONFIDENCE:
                self._confidence = decision.confidence
        return decision

    async def _go_home(self, reason: str) -> bool:
        try:
            remote = await self._pick()
        except HomingError as error:
            return self._no_home(error)
        await self._take_to(remote, reason)
        return True

    async def _pick(self) -> Remote:
        limits = self.parts.limits
        need = Need(
            sensitivity=sensitivity_of(self.messages),
            prompt_tokens=estimate_tokens(self.messages),
            thinking=self.asked.thinking,
            avoid=frozenset(self._failed_nodes),
        )
        try:
            async with asyncio.timeout(limits.pick_s):
                return await self.parts.homes.pick(need)
        except TimeoutError:
            msg = f"no node answered within {limits.pick_s:g} s"
            raise UnavailableError(msg) from None

    async def _take_to(self, remote: Remote, reason: str) -> None:
        self._drop_home_tools()
        if self.parts.jobs is not None and self.tools == self._phone_tools:
            # Not where tools were taken away from a model that made calls up.
            self._offer(await self.parts.jobs.tools(remote))
        self.remote = remote
        self._reach = Reach.THERE
        peer = remote.place is Place.PEER and _TO_PEER not in reason
        self._reason = f"{reason}; {_TO_PEER}" if peer else reason
        self._first_token = None
        del self._made[self._settled :]
        self.announce()

    def _offer(self, home_tools: Sequence[ToolSpec]) -> None:
        """Offer a node's tools behind the phone's; of two with one name the phone's counts."""
        taken = self.parts.registry.names
        free = [spec for spec in home_tools if spec.name not in taken]
        room = self.parts.limits.home_tool_tokens
        offered = offer(self._said_now, (), free, room, self.parts.retriever)
        if offered.words:
            self.emit(Note(f"of the node's own tools, {offered.words}"))
        self._home_tools = {spec.name: spec for spec in offered.tools}
        self.tools = (*self.tools, *self._home_tools.values())

    def leave_out_home_tools(self) -> bool:
        """Go on with the phone's tools alone, for the prompt is too long; False if it already is.

        Not once one of them was called: what came of it stands in the prompt.
        """
        if not self._home_tools or self._made:
            return False
        self._drop_home_tools()
        self.emit(Note("the node's own tools are left out: they do not fit its model"))
        return True

    def _drop_home_tools(self) -> None:
        self.tools = tuple(spec for spec in self.tools if spec.name not in self._home_tools)
        self._home_tools = {}

    def _asked_before(self, call: CallFacts | None) -> bool:
        """Whether the last turn before this question asked for what the call still lacks."""
        if call is None or call.grounding is None or not self._history:
            return False
        return is_question(self._history[-1])

    def _no_home(self, error: HomingError) -> bool:
        self._reach = Reach.UNREACHABLE
        self._home_problem = f"home cannot be reached: {error.what}"
        # Only a person ends these two; the rest ends by itself.
        lasting = isinstance(error, UnpairedError | IntegrityError) and error.hint
        more = f". {error.hint}" if lasting else ""
        self.emit(Note(f"{self._home_problem}; the phone answers{more}"))
        return False

    def _prompt_tokens(self) -> int:
        prefix = self._prefix.tokens or estimate_tool_tokens(self.tools)
        return prefix + estimate_tokens(self.messages)

    def _leave_out_earlier_turns(self) -> bool:
        """Make a prompt fit the phone, if it is the earlier turns that are too much for it."""
        context = self.parts.engine.info.context_tokens
        budget = int(context * self.parts.rules.thresholds.context_share)
        own = self._prompt_tokens() - estimate_tokens(self._history)
        if not self._history or not context or own > budget or self._prompt_tokens() <= budget:
            return False
        self._compact(budget - own, "the phone")
        return True

    def shorten_history(self) -> bool:
        """Halve the earlier turns, for they are too much for the node; False if there are none."""
        if not self._history or self.remote is None:
            return False
        self._compact(estimate_tokens(self._history) // 2, self.remote.name)
        return True

    def _compact(self, tokens: int, who: str) -> None:
        before = len(self._history)
        self._history = compacted(self._history, tokens)
        how = "shortened" if len(self._history) == before else "left out or shortened"
        self.emit(Note(f"earlier turns were {how}, since {who} cannot hold them all"))
