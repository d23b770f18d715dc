"""`homing ask`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from homing_client.cli.options import (
    ConfigFile,
    DataDir,
    Json,
    Model,
    Setup,
    StandIn,
    choice,
    given,
)

if TYPE_CHECKING:
    from homing_agent.request import AskInput

    from homing_client.cli.report import Reporter

_EXAMPLES = """
[bold]Examples[/bold]

homing ask "remind me to call mom tomorrow at 9"

homing ask --route home "explain how a heat pump works"

homing ask --allow set_timer --json "set a timer for 10 minutes"

echo "translate to French: good morning" | homing ask -
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ask", epilog=_EXAMPLES)(ask)


def ask(  # noqa: PLR0913  # one for each option
    *,
    text: Annotated[
        list[str], typer.Argument(metavar="TEXT", help="The question; - reads standard input.")
    ],
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
    sensitivity: Annotated[
        str | None,
        typer.Option(
            "--sensitivity",
            metavar="CLASS",
            help="How far this may travel: phone_only, home_only, trusted_peers or any_paired.",
        ),
    ] = None,
    think: Annotated[
        bool, typer.Option("--think", help="Let the model at home think first.")
    ] = False,
    request_id: Annotated[
        str | None,
        typer.Option("--request-id", metavar="ID", help="Repeat a request by its id, harmlessly."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what the routing decision saw.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the answer alone.")] = False,
    as_json: Json = False,
    stand_in: StandIn = False,
    model: Model = None,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> int:
    """Ask something, once.

    Exit status: 0 answered, 1 failed, 2 wrong usage, 3 refused by policy, 130 ended or left with
    Ctrl-C. While a job runs at home, Ctrl-C leaves it there to go on; it says how to come back.
    """
    from homing_agent.request import AskInput, RoutePreference  # noqa: PLC0415  # keep help quick
    from homing_core.ids import (  # noqa: PLC0415  # as above
        new_request_id,
        parse_conversation_id,
        parse_request_id,
    )

    from homing_client.cli.json_report import JsonReporter  # noqa: PLC0415  # as above
    from homing_client.cli.report import TextReporter  # noqa: PLC0415  # as above
    from homing_client.cli.typed import read_text, somebody_is_there  # noqa: PLC0415  # as above

    setup = Setup(data_dir, config, stand_in, model)
    settings = setup.load()
    request = AskInput(
        request_id=given(parse_request_id, request_id, "--request-id") or new_request_id(),
        text=read_text(text),
        conversation_id=given(parse_conversation_id, conversation, "--conversation"),
        route=choice(RoutePreference, route, "--route"),
        allowed_tools=frozenset(allow or ()),
        interactive=somebody_is_there(as_json=as_json),
        sensitivity=choice(type(settings.sensitivity), sensitivity, "--sensitivity")
        if sensitivity
        else settings.sensitivity,
        thinking=think,
    )
    reporter = (
        JsonReporter()
        if as_json
        else TextReporter(explain=explain, quiet=quiet, command=setup.command, once=True)
    )
    return asyncio.run(_ask(setup, request, reporter, quiet=quiet or as_json))


async def _ask(setup: Setup, request: AskInput, reporter: Reporter, *, quiet: bool) -> int:
    from homing_agent.runtime.cli import report_error  # noqa: PLC0415  # keep help quick

    from homing_client.cli.asking import run_request  # noqa: PLC0415  # as above

    answer = await run_request(setup, request, reporter, quiet=quiet)
    if answer.error is not None:  # with --json too: it is on standard error
        report_error(answer.error.to_error(), "homing", as_json=False)
    return answer.exit_status
