"""Requests in flight: who works on them, who watches, and what a person is being asked.

A request belongs to the resident process, not to the terminal that asked: a terminal that goes away
stops nothing, and asking again with the same request id attaches to what runs. Only an explicit
cancel ends it. A question to a person whom nobody can reach any more counts as a no.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Protocol, TypeAlias

from homing_agent.events import AgentEvent, FinalAnswer
from homing_agent.ports import ConsentAnswer, ConsentQuestion
from homing_agent.runtime.logs import get_logger
from homing_core.approvals import Verdict
from homing_core.errors import (
    ConflictError,
    HomingError,
    InternalError,
    OverloadedError,
    UnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from homing_agent.ports import Consent
    from homing_agent.request import AskInput
    from homing_core.ids import ApprovalId, RequestId

_log = get_logger(__name__)

MAX_REQUESTS = 32
"""Requests in flight at once."""

Shown: TypeAlias = AgentEvent | ConsentQuestion


class Asks(Protocol):
    """The agent, as far as a session needs it."""

    def ask(self, asked: AskInput, consent: Consent) -> AsyncGenerator[AgentEvent, None]:
        """One request, its events ending with a `FinalAnswer`; raises `HomingError`."""
        ...


class Session:
    """One request. Implements `Consent` towards the agent."""

    def __init__(self, request: AskInput) -> None:
        """Nothing has happened yet."""
        self.request = request
        self._shown: list[Shown] = []
        self._news = asyncio.Event()
        self._failure: HomingError | None = None
        self._over = False
        self._persons = 0
        self._asked: dict[ApprovalId, asyncio.Future[ConsentAnswer]] = {}
        self.task: asyncio.Task[None] | None = None
        self.stopped_by: HomingError | None = None

    async def ask(self, question: ConsentQuestion) -> ConsentAnswer:
        """Show the question to whoever can answer, and wait for the answer."""
        if not self._persons:
            return ConsentAnswer(question.approval_id, Verdict.DENY)
        answer: asyncio.Future[ConsentAnswer] = asyncio.get_running_loop().create_future()
        self._asked[question.approval_id] = answer
        self._show(question)
        try:
            return await answer
        finally:
            self._asked.pop(question.approval_id, None)

    def answer(self, answer: ConsentAnswer) -> None:
        """What a person said; an answer to a question that is not open changes nothing."""
        waiting = self._asked.get(answer.approval_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    async def watch(self, *, person: bool = True) -> AsyncGenerator[Shown, None]:
        """Everything so far and whatever comes, to the end; raises the request's `HomingError`.

        Questions that are not open any more are left out.

        Args:
            person: whether somebody watches who can be asked. When the last of them leaves, open
                questions are answered with no.
        """
        self._persons += person
        seen = 0
        try:
            while True:
                news = self._news
                while seen < len(self._shown):
                    seen += 1
                    event = self._shown[seen - 1]
                    if not self._is_past(event):
                        yield event
                if self._over:
                    if self._failure is not None:
                        raise self._failure
                    return
                await news.wait()
        finally:
            self._persons -= person
            if not self._persons:
                for approval, waiting in list(self._asked.items()):
                    if not waiting.done():
                        waiting.set_result(ConsentAnswer(approval, Verdict.DENY))

    async def run(self, agent: Asks) -> None:
        """Do the work; the outcome goes to whoever watches."""
        try:
            async with contextlib.aclosing(agent.ask(self.request, self)) as events:
                async for event in events:
                    self._show(event)
        except HomingError as error:
            self._failure = error
        except Exception as error:  # noqa: BLE001  # logged; the person gets a neutral line
            _log.error("request.failed", exc_info=error)
            self._failure = InternalError(
                "something went wrong inside Homing", "The details are in the log."
            )

    def end(self) -> None:
        """The work is over, however it ended, even before it began."""
        if not (self._failure or (self._shown and isinstance(self._shown[-1], FinalAnswer))):
            self._failure = self.stopped_by or InternalError(
                "the request ended without an answer", "Ask again."
            )
        self._over = True
        self._wake()

    def _is_past(self, event: Shown) -> bool:
        if not isinstance(event, ConsentQuestion):
            return False
        waiting = self._asked.get(event.approval_id)
        return waiting is None or waiting.done()

    def _show(self, event: Shown) -> None:
        self._shown.append(event)
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


class Sessions:
    """All requests in flight.

    Args:
        agent: does the work.
        touched: called whenever somebody uses the process.
        end_jobs: ends the jobs that a request has begun; must return at once.
    """

    def __init__(
        self,
        agent: Asks,
        touched: Callable[[], None],
        end_jobs: Callable[[RequestId], None] | None = None,
    ) -> None:
        """Nothing runs yet."""
        self._end_jobs = end_jobs
        self._agent = agent
        self._touched = touched
        self._closed = False
        self._sessions: dict[RequestId, Session] = {}

    @property
    def running(self) -> int:
        """How many requests are being worked on."""
        return len(self._sessions)

    def open(self, request: AskInput) -> Session:
        """Start a request, or attach to the one with this id.

        Raises:
            ConflictError: the id belongs to another question.
            OverloadedError: too many run.
            UnavailableError: the process is leaving.
        """
        self._touched()
        session = self._sessions.get(request.request_id)
        if session is not None:
            if session.request.content_hash != request.content_hash:
                msg = "this request id belongs to another question"
                raise ConflictError(msg, "Choose a new id for a new question.")
            return session
        if self._closed:
            raise _leaving()
        if len(self._sessions) >= MAX_REQUESTS:
            msg = f"{MAX_REQUESTS} requests are running already"
            raise OverloadedError(msg, "Wait for one to end.", retry_after_ms=1000)
        session = Session(request)
        self._sessions[request.request_id] = session
        session.task = asyncio.create_task(session.run(self._agent))
        session.task.add_done_callback(lambda _: self._end(session))
        return session

    def cancel(self, session: Session) -> None:
        """End a request because the person said so, and the jobs that it has begun.

        Whoever only leaves stops watching: then all of it goes on.
        """
        if self._end_jobs is not None:
            self._end_jobs(session.request.request_id)
        self._stop(session, ConflictError("the request was cancelled", "Ask again."))

    async def close(self) -> None:
        """End everything, because the process leaves."""
        self._closed = True
        sessions = tuple(self._sessions.values())
        for session in sessions:
            self._stop(session, _leaving())
        await asyncio.gather(*(s.task for s in sessions if s.task), return_exceptions=True)

    def _stop(self, session: Session, why: HomingError) -> None:
        if session.task is not None and not session.task.done():
            session.stopped_by = session.stopped_by or why
            session.task.cancel()

    def _end(self, session: Session) -> None:
        del self._sessions[session.request.request_id]
        session.end()
        self._touched()


def _leaving() -> UnavailableError:
    return UnavailableError("the resident process was stopped", "Ask again.")
