"""One request from a terminal: streams, asks the person, handles Ctrl-C and a killed process."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from homing_agent.events import FinalAnswer, ToolFinished, ToolProgress, ToolStarted
from homing_agent.ports import ConsentQuestion
from homing_core.errors import HomingError, InternalError
from homing_core.jobs import JobState
from homing_core.tools import Place

from homing_client.attach import attached, until_gone
from homing_client.cli.console import aside
from homing_client.cli.question_desk import QuestionDesk
from homing_client.cli.silence import or_silence
from homing_client.cli.waiting import wait_until_ready
from homing_client.rpc.phone_calls import ResidentGoneError
from homing_client.rpc.phone_jobs_calls import PhoneJobsCalls

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    from homing_agent.request import AskInput
    from homing_core.ids import ApprovalId, ToolCallId

    from homing_client.cli.options import Setup
    from homing_client.cli.report import Reporter
    from homing_client.rpc.phone_calls import AskStream, PhoneCalls
    from homing_client.sessions import Shown

_SILENCE_S = 3.0
"""After so long without anything to show, a person is shown that the request goes on."""
_TICK_S = 0.5
_TRIES = 3
"""Times that a request is asked when the resident process is killed under it."""


async def run_request(
    setup: Setup, request: AskInput, reporter: Reporter, *, quiet: bool
) -> FinalAnswer:
    """One request to its end. Asking again under the same id is harmless, so it is done here.

    Args:
        setup: how to reach the resident process.
        request: what to ask.
        reporter: shows what happens.
        quiet: whether to show nothing while the model is brought up.

    Raises:
        KeyboardInterrupt: the person pressed Ctrl-C, and the request was ended; or, while a job of
            it runs on a node, was left to go on.
        HomingError: it failed before there was an answer.
    """
    pid = 0
    for left in reversed(range(_TRIES)):
        try:
            async with attached(setup, tell=_nothing if quiet else aside) as phone:
                status = await wait_until_ready(phone, setup, request.route, quiet=quiet)
                pid = status.pid
                # Should it be killed now, its heir is to have the same model.
                setup = replace(
                    setup,
                    stand_in=status.stand_in_allowed,
                    model=status.wanted_model or setup.model,
                )
                return await _ask(phone, request, reporter)
        except ResidentGoneError:
            if not left:
                raise
            await until_gone(setup.paths, pid)
            reporter.start_over()
    msg = "the request ended without an answer"
    raise InternalError(msg, "Ask again.")


def _nothing(_: str) -> None:
    """Nobody watches."""


async def _ask(phone: PhoneCalls, request: AskInput, reporter: Reporter) -> FinalAnswer:
    stream = phone.ask(request)
    desk, jobs = QuestionDesk(stream.answer, PhoneJobsCalls(phone.channel)), _Jobs()
    with _on_interrupt(stream, jobs) as pressed:
        try:
            lively = with_sign_of_life(
                stream, reporter, lambda: not jobs.running and not desk.is_open
            )
            async with contextlib.aclosing(lively) as events:
                async for event in events:
                    jobs.see(event)
                    asked = _asked_by_job(event) if request.interactive else None
                    if asked is not None:
                        reporter.pause()
                        await desk.open_job(asked)
                        continue
                    await desk.close()  # behind all else the last question is not open any more
                    reporter.show(event)
                    if isinstance(event, ConsentQuestion) and request.interactive:
                        desk.open(event)
                    if isinstance(event, FinalAnswer):
                        return event
        except HomingError as error:
            if not pressed.cancelled:
                raise
            reporter.interrupted()
            raise KeyboardInterrupt from error
        except asyncio.CancelledError:
            if not pressed.left:
                raise
            reporter.left(jobs.newest, request)
            raise KeyboardInterrupt from None
        finally:
            await desk.close()
    msg = "the request ended without an answer"
    raise InternalError(msg, "Ask again.")


async def with_sign_of_life(
    stream: AskStream, reporter: Reporter, quiet: Callable[[], bool]
) -> AsyncGenerator[Shown, None]:
    """Its events; while none comes, and nothing else is shown, a person sees that it goes on."""
    silent_s = 0.0
    async with contextlib.aclosing(or_silence(stream.events(), _TICK_S)) as events:
        async for event in events:
            silent_s = 0.0 if event is not None else silent_s + _TICK_S
            if event is not None:
                yield event
            elif silent_s >= _SILENCE_S and quiet():
                reporter.silent(silent_s)


def _asked_by_job(event: Shown) -> ApprovalId | None:
    """The question that a job waits with, if this event says so."""
    if isinstance(event, ToolProgress) and event.event.state is JobState.WAITING_APPROVAL:
        return event.event.approval_id
    return None


class _Jobs:
    """Calls at nodes that are under way for the request, each with the newest that is known."""

    def __init__(self) -> None:
        self._running: dict[ToolCallId, ToolProgress | None] = {}

    def see(self, event: Shown) -> None:
        match event:
            case ToolStarted(step) if step.place is not Place.PHONE:
                self._running.setdefault(step.call.id, None)
            case ToolProgress(call_id):
                self._running[call_id] = event
            case ToolFinished(step):
                self._running.pop(step.call.id, None)
            case _:
                pass

    @property
    def running(self) -> bool:
        """Whether there is any: it is left to go on when the person leaves."""
        return bool(self._running)

    @property
    def newest(self) -> ToolProgress | None:
        """What is known of the one that was begun last; None if nothing is."""
        return next(reversed(self._running.values()), None)


@dataclass
class _Pressed:
    """What Ctrl-C has done.

    Attributes:
        cancelled: whether the request was ended.
        left: whether it was left to go on.
    """

    cancelled: bool = False
    left: bool = False


@contextlib.contextmanager
def _on_interrupt(stream: AskStream, jobs: _Jobs) -> Generator[_Pressed]:
    """The first Ctrl-C leaves a job that runs, and ends any other request at the resident process.

    The second leaves at once, whatever goes on.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    pressed = _Pressed()

    def interrupt() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        if jobs.running and task is not None:
            pressed.left = True
            task.cancel()
        else:
            pressed.cancelled = True
            stream.cancel()

    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        yield pressed
    finally:
        loop.remove_signal_handler(signal.SIGINT)
