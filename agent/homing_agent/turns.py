"""One turn of a model: on the phone, where it may end by moving home, or at home."""

from __future__ import annotations

import re
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from homing_core.errors import ConflictError, HomingError, UnavailableError
from homing_core.generation import (
    Done,
    Failed,
    FinishReason,
    GenerateRequest,
    Sampled,
    Sampling,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TokenLogprobs,
    TokenSignals,
    ToolCallEvent,
    ToolChoice,
    ToolNamed,
    Usage,
)
from homing_core.ids import new_generation_id
from homing_core.tools import Place

from homing_agent.conversation import content_hash
from homing_agent.events import Note
from homing_agent.journal.base import GenerationRecord
from homing_agent.routing.decisions import (
    Ask,
    AskFor,
    CallInstead,
    Decline,
    Escalate,
    Speak,
)
from homing_agent.routing.features import Point
from homing_agent.routing.grounding import ground
from homing_agent.trim import free_of, own_words, trim

if TYPE_CHECKING:
    from homing_core.generation import GenerationEvent
    from homing_core.ids import GenerationId
    from homing_core.messages import Message
    from homing_core.tools import ToolCall

    from homing_agent.ports import Remote
    from homing_agent.routing.decisions import Decision
    from homing_agent.state import RequestState

_SURE_CHARS = 16
"""Enough text to tell a sentence from a call that the parser could not read."""
_WISH = re.compile(r'\s*Call (?:["\u201c]|the |no |an? )')
"""How a small model that knows no better says that it would call a tool."""
_CALL = re.compile(r'\s*(?:```(?:json)?\s*)?(?:<tool_call>|<function=|\{\s*"name"\s*:)')


@dataclass(frozen=True, slots=True)
class ChosenCall:
    """A call to be put to the policy.

    Attributes:
        call: the call.
        doubt: why the model's choice is doubtful; empty if it is not.
    """

    call: ToolCall
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """What came of a turn.

    Attributes:
        text: what the model wrote, all of it shown.
        calls: what it wants to run, in order.
        moved: it was broken off, and the work has moved home.
        dropped: it was broken off: the model wrote a call that cannot be read or that it made up.
        again: it was broken off: the model began to use words, and shall try a call.
        declined: it was broken off, and nobody can go on.
        asked: it was broken off to ask the person for what a call lacks; that is the answer.
        error: the model or the way to it failed.
    """

    text: str = ""
    calls: tuple[ChosenCall, ...] = ()
    moved: bool = False
    dropped: bool = False
    again: bool = False
    declined: Decline | None = None
    asked: bool = False
    error: HomingError | None = None


async def take_turn(state: RequestState) -> Turn:
    """Let the model that is at work write once."""
    if state.remote is None:
        return await _PhoneTurn(state).run()
    return await _HomeTurn(state, state.remote).run()


class _Turn:
    """What turns have in common: calls and how they end."""

    def __init__(self, state: RequestState) -> None:
        self._state = state
        self._text: list[str] = []
        self._calls: list[ChosenCall] = []
        self._error: HomingError | None = None
        self._stop: Decision | None = None
        self._dropped = False
        self._again = False
        self._asked = False
        self._started = 0.0

    def _result(self) -> Turn:
        if isinstance(self._stop, Escalate):
            return Turn(moved=True)
        declined = self._stop if isinstance(self._stop, Decline) else None
        return Turn(
            text="".join(self._text),
            calls=tuple(self._calls),
            dropped=self._dropped,
            again=self._again,
            declined=declined,
            asked=self._asked,
            error=self._error,
        )

    def _prompt(self) -> tuple[tuple[Message, ...], bool]:
        """The conversation, and whether it ends with text of another model to go on with."""
        messages, begun = self._state.prompt(), self._state.begun
        if begun:
            self._text.append(begun)
            self._state.begun = ""
        return messages, bool(begun)

    def _begin(self, place: Place, node: str, request: GenerateRequest, digest: str) -> None:
        self._started = self._state.parts.clock.monotonic()
        record = GenerationRecord(request.id, self._state.asked.request_id, place, node, digest)
        self._state.parts.journal.begin_generation(record)

    async def _choose(self, event: ToolCallEvent) -> bool:
        """Decide on a call; whether the turn is over."""
        state = self._state
        self._state.saw_token()
        call, said = event.call, state.said()
        spec = next((one for one in state.tools if one.name == call.name), None)
        if spec is not None and state.parts.limits.trims:
            call = state.completed(trim(call, spec, said))
        try:
            spec = state.check(call)
        except HomingError:
            # It will fail where calls are run, which tells the model why.
            self._calls.append(ChosenCall(call))
            return False
        grounding = ground(call.arguments, free_of(spec), said, own_words(spec))
        facts = state.facts(spec, event.signals, grounding, call.arguments)
        decision = await state.settle(Point.CALL, call=facts)
        if isinstance(decision, Escalate | Decline):
            self._stop = decision
            return True
        if isinstance(decision, AskFor):
            state.announce()
            state.ask_for(spec, decision.parameters)
            self._asked = True
            return True
        if isinstance(decision, Speak):
            self._dropped = True
            return True
        doubt = decision.reason if isinstance(decision, Ask) else ""
        self._calls.append(ChosenCall(call, doubt))
        state.announce()
        return False

    def _end(self, reason: FinishReason) -> None:
        if reason is FinishReason.LENGTH:
            self._state.emit(Note("the answer was cut at its length limit"))
        elif reason is FinishReason.CANCELLED:
            self._error = UnavailableError("the answer was broken off")

    def _saw_usage(self, usage: Usage) -> None:
        self._state.saw_token(self._started + usage.prefill_ms / 1000)


class _PhoneTurn(_Turn):
    """Text is held back until it is decided that it may be seen."""

    def __init__(self, state: RequestState) -> None:
        super().__init__(state)
        self._held = ""
        self._open = False
        self._signals: TokenSignals | None = None

    async def run(self) -> Turn:
        parts = self._state.parts
        messages, self._open = self._prompt()
        request = GenerateRequest(
            id=new_generation_id(),
            messages=messages,
            tools=self._state.tools,
            thinking=Thinking.OFF,
            continue_last=self._open,
            sampling=Sampling(max_tokens=parts.limits.phone_tokens),
            deadline_ms=int(parts.limits.total_s * 1000),
            tool_choice=ToolChoice.REQUIRED if self._state.must_call else ToolChoice.AUTO,
            early_names=True,
        )
        digest = content_hash(request.messages, request.tools, request.thinking)
        self._begin(Place.PHONE, "", request, digest)
        try:
            async with aclosing(parts.engine.generate(request)) as events:
                async for event in events:
                    if await self._take(event):
                        break
        finally:
            parts.journal.end_generation(request.id)
        return self._result()

    async def _take(self, event: GenerationEvent) -> bool:
        """Handle an event; whether the turn is over."""
        match event:
            case TextDelta(text=text):
                return await self._more_text(text)
            case ThinkingDelta():
                self._state.emit(event)
            case TokenSignals():
                self._signals = event
                return await self._gate(at_end=False)
            case ToolNamed() | ToolCallEvent():
                return await self._call(event)
            case Usage():
                self._saw_usage(event)
            case Done() | Failed():
                await self._ended(event)
                return True
            case _:  # what was not asked for
                pass
        return False

    async def _ended(self, event: Done | Failed) -> None:
        if isinstance(event, Failed):
            self._error = event.to_error()
        elif not await self._gate(at_end=True):
            self._end(event.reason)

    async def _call(self, event: ToolNamed | ToolCallEvent) -> bool:
        if isinstance(event, ToolNamed):
            return await self._named(event)
        over = await self._choose(event)
        if not over:
            self._release()
        return over

    async def _named(self, event: ToolNamed) -> bool:
        """Decide on a call's name, before its arguments are written; whether the turn is over."""
        if self._calls:
            return False  # what begins with a call that stays is not broken off in the middle
        state = self._state
        spec = next((one for one in state.tools if one.name == event.name), None)
        if spec is None:
            return False
        state.saw_token()
        decision = await state.settle(Point.NAME, call=state.facts(spec, event.signals))
        if isinstance(decision, Escalate | Decline):
            self._stop = decision
            return True
        self._dropped = isinstance(decision, Speak)
        return self._dropped

    async def _more_text(self, text: str) -> bool:
        self._state.saw_token()
        if self._open:
            self._show(text)
            return False
        self._held += text
        return await self._gate(at_end=False)

    async def _gate(self, *, at_end: bool) -> bool:
        """Decide on the text held back, once enough of it is there; whether the turn is over."""
        if self._open or not self._held.strip() or self._calls:
            return False
        enough = self._signals is not None and len(self._held) >= _SURE_CHARS
        if not (at_end or enough or len(self._held) >= self._state.parts.limits.hold_chars):
            return False
        wish = bool(self._state.tools) and _WISH.match(self._held)
        broken = bool(wish or _CALL.match(self._held))
        decision = await self._state.settle(Point.TEXT, text=self._signals, broken_call=broken)
        if isinstance(decision, Escalate | Decline):
            self._stop = decision
            return True
        if isinstance(decision, Speak | CallInstead):
            self._dropped = isinstance(decision, Speak)
            self._again = not self._dropped
            return True
        self._state.announce()
        self._release()
        return False

    def _release(self) -> None:
        self._open = True
        if self._held:
            self._show(self._held)
            self._held = ""

    def _show(self, text: str) -> None:
        self._text.append(text)
        self._state.show(text)


class _HomeTurn(_Turn):
    """Everything is shown as it comes, but what begins like a call that cannot be read."""

    def __init__(self, state: RequestState, remote: Remote) -> None:
        super().__init__(state)
        self._remote = remote
        self._held = ""

    async def run(self) -> Turn:
        parts = self._state.parts
        thinking = Thinking.ON if self._state.asked.thinking else Thinking.OFF
        messages, continues = self._prompt()
        digest = content_hash(messages, self._state.tools, thinking)
        earlier = self._earlier(digest)
        request = GenerateRequest(
            id=earlier or new_generation_id(),
            messages=messages,
            tools=self._state.tools,
            thinking=thinking,
            continue_last=continues,
            sampling=Sampling(max_tokens=parts.limits.home_tokens),
            deadline_ms=int(parts.limits.total_s * 1000),
        )
        try:
            await self._read(request, digest)
        except ConflictError as error:
            if earlier is None:
                self._error = error
            else:
                await self._read_anew(request, digest)
        except HomingError as error:
            self._error = error
        return self._result()

    async def _read_anew(self, request: GenerateRequest, digest: str) -> None:
        """The node knows the id for something else: ask with a fresh one."""
        self._state.parts.journal.end_generation(request.id)
        try:
            await self._read(replace(request, id=new_generation_id()), digest)
        except HomingError as error:
            self._error = error

    def _earlier(self, digest: str) -> GenerationId | None:
        """A generation of the same request and content that a killed process left at this node."""
        for record in self._state.parts.journal.open_generations(self._state.asked.request_id):
            if record.node == self._remote.node and record.content_hash == digest:
                return record.id
        return None

    async def _read(self, request: GenerateRequest, digest: str) -> None:
        journal = self._state.parts.journal
        self._begin(self._remote.place, self._remote.node, request, digest)
        try:
            async with aclosing(self._remote.generate(request)) as events:
                async for numbered in events:
                    over = await self._take(numbered.event)
                    journal.saw(request.id, numbered.seq)
                    if over:
                        break
        finally:
            # Not reached when the process is killed: the next one attaches to the generation.
            journal.end_generation(request.id)

    async def _take(self, event: GenerationEvent) -> bool:
        match event:
            case TextDelta(text=text):
                self._more_text(text)
            case ThinkingDelta():
                self._state.emit(event)
            case ToolCallEvent():
                self._release()
                return await self._choose(event)
            case Usage() | TokenSignals() | ToolNamed() | TokenLogprobs() | Sampled():
                pass
            case Done(reason=reason):
                self._dropped = bool(_CALL.match(self._held)) and not self._calls
                if not self._dropped:
                    self._release()
                    self._end(reason)
                return True
            case Failed():
                self._error = event.to_error()
                return True
        return False

    def _more_text(self, text: str) -> None:
        """Show it, unless all of it so far may be a call that the parser could not read."""
        self._state.saw_token()
        self._held += text
        fresh = self._state.tools and not self._text
        if not (fresh and (len(self._held) < _SURE_CHARS or _CALL.match(self._held))):
            self._release()

    def _release(self) -> None:
        if self._held:
            self._text.append(self._held)
            self._state.show(self._held)
            self._held = ""
