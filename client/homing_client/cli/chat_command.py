"""`homing chat`."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from homing_client.cli.options import ConfigFile, DataDir, Model, Setup, StandIn, choice, given

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homing_agent.request import RoutePreference
    from homing_core.ids import ConversationId
    from homing_core.provenance import Sensitivity

_EXAMPLES = """
[bold]Examples[/bold]

homing chat

homing chat --route phone
"""
_HELP = "Empty line or /quit to leave, /new for a new conversation, /home /phone /auto to choose."


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("chat", epilog=_EXAMPLES)(chat)


def chat(  # noqa: PLR0913  # one for each option
    *,
    route: Annotated[
        str, typer.Option("--route", metavar="WHERE", help="auto, phone or home.")
    ] = "auto",
    allow: Annotated[
        list[str] | None,
        typer.Option(
            "--allow", metavar="TOOL", help="Let this tool act without asking; repeatable."
        ),
    ] = None,
    conversation: Annotated[
        str | None,
        typer.Option("--conversation", metavar="ID", help="Go on with this conversation."),
    ] = None,
    stand_in: StandIn = False,
    model: Model = None,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> int:
    """Talk, line by line, in one conversation."""
    from homing_agent.request import RoutePreference  # noqa: PLC0415  # keep help quick
    from homing_core.ids import parse_conversation_id  # noqa: PLC0415  # as above

    setup = Setup(data_dir, config, stand_in, model)
    talk = _Talk(
        choice(RoutePreference, route, "--route"),
        frozenset(allow or ()),
        setup.load().sensitivity,
        given(parse_conversation_id, conversation, "--conversation"),
    )
    return _chat(setup, talk)


@dataclass
class _Talk:
    """What the next line goes out with."""

    route: RoutePreference
    allowed: frozenset[str]
    sensitivity: Sensitivity
    conversation: ConversationId | None


def _chat(setup: Setup, talk: _Talk) -> int:
    from homing_client.cli.console import aside  # noqa: PLC0415  # keep help quick
    from homing_client.cli.typed import somebody_is_there  # noqa: PLC0415  # as above

    interactive = somebody_is_there(as_json=False)
    if interactive:
        aside(_HELP)
        asyncio.run(_get_ready(setup, talk))
    status = 0
    for line in _lines(interactive=interactive):
        if line.startswith("/"):
            if not _command(line, talk):
                break
        else:
            status = _answer(setup, talk, line, interactive=interactive)
    # Somebody who leaves a talk has not failed; a script that pipes lines wants to know.
    return 0 if interactive else status


async def _get_ready(setup: Setup, talk: _Talk) -> None:
    from homing_client.attach import attached  # noqa: PLC0415  # keep help quick
    from homing_client.cli.console import aside  # noqa: PLC0415  # as above
    from homing_client.cli.waiting import wait_until_ready  # noqa: PLC0415  # as above

    async with attached(setup, tell=aside) as phone:
        await wait_until_ready(phone, setup, talk.route, quiet=False)


def _answer(setup: Setup, talk: _Talk, line: str, *, interactive: bool) -> int:
    """One line of the talk. Each attaches anew: the resident process may have left meanwhile."""
    from homing_agent.request import AskInput  # noqa: PLC0415  # keep help quick
    from homing_agent.runtime.cli import INTERRUPTED, report_error  # noqa: PLC0415  # as above
    from homing_core.errors import HomingError  # noqa: PLC0415  # as above
    from homing_core.ids import new_request_id  # noqa: PLC0415  # as above

    from homing_client.cli.asking import run_request  # noqa: PLC0415  # as above
    from homing_client.cli.report import TextReporter  # noqa: PLC0415  # as above

    request = AskInput(
        request_id=new_request_id(),
        text=line,
        conversation_id=talk.conversation,
        route=talk.route,
        allowed_tools=talk.allowed,
        interactive=interactive,
        sensitivity=talk.sensitivity,
    )
    try:
        reporter = TextReporter(command=setup.command)
        answer = asyncio.run(run_request(setup, request, reporter, quiet=not interactive))
    except HomingError as error:
        report_error(error, "homing", as_json=False)
        return error.exit_status
    except KeyboardInterrupt:
        if not interactive:
            raise
        return INTERRUPTED
    talk.conversation = answer.conversation_id
    if answer.error is not None:
        report_error(answer.error.to_error(), "homing", as_json=False)
    return answer.exit_status


def _lines(*, interactive: bool) -> Iterator[str]:
    """What is typed, line by line. Interactively an empty line ends it, and so does Ctrl-C."""
    from homing_client.cli.typed import checked_text, not_text  # noqa: PLC0415  # keep help quick

    with contextlib.suppress(ImportError):
        __import__("readline")  # line editing, where there is any
    what = "line"
    while True:
        try:
            line = checked_text(input("> " if interactive else "").strip(), what)
        except UnicodeDecodeError as error:
            raise not_text(what) from error
        except (EOFError, KeyboardInterrupt):
            return
        if line:
            yield line
        elif interactive:
            return


def _command(line: str, talk: _Talk) -> bool:
    """Do what a line with a slash says; whether the talk goes on."""
    from homing_agent.request import RoutePreference  # noqa: PLC0415  # keep help quick

    from homing_client.cli.console import aside  # noqa: PLC0415  # as above

    match line[1:].strip().lower():
        case "quit" | "exit" | "q":
            return False
        case "new":
            talk.conversation = None
            aside("A new conversation.")
        case "home" | "phone" | "auto" as word:
            talk.route = RoutePreference(word)
            aside(f"From here on: --route {word}")
        case _:
            aside(_HELP)
    return True
