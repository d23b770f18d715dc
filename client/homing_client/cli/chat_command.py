"""`homing chat`."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Annotated

import typer

from homing_client.cli.options import ConfigFile, DataDir, Model, Setup, StandIn, choice

if TYPE_CHECKING:
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
        parse_conversation_id(conversation) if conversation else None,
    )
    return asyncio.run(_chat(setup, talk))


class _Talk:
    """What the next line goes out with."""

    def __init__(
        self,
        route: RoutePreference,
        allowed: frozenset[str],
        sensitivity: Sensitivity,
        conversation: ConversationId | None,
    ) -> None:
        self.route = route
        self.allowed = allowed
        self.sensitivity = sensitivity
        self.conversation = conversation


async def _chat(setup: Setup, talk: _Talk) -> int:
    from homing_agent.request import AskInput  # noqa: PLC0415  # keep help quick
    from homing_agent.runtime.cli import report_error  # noqa: PLC0415  # as above
    from homing_core.errors import HomingError  # noqa: PLC0415  # as above
    from homing_core.ids import new_request_id  # noqa: PLC0415  # as above

    from homing_client.attach import attached  # noqa: PLC0415  # as above
    from homing_client.cli.console import err  # noqa: PLC0415  # as above
    from homing_client.cli.conversation import (  # noqa: PLC0415  # as above
        run_request,
        somebody_is_there,
        wait_until_ready,
    )
    from homing_client.cli.report import TextReporter  # noqa: PLC0415  # as above

    interactive = somebody_is_there(as_json=False)
    status = 0
    async with attached(setup) as phone:
        if interactive:
            err.print(_HELP, style="dim", markup=False)
        await wait_until_ready(phone, talk.route, quiet=not interactive)
        while (line := _read(interactive=interactive)) is not None:
            if line.startswith("/"):
                if not _command(line, talk):
                    break
                continue
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
                answer = await run_request(phone, request, TextReporter())
            except HomingError as error:
                report_error(error, "homing", as_json=False)
                status = error.exit_status
                continue
            talk.conversation = answer.conversation_id
            status = answer.exit_status
            if answer.error is not None:
                report_error(answer.error.to_error(), "homing", as_json=False)
    # Somebody who leaves a talk has not failed; a script that pipes one line wants to know.
    return 0 if interactive else status


def _read(*, interactive: bool) -> str | None:
    with contextlib.suppress(ImportError):
        __import__("readline")  # line editing, where there is any
    try:
        line = input("> " if interactive else "").strip()
    except EOFError:
        return None
    return line or (None if interactive else _read(interactive=False))


def _command(line: str, talk: _Talk) -> bool:
    from homing_agent.request import RoutePreference  # noqa: PLC0415  # keep help quick

    from homing_client.cli.console import err  # noqa: PLC0415  # as above

    match line[1:].strip().lower():
        case "quit" | "exit" | "q":
            return False
        case "new":
            talk.conversation = None
        case "home" | "phone" | "auto" as word:
            talk.route = RoutePreference(word)
        case _:
            err.print(_HELP, style="dim", markup=False)
    return True
