"""`homing jobs result` and `homing jobs forget`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from homing_client.cli.jobs_command import Job, find, jobs_calls
from homing_client.cli.options import ConfigFile, DataDir, Json, Setup, Yes

if TYPE_CHECKING:
    from homing_client.jobs.ports import PhoneJob

_EXAMPLES = """
[bold]Examples[/bold]

homing jobs result 3f9a0c

homing jobs result 3f9a0c --to ~/Downloads
"""

Folder: TypeAlias = Annotated[
    Path | None,
    typer.Option("--to", metavar="FOLDER", help="Put the files that it made here."),
]


def register(group: typer.Typer) -> None:
    """Add the commands to the group `jobs`."""
    group.command("result", epilog=_EXAMPLES)(result)
    group.command("forget", epilog="Example: [bold]homing jobs forget 3f9a0c[/bold]")(forget)


def result(  # noqa: PLR0913  # each is an option of the command
    context: typer.Context,
    job: Job,
    *,
    to: Folder = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace files of the same names there.")
    ] = False,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> int:
    """Print what came of a job; its files go where you say, and nowhere else.

    Exit status: 0, 1 if the job failed or has not ended, 3 if it was refused.
    """
    setup = Setup(data_dir, config).or_else(context.obj)
    return asyncio.run(_result(setup, job, to, replace=replace, as_json=as_json))


def forget(  # noqa: PLR0913  # each is an option of the command
    context: typer.Context,
    job: Job,
    *,
    yes: Yes = False,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Remove an ended job and its result from this phone. Files that you took stay."""
    from homing_agent.runtime.agreeing import agree  # noqa: PLC0415  # keep help quick
    from homing_agent.runtime.job_words import short_job  # noqa: PLC0415  # as above

    setup = Setup(data_dir, config).or_else(context.obj)
    found = asyncio.run(find(setup, job))
    question = f"Forget {short_job(found.id)}, {found.tool.name}, and its result"
    agree(question, yes=yes, as_json=as_json)
    asyncio.run(_forget(setup, found, as_json=as_json))


async def _result(setup: Setup, text: str, to: Path | None, *, replace: bool, as_json: bool) -> int:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_client.cli.job_watching import named_job  # noqa: PLC0415  # as above
    from homing_client.cli.jobs_view import (  # noqa: PLC0415  # as above
        result_object,
        show_result,
        show_saved,
    )

    folder = _folder(to) if to is not None else None
    async with jobs_calls(setup) as calls:
        job = named_job(await calls.list(refresh=False), text)
        found = await calls.result(job.id)
        saved = None
        if folder is not None:
            saved = await calls.save_files(job.id, folder, replace=replace)
    if as_json:
        print_json(result_object(found, saved))
    else:
        show_result(job, found, setup.command, hint=saved is None)
        if saved is not None:
            show_saved(saved)
    return 1 if found.is_error else 0


def _folder(path: Path) -> Path:
    from homing_core.errors import UsageError  # noqa: PLC0415  # keep help quick

    folder = path.expanduser().absolute()
    if folder.exists() and not folder.is_dir():
        msg = "what is named behind --to is no folder"
        raise UsageError(msg, "Name a folder; it is made if it is not there.")
    return folder


async def _forget(setup: Setup, job: PhoneJob, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_agent.runtime.job_words import short_job  # noqa: PLC0415  # as above

    from homing_client.cli.console import aside  # noqa: PLC0415  # as above

    async with jobs_calls(setup) as calls:
        await calls.forget(job.id)
    if as_json:
        print_json({"event": "forgotten", "job": job.id})
    else:
        aside(f"Forgotten: {short_job(job.id)}, {job.tool.name}.")
