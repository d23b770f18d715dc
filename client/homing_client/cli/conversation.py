"""One request from a terminal: waits for the model, streams, asks the person, handles Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from typing import TYPE_CHECKING

from homing_agent.events import FinalAnswer
from homing_agent.ports import ConsentAnswer, ConsentQuestion
from homing_agent.request import RoutePreference
from homing_core.approvals import Verdict
from homing_core.errors import InternalError, UsageError

from homing_client.cli.console import err, printable

if TYPE_CHECKING:
    from collections.abc import Generator

    from homing_agent.request import AskInput

    from homing_client.cli.report import Reporter
    from homing_client.rpc.phone_calls import AskStream, PhoneCalls, ResidentStatus

_LOOK_S = 0.2
"""How often the progress line is renewed while the model is fetched and loaded."""


async def wait_until_ready(phone: PhoneCalls, route: RoutePreference, *, quiet: bool) -> None:
    """Wait for the phone's own model, showing what is being done; home needs no waiting.

    Raises:
        HomingError: the model cannot be had, and the phone was asked for.
    """
    status = await phone.status()
    if route is RoutePreference.HOME or status.ready:
        return
    spinner = err.status("") if not quiet and err.is_terminal else None
    with spinner or contextlib.nullcontext():
        while not status.ready and status.error is None:
            if spinner is not None:
                spinner.update(f"[dim]{printable(status.activity)}[/dim]")
            await asyncio.sleep(_LOOK_S)
            status = await phone.status()
    if status.error is not None and route is RoutePreference.PHONE:
        raise status.error


async def run_request(phone: PhoneCalls, request: AskInput, reporter: Reporter) -> FinalAnswer:
    """One request to its end.

    Raises:
        HomingError: it failed before there was an answer.
    """
    stream = phone.ask(request)
    with _cancel_on_interrupt(stream):
        async with contextlib.aclosing(stream.events()) as events:
            async for event in events:
                reporter.show(event)
                if isinstance(event, ConsentQuestion):
                    stream.answer(await _ask_person(event, interactive=request.interactive))
                if isinstance(event, FinalAnswer):
                    return event
    msg = "the request ended without an answer"
    raise InternalError(msg, "Ask again.")


@contextlib.contextmanager
def _cancel_on_interrupt(stream: AskStream) -> Generator[None]:
    """The first Ctrl-C ends the request at the resident process; the second leaves at once."""
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        stream.cancel()
        loop.remove_signal_handler(signal.SIGINT)

    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


async def _ask_person(question: ConsentQuestion, *, interactive: bool) -> ConsentAnswer:
    if not interactive:
        return ConsentAnswer(question.approval_id, Verdict.DENY)
    err.print(f"\n[bold]{printable(question.tool.name)}[/bold]", soft_wrap=True)
    err.print(printable(question.tool.description), style="dim", markup=False)
    for name, value in question.call.arguments.items():
        err.print(f"  {printable(name)}: {printable(str(value))}", markup=False, soft_wrap=True)
    for line in (question.preview, question.reason):
        if line:
            err.print(printable(line), markup=False, soft_wrap=True)
    choices = "[y]es once, [a]lways in this conversation, [N]o: "
    err.print(choices if question.may_remember else "[y]es once, [N]o: ", end="", markup=False)
    line = await _read_line()
    word = line.strip().lower()
    remember = question.may_remember and word in {"a", "always"}
    allowed = remember or word in {"y", "yes"}
    return ConsentAnswer(
        question.approval_id, Verdict.ALLOW if allowed else Verdict.DENY, remember=remember
    )


async def _read_line() -> str:
    """A line of standard input without blocking the stream; end of input is a no."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def readable() -> None:
        if not line.done():
            line.set_result(sys.stdin.readline())

    loop.add_reader(sys.stdin.fileno(), readable)
    try:
        return await line
    finally:
        loop.remove_reader(sys.stdin.fileno())


def somebody_is_there(*, as_json: bool) -> bool:
    """Whether a person can be asked: input and the prompt are on a terminal."""
    return not as_json and sys.stdin.isatty() and sys.stderr.isatty()


def read_text(words: list[str]) -> str:
    """The question: the words, or standard input if they are `-`.

    Raises:
        UsageError: there is none.
    """
    text = sys.stdin.read() if words == ["-"] else " ".join(words)
    if not text.strip():
        msg = "there is no question"
        raise UsageError(msg, 'Ask something: homing ask "what time is it?"')
    return text


def describe(status: ResidentStatus) -> str:
    """The resident process in a line."""
    model = status.model + (" (stand-in)" if status.stand_in else "")
    return f"pid {status.pid}, {model}: {'ready' if status.ready else status.activity}"
