"""One request from its question to its end."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from homing_core.errors import (
    HomingError,
    InternalError,
    InvalidDataError,
    OverloadedError,
    TooLongError,
    UnavailableError,
)

from homing_agent.calls import CallOutcome, CallRunner, Circumstances, Ending
from homing_agent.conversation import assistant_turn, tool_turn
from homing_agent.gathering import gathered, side_by_side
from homing_agent.prompts import AFTER_TOOL
from homing_agent.routing.decisions import Decline
from homing_agent.routing.features import Point
from homing_agent.runtime.logs import get_logger
from homing_agent.state import RequestState
from homing_agent.turns import ChosenCall, Turn, take_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from homing_core.ids import ConversationId
    from homing_core.tools import ToolSpec

    from homing_agent.events import AgentEvent
    from homing_agent.parts import Parts
    from homing_agent.ports import Consent, ConsentAnswer, ConsentQuestion
    from homing_agent.request import AskInput, FinalAnswer
    from homing_agent.routing.leaning import PhonePrefix

_log = get_logger("agent")

_GOES_ON = frozenset({Ending.DONE, Ending.FAILED})
_SILENT = frozenset({"", AFTER_TOOL})
_PICKED_UP = "picked up after an interruption"


class Session:
    """Works on one request, in one task.

    Args:
        parts: the agent's collaborators.
        asked: the request.
        conversation_id: its conversation.
        prefix: what is known of the phone's system-and-tools prefix.
        tools: the phone's, of which its model may call any.
        consent: the way to the person.
        emit: shows an event.
    """

    def __init__(  # noqa: PLR0913  # each is a different collaborator or fact
        self,
        parts: Parts,
        asked: AskInput,
        conversation_id: ConversationId,
        *,
        prefix: PhonePrefix,
        tools: tuple[ToolSpec, ...],
        consent: Consent,
        emit: Callable[[AgentEvent], None],
    ) -> None:
        """Keep them."""
        self._parts = parts
        self._asked = asked
        self._state = RequestState(parts, asked, conversation_id, prefix, tools, emit)
        self._clock = _RequestClock()
        self._words = ""
        person = _PausingConsent(consent, self._clock)
        self._runner = CallRunner(parts, asked, conversation_id, person, emit, self._clock.paused)

    async def run(self) -> FinalAnswer:
        """Work on it to its end, and record that.

        Raises:
            HomingError: the end could not be recorded.
        """
        answer = await self._limited()
        self._parts.journal.finish_request(answer.request_id, answer, self._state.record(answer))
        return answer

    async def _limited(self) -> FinalAnswer:
        limits = self._parts.limits
        try:
            async with asyncio.timeout(limits.total_s) as deadline:
                self._clock.deadline = deadline
                return await self._work()
        except TimeoutError:
            msg = f"there was no answer within {limits.total_s:g} s"
            return self._ended_by(UnavailableError(msg, "Try again, or ask for less."))
        except HomingError as error:
            return self._ended_by(error)
        except Exception:  # noqa: BLE001  # a bug of ours must not leave the person without an end
            _log.exception("a request failed unexpectedly")
            msg = "something went wrong in Homing itself"
            return self._ended_by(InternalError(msg, "The log says more."))

    async def _work(self) -> FinalAnswer:
        resumed = await self._resume()
        if self._state.remote is None and resumed and all(outcome.say for outcome in resumed):
            self._state.show_apart("\n".join(outcome.say for outcome in resumed))
            return self._state.answered(self._runner.steps)
        if self._state.remote is None:
            decision = await self._state.settle(Point.START)
            if isinstance(decision, Decline):
                return self._state.declined(decision, self._runner.steps)
        for _ in range(self._parts.limits.turns):
            answer = await self._one_turn()
            if answer is not None:
                return answer
        msg = f"there was no answer after {self._parts.limits.turns} turns of the model"
        return self._ended_by(OverloadedError(msg, "Ask for less at once."))

    async def _resume(self) -> tuple[CallOutcome, ...]:
        """Take up the jobs that an earlier process of this request began, and what it had done.

        Their results are waited for and put into the context, so that no model is asked for those
        calls again: it might say something else.
        """
        request, jobs = self._asked.request_id, self._parts.jobs
        effects = self._parts.journal.effects(request)
        begun = {} if jobs is None else {job.asked.call.id: job for job in jobs.of_request(request)}
        if not any(effect.call.id in begun for effect in effects):
            return ()
        there = await self._state.go_home(_PICKED_UP)
        outcomes: list[CallOutcome] = []
        for effect in effects:
            context = self._state.messages
            outcome = await self._runner.resume(effect, begun.get(effect.call.id))
            if outcome is None or outcome.step.result is None:
                continue
            outcomes.append(outcome)
            turns = (assistant_turn("", [effect.call], context), tool_turn([outcome.step.result]))
            self._state.add(turns, settled=True)
        if not there:
            await self._state.go_home(_PICKED_UP)
        return tuple(outcomes)

    async def _one_turn(self) -> FinalAnswer | None:
        turn = await take_turn(self._state)
        self._state.must_call = turn.again
        if turn.moved:
            return None
        if turn.declined is not None:
            return self._state.declined(turn.declined, self._runner.steps)
        if turn.again:
            return None
        if turn.dropped and self._state.tools:
            self._state.tools = ()  # it may have had something to say all the same
            return None
        return await self._taken(turn)

    async def _taken(self, turn: Turn) -> FinalAnswer | None:
        """Go on from a turn that came to its own end."""
        if turn.asked:
            return self._state.answered(self._runner.steps)
        if turn.dropped:
            turn = Turn(error=InvalidDataError("the model said nothing", "Say it in other words."))
        if turn.error is None and not turn.calls:
            if turn.text.strip() in _SILENT and self._words:
                self._state.show_apart(self._words)  # a model that did it and has nothing to add
            if self._state.shown.strip() not in _SILENT:
                return self._state.answered(self._runner.steps)
            turn = Turn(error=InvalidDataError("the model said nothing", "Say it in other words."))
        if turn.error is not None:
            return await self._model_failed(turn, turn.error)
        return await self._run_calls(turn)

    async def _model_failed(self, turn: Turn, error: HomingError) -> FinalAnswer | None:
        """Go on elsewhere, if there is somewhere to go on, from the text that has arrived."""
        nothing_came = not turn.text and not turn.calls
        too_long = nothing_came and isinstance(error, TooLongError)
        if too_long and (self._state.leave_out_home_tools() or self._state.shorten_history()):
            return None
        if nothing_came and await self._state.try_another(error):
            return None
        if self._state.remote is not None:
            self._state.lose_home(error, turn.text if not turn.calls else "")
            point = Point.START
        else:
            self._state.fail(f"the phone's model failed: {error.what}", error, engine=True)
            point = Point.FAILURE
        decision = await self._state.settle(point)
        if isinstance(decision, Decline):
            return self._state.declined(decision, self._runner.steps)
        return None

    async def _run_calls(self, turn: Turn) -> FinalAnswer | None:
        """Run a turn's calls; the end of the request, or None if the model goes on."""
        context = self._state.prompt()
        untrusted = self._state.untrusted()
        outcomes: list[CallOutcome] = []
        for some in side_by_side(turn.calls[: self._parts.limits.calls], self._state.tools):
            outcomes += await self._run_some(some, untrusted=untrusted)
            if any(one.repeated or one.ending not in _GOES_ON for one in outcomes):
                break
        calls = [outcome.step.call for outcome in outcomes]
        results = [o.step.result for o in outcomes if o.step.result is not None]
        self._state.add(
            (assistant_turn(turn.text, calls, context), tool_turn(results)),
            settled=any(outcome.ending is Ending.DONE for outcome in outcomes),
        )
        ends = next((one for one in outcomes if one.ending not in _GOES_ON), None)
        if ends is not None:
            return self._ended_by(ends.error or InvalidDataError(ends.say))
        failures = [outcome for outcome in outcomes if outcome.ending is Ending.FAILED]
        if failures:
            return await self._calls_failed(failures[-1])
        words = [outcome.say for outcome in outcomes]
        self._words = "\n".join(words) if all(words) else ""
        if all(outcome.repeated for outcome in outcomes):
            return self._went_in_circles()
        if self._state.remote is None and self._parts.limits.say_ends and self._words:
            self._state.show_apart(self._words)
            return self._state.answered(self._runner.steps)
        return None

    async def _run_some(self, some: Sequence[ChosenCall], *, untrusted: bool) -> list[CallOutcome]:
        """Run calls side by side; their outcomes in the order of the calls."""
        numbered = [(chosen, self._runner.next_number()) for chosen in some]
        return await gathered(
            self._runner.run(
                chosen.call,
                Circumstances(
                    doubt=chosen.doubt,
                    untrusted=untrusted,
                    at=self._state.at_node(chosen.call.name),
                ),
                number,
            )
            for chosen, number in numbered
        )

    def _went_in_circles(self) -> FinalAnswer | None:
        """The model asks for nothing but what is done: that is the end, or it shall use words."""
        if self._words:
            self._state.show_apart(self._words)
            return self._state.answered(self._runner.steps)
        self._state.tools = ()
        return None

    async def _calls_failed(self, outcome: CallOutcome) -> FinalAnswer | None:
        """Let the model try again, once; then it is home's turn."""
        if self._state.remote is not None:
            return None
        error = outcome.error
        what = error.what if error is not None else f"{outcome.step.call.name} failed"
        self._state.fail(what, error)
        decision = await self._state.settle(Point.FAILURE)
        if isinstance(decision, Decline):
            return self._state.declined(decision, self._runner.steps)
        return None

    def _ended_by(self, error: HomingError) -> FinalAnswer:
        return self._state.ended_by(error, self._runner.steps)


class _RequestClock:
    """The time that a request may take. A person's time does not count, nor does a job's."""

    def __init__(self) -> None:
        self.deadline: asyncio.Timeout | None = None
        self._pauses = 0
        self._left = 0.0

    @contextlib.contextmanager
    def paused(self) -> Generator[None]:
        """Stop it for the length of a block; of several, until the last of them ends."""
        deadline = self.deadline
        due = None if deadline is None else deadline.when()
        if deadline is None or (due is None and not self._pauses):
            yield
            return
        loop = asyncio.get_running_loop()
        if due is not None:
            self._left = due - loop.time()
            deadline.reschedule(None)
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses and not deadline.expired():
                deadline.reschedule(loop.time() + self._left)


class _PausingConsent:
    """The person's time does not count against the request's."""

    def __init__(self, consent: Consent, clock: _RequestClock) -> None:
        self._consent = consent
        self._clock = clock
        self._one = asyncio.Lock()

    async def ask(self, question: ConsentQuestion) -> ConsentAnswer:
        with self._clock.paused():
            async with self._one:  # one question at a time, even if several calls wait
                return await self._consent.ask(question)
