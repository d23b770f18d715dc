"""`homing jobs`: list, watch and cancel them."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from homing_client.cli.options import ConfigFile, DataDir, Json, Setup

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from homing_core.ids import ApprovalId, JobId

    from homing_client.jobs.ports import PhoneJob
    from homing_client.rpc.phone_jobs_calls import PhoneJobsCalls

_EXAMPLES = """
[bold]Examples[/bold]

homing jobs

homing jobs watch 3f9a0c

homing jobs result 3f9a0c --to ~/Downloads

homing jobs start summarise_folder folder=notes --watch

homing jobs approve 3f9a0c
"""
_OTHERS_S = 1.5
"""How long to look for what other devices' jobs ask, in seconds: a node may be away."""
jobs = typer.Typer(rich_markup_mode="rich")
"""Commands about jobs; each module of them adds its own."""

Job: TypeAlias = Annotated[
    str, typer.Argument(metavar="ID", help="The job's id, or enough of its start.")
]
Check: TypeAlias = Annotated[
    bool, typer.Option("--check/--no-check", help="Ask the nodes for news first.")
]


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(
        jobs,
        name="jobs",
        help="Long work at home: see it, end it, get its result, answer what it asks.",
        epilog=_EXAMPLES,
    )


@contextlib.asynccontextmanager
async def jobs_calls(setup: Setup) -> AsyncGenerator[PhoneJobsCalls]:
    """The resident process's jobs; it is started if it does not run."""
    from homing_client.attach import attached_channel  # noqa: PLC0415  # keep help quick
    from homing_client.rpc.phone_jobs_calls import PhoneJobsCalls  # noqa: PLC0415  # as above

    setup.load()
    async with attached_channel(setup) as channel:
        yield PhoneJobsCalls(channel)


@jobs.callback(invoke_without_command=True)
def group(
    context: typer.Context,
    *,
    check: Check = True,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Long work at home. Without a further word: list it."""
    setup = Setup(data_dir, config)
    context.obj = setup
    if context.invoked_subcommand is None:
        asyncio.run(_list(setup, check=check, as_json=as_json))


@jobs.command("list", epilog="Example: [bold]homing jobs list --no-check --json[/bold]")
def list_jobs(
    context: typer.Context,
    *,
    check: Check = True,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show this phone's jobs, newest first."""
    setup = Setup(data_dir, config).or_else(context.obj)
    asyncio.run(_list(setup, check=check, as_json=as_json))


@jobs.command("watch", epilog="Example: [bold]homing jobs watch 3f9a0c[/bold]")
def watch(
    context: typer.Context,
    job: Job,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> int:
    """Watch a job to its end. Ctrl-C leaves; the job goes on.

    Exit status: 0 done, 1 failed or cancelled, 3 refused, 130 left with Ctrl-C.
    """
    setup = Setup(data_dir, config).or_else(context.obj)
    return watched(setup, job, as_json=as_json)


def watched(setup: Setup, job: str, *, as_json: bool, result: bool = False) -> int:
    """Watch a job; gives the exit status.

    Args:
        setup: how to reach the resident process.
        job: its id, or enough of its start.
        as_json: print objects.
        result: print what came of it, too.
    """
    from homing_client.cli.job_watching import Watch  # noqa: PLC0415  # keep help quick

    setup.load()
    one = Watch(setup, job, as_json=as_json, result=result)
    try:
        return asyncio.run(one.run())
    except KeyboardInterrupt:
        return one.left()


@jobs.command("cancel", epilog="Example: [bold]homing jobs cancel 3f9a0c[/bold]")
def cancel(
    context: typer.Context,
    job: Job,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """End a job: what it runs at home is stopped. What it has done already stays done."""
    setup = Setup(data_dir, config).or_else(context.obj)
    asyncio.run(_cancel(setup, job, as_json=as_json))


async def find(setup: Setup, text: str) -> PhoneJob:
    """The job that is meant, as this phone knows it."""
    from homing_client.cli.job_watching import named_job  # noqa: PLC0415  # keep help quick

    async with jobs_calls(setup) as calls:
        return named_job(await calls.list(refresh=False), text)


async def _list(setup: Setup, *, check: bool, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_client.cli.console import aside  # noqa: PLC0415  # as above
    from homing_client.cli.jobs_view import job_object, show_jobs  # noqa: PLC0415  # as above

    async with jobs_calls(setup) as calls:
        found = await calls.list(refresh=check)
        asked, others = await _asked(calls, found, quick=as_json or not check)
    if as_json:
        for job in found:
            print_json(job_object(job))
    elif found:
        show_jobs(found, asked, setup.command)
    else:
        aside("No jobs. What home can do: homing tools. To start it: homing jobs start TOOL")
    if others and not as_json:
        asks = "1 question waits" if others == 1 else f"{others} questions wait"
        aside(f"Of other devices {asks} for your word: {setup.command('jobs approvals')}")


async def _asked(
    calls: PhoneJobsCalls, found: Sequence[PhoneJob], *, quick: bool
) -> tuple[dict[JobId, ApprovalId] | None, int]:
    """Jobs whose questions this phone's person can answer, and those questions.

    Returns:
        Those of this phone, None if that is not known; and how many of other devices there are.
    """
    from homing_core.errors import HomingError  # noqa: PLC0415  # keep help quick
    from homing_core.jobs import JobState  # noqa: PLC0415  # as above

    if quick:
        return None, 0
    ours = {job.id for job in found}
    needed = any(job.state is JobState.WAITING_APPROVAL for job in found)
    with contextlib.suppress(HomingError, TimeoutError):  # the list is worth showing without it
        async with asyncio.timeout(None if needed else _OTHERS_S):
            waiting = {one.approval.job_id: one.approval.id for one in await calls.waiting()}
        return waiting, len(waiting.keys() - ours)
    return None, 0


async def _cancel(setup: Setup, text: str, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_core.jobs import JobState  # noqa: PLC0415  # as above

    from homing_client.cli.console import aside  # noqa: PLC0415  # as above
    from homing_client.cli.job_watching import named_job  # noqa: PLC0415  # as above
    from homing_client.cli.jobs_view import job_object, state_text  # noqa: PLC0415  # as above

    async with jobs_calls(setup) as calls:
        job = await calls.cancel(named_job(await calls.list(refresh=False), text).id)
    if as_json:
        print_json(job_object(job))
    elif job.state is JobState.CANCELLED:
        aside(f"Cancelled: {job.tool.name} at {job.node_name}.")
    elif job.state.final:
        aside(f"It had ended before: {job.tool.name} at {job.node_name}: {state_text(job)}.")
    elif job.error is not None:
        aside(f"{job.tool.name} will be ended as soon as {job.node_name} can be reached.")
    else:
        aside(f"{job.tool.name} at {job.node_name} is being stopped.")
