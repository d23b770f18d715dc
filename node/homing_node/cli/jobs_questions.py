"""`homing-node jobs` where it answers what jobs ask: it shows the exact step first."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from homing_node.cli.jobs_answers import change
from homing_node.cli.options import ConfigFile, DataDir, Json, Setup, Yes, quiet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.jobs import PendingApproval

Question = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="Enough of the question's id: see homing-node jobs approvals."
    ),
]


def register(jobs: typer.Typer) -> None:
    """Add the commands."""
    for name, command, example in (
        ("approvals", approvals, "approvals --json"),
        ("approve", approve, "approve 81d2e4"),
        ("deny", deny, "deny 81d2e4"),
    ):
        epilog = f"Example: [bold]homing-node jobs {example}[/bold]"
        jobs.command(name, epilog=epilog)(command)


def approvals(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show what waits for a person: who asks, for which tool, with which arguments, and why."""
    asyncio.run(_approvals(Setup(data_dir, config).or_else(context.obj), as_json=as_json))


def approve(  # noqa: PLR0913  # each is an option of the command
    context: typer.Context,
    question: Question,
    *,
    yes: Yes = False,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Say yes to a step. Shows exactly which, with all of its arguments, and asks once more."""
    from homing_agent.runtime.agreeing import agree  # noqa: PLC0415  # keep help quick

    setup = Setup(data_dir, config).or_else(context.obj)
    asked = asyncio.run(_shown(setup, question, as_json=as_json))
    agree("Allow exactly this", yes=yes, as_json=as_json)
    asyncio.run(_answer(setup, asked, allow=True, as_json=as_json))


def deny(
    context: typer.Context,
    question: Question,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Say no to a step; its job ends as refused. Shows exactly which."""
    setup = Setup(data_dir, config).or_else(context.obj)
    asked = asyncio.run(_shown(setup, question, as_json=as_json))
    asyncio.run(_answer(setup, asked, allow=False, as_json=as_json))


def named_question(found: Sequence[PendingApproval], text: str) -> PendingApproval:
    """The question whose id begins like this. The node chooses those ids, nobody else.

    Raises:
        UsageError: no id begins so.
        NotFoundError: nothing waits under it.
        ConflictError: several questions do.
    """
    from homing_agent.runtime.job_words import question_beginning  # noqa: PLC0415  # keep help quick
    from homing_core.errors import ConflictError, NotFoundError  # noqa: PLC0415  # as above

    beginning = question_beginning(text)
    fits = [one for one in found if one.id.startswith(beginning)]
    if not fits:
        msg = "no question has an id that begins like that"
        raise NotFoundError(msg, "See them with: homing-node jobs approvals")
    if len(fits) > 1:
        msg = f"{len(fits)} questions have an id that begins like that"
        raise ConflictError(msg, f"Say which: {', '.join(one.id for one in fits[:4])}")
    return fits[0]


async def _approvals(setup: Setup, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_node.cli.console import out  # noqa: PLC0415  # as above
    from homing_node.cli.jobs_screen import (  # noqa: PLC0415  # as above
        approval_object,
        show_approvals,
    )
    from homing_node.rpc.jobs_control_client import JobsControl  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    async with JobsControl.connect(setup.paths, setup.command("run")) as daemon:
        found = await daemon.approvals()
    if as_json:
        for one in found:
            print_json(approval_object(one))
    elif found:
        show_approvals(found, setup.command("jobs approve"), setup.command("jobs deny"))
    else:
        out.print("Nothing waits for a person.")


async def _shown(setup: Setup, text: str, *, as_json: bool) -> PendingApproval:
    """The question that is meant, shown to whoever answers it."""
    from homing_node.cli.console import err  # noqa: PLC0415  # keep help quick
    from homing_node.cli.jobs_screen import show_approval  # noqa: PLC0415  # as above
    from homing_node.rpc.jobs_control_client import JobsControl  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    async with JobsControl.connect(setup.paths, setup.command("run")) as daemon:
        asked = named_question(await daemon.approvals(), text)
    if not as_json:
        show_approval(asked, err)
    return asked


async def _answer(setup: Setup, asked: PendingApproval, *, allow: bool, as_json: bool) -> None:
    event = "approved" if allow else "denied"
    await change(setup, lambda daemon: daemon.answer(asked.id, allow=allow), event, as_json=as_json)
