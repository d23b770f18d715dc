"""`homing serve`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from homing_client.cli.options import ConfigFile, DataDir, Json, Model, Setup, StandIn

if TYPE_CHECKING:
    from homing_client.rpc.phone_calls import ResidentStatus

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
    passphrase_fd: Annotated[
        int | None,
        typer.Option("--passphrase-fd", hidden=True, help="Where to take the passphrase from."),
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
    if stop:
        asyncio.run(_stop(setup, as_json=as_json))
        return
    if status:
        asyncio.run(_status(setup, as_json=as_json))
        return
    try:
        asyncio.run(
            _serve(
                setup,
                idle_minutes=idle_minutes,
                watched=not background,
                as_json=as_json,
                ready_fd=ready_fd,
                passphrase_fd=passphrase_fd,
            )
        )
    except HomingError as error:
        if ready_fd is not None:
            from homing_client.attach import report_ready  # noqa: PLC0415  # rarely needed

            report_ready(ready_fd, error)
        raise


async def _serve(  # noqa: PLR0913  # as the command
    setup: Setup,
    *,
    idle_minutes: int | None,
    watched: bool,
    as_json: bool,
    ready_fd: int | None,
    passphrase_fd: int | None,
) -> None:
    from homing_agent.runtime.cli import name_log_file  # noqa: PLC0415  # keep help quick
    from homing_agent.runtime.unlock import (  # noqa: PLC0415  # as above
        somebody_can_be_asked,
        unlocked,
    )

    from homing_client.attach import report_ready  # noqa: PLC0415  # as above
    from homing_client.cli.watching import JsonWatch, TextWatch  # noqa: PLC0415  # as above
    from homing_client.key_place import key_place  # noqa: PLC0415  # as above
    from homing_client.readiness import Happening  # noqa: PLC0415  # as above
    from homing_client.resident import Resident  # noqa: PLC0415  # as above

    settings = setup.load()
    name_log_file(setup.paths.log_file)
    asked = watched and somebody_can_be_asked()
    vault = unlocked(key_place(setup.paths), interactive=asked, pipe=passphrase_fd)
    with JsonWatch() if as_json else TextWatch() as watch:

        def tell(happening: Happening, text: str) -> None:
            if happening is Happening.LISTENING and ready_fd is not None:
                report_ready(ready_fd)
            if watched:
                watch.tell(happening, text)

        minutes = settings.phone.idle_minutes if idle_minutes is None else idle_minutes
        await Resident(setup.paths, settings, idle_s=minutes * 60, tell=tell, vault=vault).run()


async def _stop(setup: Setup, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_agent.runtime.localsocket import SocketState, probe  # noqa: PLC0415  # as above
    from homing_agent.runtime.paths import socket_path  # noqa: PLC0415  # as above

    from homing_client.attach import end_resident  # noqa: PLC0415  # as above
    from homing_client.cli.console import aside  # noqa: PLC0415  # as above

    runs = probe(socket_path(setup.paths)) is SocketState.LIVE
    pid = await end_resident(setup.paths) if runs else None
    if as_json:
        print_json({"event": "stopped", "pid": pid})
    else:
        aside(f"Homing has left (pid {pid})." if runs else "Homing does not run.")


async def _status(setup: Setup, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_client.attach import attached  # noqa: PLC0415  # as above
    from homing_client.cli.console import out, printable  # noqa: PLC0415  # as above

    async with attached(setup, start=False) as phone:
        found = await phone.status()
    if as_json:
        print_json(status_object(found))
    else:
        for line in status_lines(found):
            out.print(printable(line), markup=False, soft_wrap=True)


def status_lines(found: ResidentStatus) -> list[str]:
    """The resident process in a few lines."""
    model = found.model + (" (stand-in)" if found.stand_in else "")
    state = "ready" if found.ready else "not available" if found.error else found.activity
    idle = f"after {found.idle_seconds // 60} min without use" if found.idle_seconds else "never"
    lines = [
        f"Homing {found.version} runs (pid {found.pid}).",
        f"Model: {model}, {state}",
        f"Requests at work: {found.running}",
        f"Leaves: {idle}",
    ]
    return [*lines, f"Problem: {found.error}"] if found.error else lines


def status_object(found: ResidentStatus) -> dict[str, object]:
    """The same as `--json` prints it."""
    error = found.error
    return {
        "event": "status",
        "version": found.version,
        "pid": found.pid,
        "model": found.model,
        "stand_in": found.stand_in,
        "ready": found.ready,
        "activity": found.activity,
        "running": found.running,
        "device_id": found.device_id,
        "idle_seconds": found.idle_seconds,
        "error": {"code": error.code.value, "what": error.what, "hint": error.hint}
        if error
        else None,
    }
