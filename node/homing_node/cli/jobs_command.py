"""`homing-node jobs`."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from homing_node.cli import jobs_answers, jobs_questions
from homing_node.cli.options import ConfigFile, DataDir, Json, Setup, quiet

_EXAMPLES = """
[bold]Examples[/bold]

homing-node jobs

homing-node jobs show 3f9a0c

homing-node jobs cancel 3f9a0c

homing-node jobs approvals

homing-node jobs approve 81d2e4

homing-node jobs settle 3f9a0c --happened
"""
_MOST = 1000
_jobs = typer.Typer(rich_markup_mode="rich")
jobs_answers.register(_jobs)
jobs_questions.register(_jobs)

Limit = Annotated[int, typer.Option(min=1, max=_MOST, help="At most this many, newest first.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(
        _jobs,
        name="jobs",
        help="See what devices let this node do, end it, and answer what it asks.",
        epilog=_EXAMPLES,
    )


@_jobs.callback(invoke_without_command=True)
def jobs(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Everybody's jobs on this node. Without a further word: list."""
    setup = Setup(data_dir, config)
    context.obj = setup
    if context.invoked_subcommand is None:
        asyncio.run(_list(setup, 100, as_json=as_json))


@_jobs.command("list", epilog="Example: [bold]homing-node jobs list --limit 20 --json[/bold]")
def list_jobs(
    context: typer.Context,
    *,
    limit: Limit = 100,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show the jobs, newest first."""
    setup = Setup(data_dir, config).or_else(context.obj)
    asyncio.run(_list(setup, limit, as_json=as_json))


@_jobs.command("show", epilog="Example: [bold]homing-node jobs show 3f9a0c[/bold]")
def show(
    context: typer.Context,
    job: jobs_answers.Job,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show one job with its record."""
    asyncio.run(_show(Setup(data_dir, config).or_else(context.obj), job, as_json=as_json))


async def _list(setup: Setup, limit: int, *, as_json: bool) -> None:
    import time  # noqa: PLC0415  # keep help quick

    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # as above
    from homing_core.jobs import JobState  # noqa: PLC0415  # as above

    from homing_node.cli.console import out, safe  # noqa: PLC0415  # as above
    from homing_node.cli.jobs_screen import job_object, show_jobs  # noqa: PLC0415  # as above
    from homing_node.rpc.jobs_control_client import JobsControl  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    async with JobsControl.connect(setup.paths, setup.command("run")) as daemon:
        found = await daemon.list(limit)
    if as_json:
        for job in found:
            print_json(job_object(job))
        return
    if not found:
        out.print("No jobs. A phone hands one in when a tool of this node is needed.")
        return
    show_jobs(found, time.time())
    if any(job.state is JobState.WAITING_APPROVAL for job in found):
        out.print(f"\nSee what is asked: {safe(setup.command('jobs approvals'))}")
    if any(job.state is JobState.UNKNOWN_EFFECT for job in found):
        out.print(f"\nSay what happened: {safe(setup.command('jobs settle ID --happened'))}")


async def _show(setup: Setup, prefix: str, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_node.cli.jobs_screen import (  # noqa: PLC0415  # as above
        event_object,
        job_object,
        show_job,
    )
    from homing_node.rpc.jobs_control_client import JobsControl  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    async with JobsControl.connect(setup.paths, setup.command("run")) as daemon:
        job, events = await daemon.show(prefix)
    if as_json:
        print_json(job_object(job) | {"events": [event_object(event) for event in events]})
    else:
        show_job(job, events)
