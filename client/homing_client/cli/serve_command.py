"""`homing serve`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from homing_client.cli.options import ConfigFile, DataDir, Json, Model, Setup, StandIn

if TYPE_CHECKING:
    from homing_client.config import ClientConfig

_EXAMPLES = """
[bold]Examples[/bold]

homing serve

homing serve --stand-in --idle-minutes 0

homing serve --status

homing serve --stop
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve", epilog=_EXAMPLES)(serve)


def serve(  # noqa: PLR0913  # one for each option
    *,
    idle_minutes: Annotated[
        int | None,
        typer.Option(
            "--idle-minutes", min=0, metavar="N", help="Leave after this long without use; 0 never."
        ),
    ] = None,
    stop: Annotated[bool, typer.Option("--stop", help="End the one that runs.")] = False,
    status: Annotated[
        bool, typer.Option("--status", help="Show how the one that runs is.")
    ] = False,
    background: Annotated[
        bool, typer.Option("--background", hidden=True, help="Log to a file; nobody watches.")
    ] = False,
    ready_fd: Annotated[
        int | None,
        typer.Option("--ready-fd", hidden=True, help="Where to say that the socket is open."),
    ] = None,
    as_json: Json = False,
    stand_in: StandIn = False,
    model: Model = None,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Keep the phone's model, link and history ready; the other commands start it by themselves."""
    from homing_core.errors import HomingError  # noqa: PLC0415  # keep help quick

    setup = Setup(data_dir, config, stand_in, model)
    if stop or status:
        asyncio.run(_talk_to_running(setup, stop=stop, as_json=as_json))
        return
    try:
        asyncio.run(
            _serve(
                setup,
                setup.load(),
                idle_minutes=idle_minutes,
                watched=not background,
                as_json=as_json,
                ready_fd=ready_fd,
            )
        )
    except HomingError as error:
        if ready_fd is not None:
            from homing_client.attach import report_ready  # noqa: PLC0415  # rarely needed

            report_ready(ready_fd, error)
        raise


async def _serve(  # noqa: PLR0913  # one for each option
    setup: Setup,
    settings: ClientConfig,
    *,
    idle_minutes: int | None,
    watched: bool,
    as_json: bool,
    ready_fd: int | None,
) -> None:
    from homing_agent.runtime.cli import name_log_file, print_json  # noqa: PLC0415  # keep help quick

    from homing_client.attach import report_ready  # noqa: PLC0415  # as above
    from homing_client.cli.console import err  # noqa: PLC0415  # as above
    from homing_client.resident import Happening, Resident  # noqa: PLC0415  # as above

    name_log_file(setup.paths.log_file)

    def tell(happening: Happening, text: str) -> None:
        if happening is Happening.LISTENING and ready_fd is not None:
            report_ready(ready_fd)
        if watched and as_json:
            print_json({"event": happening.value, "text": text})
        elif watched:
            err.print(text, style="" if happening is Happening.ALARM else "dim", markup=False)

    minutes = settings.phone.idle_minutes if idle_minutes is None else idle_minutes
    await Resident(setup.paths, settings, idle_s=minutes * 60, tell=tell).run()


async def _talk_to_running(setup: Setup, *, stop: bool, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_client.attach import attached  # noqa: PLC0415  # as above
    from homing_client.cli.console import out  # noqa: PLC0415  # as above
    from homing_client.cli.conversation import describe  # noqa: PLC0415  # as above

    async with attached(setup, start=False) as phone:
        if stop:
            await phone.stop()
            return
        found = await phone.status()
    if not as_json:
        out.print(describe(found), markup=False)
        if found.error is not None:
            out.print(str(found.error), markup=False)
        return
    print_json(
        {
            "event": "status",
            "version": found.version,
            "pid": found.pid,
            "model": found.model,
            "stand_in": found.stand_in,
            "ready": found.ready,
            "activity": found.activity,
            "device_id": found.device_id,
            "idle_seconds": found.idle_seconds,
            "error": str(found.error) if found.error else None,
        }
    )
