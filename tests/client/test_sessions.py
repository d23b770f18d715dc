"""A request belongs to the resident process, not to the terminal that asked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from homing_agent.events import AgentEvent, FinalAnswer, Note
from homing_agent.ports import Consent, ConsentAnswer, ConsentQuestion
from homing_agent.request import AskInput
from homing_agent.testing import fake_spec
from homing_client.sessions import MAX_REQUESTS, Session, Sessions, Shown
from homing_core.approvals import Verdict
from homing_core.errors import (
    ConflictError,
    InternalError,
    OverloadedError,
    TooLongError,
    UnavailableError,
)
from homing_core.generation import TextDelta
from homing_core.ids import (
    new_approval_id,
    new_conversation_id,
    new_request_id,
    new_tool_call_id,
)
from homing_core.tools import Place, ToolCall
from support.node_rig import within

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator


def final(asked: AskInput, text: str = "done") -> FinalAnswer:
    return FinalAnswer(
        request_id=asked.request_id,
        conversation_id=new_conversation_id(),
        place=Place.PHONE,
        node="",
        reason="",
        confidence=1.0,
        model="m",
        stand_in=False,
        ttft_ms=1.0,
        total_ms=2.0,
        text=text,
    )


class HeldAgent:
    """Works on requests as a test lets it: whatever is put into `steps` happens next."""

    def __init__(self) -> None:
        self.steps: asyncio.Queue[AgentEvent | ConsentQuestion | Exception | None] = asyncio.Queue()
        self.asked: list[AskInput] = []
        self.said: list[ConsentAnswer] = []
        self.ended = asyncio.Event()

    async def ask(self, asked: AskInput, consent: Consent) -> AsyncGenerator[AgentEvent, None]:
        self.asked.append(asked)
        try:
            while (step := await self.steps.get()) is not None:
                if isinstance(step, Exception):
                    raise step
                if isinstance(step, ConsentQuestion):
                    self.said.append(await consent.ask(step))
                    continue
                yield step
                if isinstance(step, FinalAnswer):
                    return
        finally:
            self.ended.set()

    def do(self, *steps: AgentEvent | ConsentQuestion | Exception | None) -> None:
        for step in steps:
            self.steps.put_nowait(step)


@pytest.fixture
def agent() -> HeldAgent:
    return HeldAgent()


@pytest.fixture
async def sessions(agent: HeldAgent) -> AsyncIterator[Sessions]:
    made = Sessions(agent, lambda: None)
    yield made
    await within(made.close())


class Terminal:
    """Somebody who watches a request."""

    def __init__(self, session: Session, *, person: bool = True) -> None:
        self._events = session.watch(person=person)

    async def next(self) -> Shown:
        return await within(anext(self._events))

    async def rest(self) -> list[Shown]:
        async def read() -> list[Shown]:
            return [event async for event in self._events]

        return await within(read())

    async def leave(self) -> None:
        await within(self._events.aclose())


HERE = Note("here")


async def joined(agent: HeldAgent, *terminals: Terminal) -> None:
    """Let them all watch before anything else happens."""
    agent.do(HERE)
    for terminal in terminals:
        assert await terminal.next() == HERE


def question() -> ConsentQuestion:
    spec = fake_spec()
    return ConsentQuestion(
        approval_id=new_approval_id(),
        request_id=new_request_id(),
        step=1,
        tool=spec,
        call=ToolCall(new_tool_call_id(), spec.name, {"text": "hi"}),
        reason="it writes",
        preview="",
        may_remember=False,
        expires_at=0,
    )


def asking(text: str = "hello") -> AskInput:
    return AskInput(new_request_id(), text, interactive=True)


async def test_a_terminal_that_goes_away_stops_nothing(
    agent: HeldAgent, sessions: Sessions
) -> None:
    asked = asking()
    session = sessions.open(asked)
    first = Terminal(session)
    agent.do(TextDelta("one"))
    assert await first.next() == TextDelta("one")
    await first.leave()
    second = Terminal(sessions.open(asked))
    agent.do(TextDelta("two"), end := final(asked))
    assert await second.rest() == [TextDelta("one"), TextDelta("two"), end]
    assert len(agent.asked) == 1


async def test_asking_again_attaches_and_tells_it_from_the_start(
    agent: HeldAgent, sessions: Sessions
) -> None:
    asked = asking()
    one = Terminal(sessions.open(asked))
    agent.do(TextDelta("a"), Note("b"))
    assert [await one.next(), await one.next()] == [TextDelta("a"), Note("b")]
    two = Terminal(sessions.open(asked))
    assert [await two.next(), await two.next()] == [TextDelta("a"), Note("b")]
    agent.do(end := final(asked))
    assert await one.rest() == [end]
    assert await two.rest() == [end]
    assert sessions.running == 0


async def test_an_id_names_one_question(agent: HeldAgent, sessions: Sessions) -> None:
    asked = asking("what time is it?")
    sessions.open(asked)
    with pytest.raises(ConflictError, match="another question"):
        sessions.open(AskInput(asked.request_id, "delete everything"))
    assert sessions.running == 1
    assert len(agent.asked) <= 1


async def test_a_cancelled_request_ends_and_says_so(agent: HeldAgent, sessions: Sessions) -> None:
    session = sessions.open(asking())
    terminal = Terminal(session)
    agent.do(TextDelta("so far"))
    assert await terminal.next() == TextDelta("so far")
    sessions.cancel(session)
    with pytest.raises(ConflictError, match="cancelled"):
        await terminal.next()
    await within(agent.ended.wait())
    assert sessions.running == 0
    sessions.cancel(session)  # harmless


async def test_a_request_that_is_cancelled_before_it_began_ends_too(sessions: Sessions) -> None:
    session = sessions.open(asking())
    sessions.cancel(session)  # its task has not made a single step
    with pytest.raises(ConflictError, match="cancelled"):
        await Terminal(session).next()


async def test_an_answer_comes_from_whoever_watches(agent: HeldAgent, sessions: Sessions) -> None:
    asked = asking()
    session = sessions.open(asked)
    one, two = Terminal(session), Terminal(session)
    await joined(agent, one, two)
    agent.do(open_question := question(), end := final(asked))
    assert await one.next() == open_question
    assert await two.next() == open_question
    session.answer(ConsentAnswer(open_question.approval_id, Verdict.ALLOW))
    session.answer(ConsentAnswer(open_question.approval_id, Verdict.DENY))  # too late
    assert await one.rest() == [end]
    assert await two.rest() == [end]
    assert agent.said == [ConsentAnswer(open_question.approval_id, Verdict.ALLOW)]


async def test_an_answer_to_another_question_settles_nothing(
    agent: HeldAgent, sessions: Sessions
) -> None:
    asked = asking()
    session = sessions.open(asked)
    terminal = Terminal(session)
    await joined(agent, terminal)
    agent.do(open_question := question())
    assert await terminal.next() == open_question
    session.answer(ConsentAnswer(new_approval_id(), Verdict.ALLOW))
    session.answer(ConsentAnswer(open_question.approval_id, Verdict.DENY))
    agent.do(final(asked))
    await terminal.rest()
    assert [said.verdict for said in agent.said] == [Verdict.DENY]


async def test_a_question_that_was_answered_is_not_asked_again(
    agent: HeldAgent, sessions: Sessions
) -> None:
    asked = asking()
    session = sessions.open(asked)
    one = Terminal(session)
    await joined(agent, one)
    agent.do(open_question := question(), TextDelta("after"))
    assert await one.next() == open_question
    session.answer(ConsentAnswer(open_question.approval_id, Verdict.ALLOW))
    assert await one.next() == TextDelta("after")
    late = Terminal(session)
    assert [await late.next(), await late.next()] == [HERE, TextDelta("after")]


async def test_where_nobody_watches_the_answer_is_no(agent: HeldAgent, sessions: Sessions) -> None:
    asked = asking()
    sessions.open(asked)
    agent.do(open_question := question(), None)
    await within(agent.ended.wait())
    assert agent.said == [ConsentAnswer(open_question.approval_id, Verdict.DENY)]


async def test_when_the_last_person_leaves_the_answer_is_no(
    agent: HeldAgent, sessions: Sessions
) -> None:
    session = sessions.open(asking())
    person, script = Terminal(session), Terminal(session, person=False)
    await joined(agent, person, script)
    agent.do(open_question := question())
    assert await person.next() == open_question
    assert await script.next() == open_question
    await person.leave()  # the script that still watches cannot be asked
    agent.do(None)
    await within(agent.ended.wait())
    assert agent.said == [ConsentAnswer(open_question.approval_id, Verdict.DENY)]


async def test_too_many_requests_are_refused_for_the_moment(
    agent: HeldAgent, sessions: Sessions
) -> None:
    asked = [asking(str(number)) for number in range(MAX_REQUESTS)]
    for one in asked:
        sessions.open(one)
    with pytest.raises(OverloadedError) as refused:
        sessions.open(asking("one more"))
    assert refused.value.retry_after_ms > 0
    sessions.open(asked[0])  # attaching is no new request
    terminal = Terminal(sessions.open(asked[0]))
    agent.do(final(asked[0]))
    await terminal.rest()
    sessions.open(asking("one more"))
    assert sessions.running == MAX_REQUESTS


async def test_what_the_agent_says_reaches_the_person(agent: HeldAgent, sessions: Sessions) -> None:
    terminal = Terminal(sessions.open(asking()))
    agent.do(TooLongError("it is too long", "Shorten it."))
    with pytest.raises(TooLongError, match="Shorten it"):
        await terminal.next()


async def test_a_bug_is_told_neutrally(agent: HeldAgent, sessions: Sessions) -> None:
    terminal = Terminal(sessions.open(asking()))
    agent.do(ValueError("the prompt was: my bank balance"))
    with pytest.raises(InternalError) as told:
        await terminal.next()
    assert "bank" not in str(told.value)
    assert "log" in told.value.hint


async def test_an_agent_that_forgets_its_answer_is_a_bug(
    agent: HeldAgent, sessions: Sessions
) -> None:
    terminal = Terminal(sessions.open(asking()))
    agent.do(TextDelta("half"), None)
    assert await terminal.next() == TextDelta("half")
    with pytest.raises(InternalError, match="without an answer"):
        await terminal.next()


async def test_leaving_ends_every_request_with_a_reason(agent: HeldAgent) -> None:
    sessions = Sessions(agent, lambda: None)
    terminals = [Terminal(sessions.open(asking())) for _ in range(3)]
    await within(sessions.close())
    for terminal in terminals:
        with pytest.raises(UnavailableError, match="stopped"):
            await terminal.next()
    with pytest.raises(UnavailableError):
        sessions.open(asking())


async def test_using_the_process_is_noticed(agent: HeldAgent) -> None:
    touched: list[int] = []
    sessions = Sessions(agent, lambda: touched.append(1))
    asked = asking()
    terminal = Terminal(sessions.open(asked))
    assert len(touched) == 1
    agent.do(final(asked))
    await terminal.rest()
    assert len(touched) == 2  # an answer that took long counts from its end
