"""`homing-node jobs` where it says something to a job: ends it, settles it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from homing_node.cli.options import ConfigFile, DataDir, Json, Setup, quiet

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from homing_core.jobs import Settlement

    from homing_node.jobs.console import JobView
    from homing_node.rpc.jobs_control_client import JobsControl

Job = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="Enough of the job's id; DEVICE/ID where two devices chose the same."
    ),
]


def register(jobs: typer.Typer) -> None:
    """Add the commands."""
    for name, command, example in (
        ("cancel", cancel, "cancel 3f9a0c"),
        ("settle", settle, "settle 3f9a0c --happened"),
    ):
        epilog = f"Example: [bold]homing-node jobs {example}[/bold]"
        jobs.command(name, epilog=epilog)(command)


def cancel(
    context: typer.Context,
    job: Job,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """End a job: its tool is really stopped. What it has done already stays done."""
    setup = Setup(data_dir, config).or_else(context.obj)
    asyncio.run(change(setup, lambda daemon: daemon.cancel(job), "cancelled", as_json=as_json))


def settle(  # noqa: PLR0913  # each is an option of the command
    context: typer.Context,
    job: Job,
    *,
    happened: Annotated[
        bool, typer.Option("--happened", help="It did happen; the job goes on behind it.")
    ] = False,
    run_again: Annotated[
        bool,
        typer.Option("--run-again", help="It did not, or twice does no harm: do it once more."),
    ] = False,
    give_up: Annotated[
        bool, typer.Option("--give-up", help="Leave it; the job ends as failed.")
    ] = False,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Say what became of a step during which its daemon ended, or was not heard of any more.

    Look at the world first, and at: homing-node jobs show ID. If it names a daemon that is silent,
    make sure that it is down: one that was only paused may still do the step.
    """
    setup = Setup(data_dir, config).or_else(context.obj)
    said = _settlement(happened=happened, run_again=run_again, give_up=give_up)
    asyncio.run(change(setup, lambda daemon: daemon.settle(job, said), "settled", as_json=as_json))


def _settlement(*, happened: bool, run_again: bool, give_up: bool) -> Settlement:
    from homing_core.errors import UsageError  # noqa: PLC0415  # keep help quick
    from homing_core.jobs import Settlement  # noqa: PLC0415  # as above

    wanted = [
        said
        for said, chosen in (
            (Settlement.HAPPENED, happened),
            (Settlement.RUN_AGAIN, run_again),
            (Settlement.GIVE_UP, give_up),
        )
        if chosen
    ]
    if len(wanted) != 1:
        msg = "one of --happened, --run-again and --give-up is needed"
        raise UsageError(msg, "See what is known with: homing-node jobs show ID")
    return wanted[0]


async def change(
    setup: Setup,
    does: Callable[[JobsControl], Awaitable[JobView]],
    event: str,
    *,
    as_json: bool,
) -> None:
    """Do something to a job, and say what came of it; `event` names it."""
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_agent.runtime.job_words import short_job  # noqa: PLC0415  # as above

    from homing_node.cli.console import out, safe  # noqa: PLC0415  # as above
    from homing_node.cli.jobs_screen import job_object, state_words  # noqa: PLC0415  # as above
    from homing_node.rpc.jobs_control_client import JobsControl  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    async with JobsControl.connect(setup.paths, setup.command("run")) as daemon:
        job = await does(daemon)
    if as_json:
        print_json(job_object(job) | {"event": event})
    else:
        out.print(f"{event.capitalize()}: {short_job(job.id)}, {safe(job.tool_name)}.")
        out.print(f"Where it stands: {state_words(job)}.")
