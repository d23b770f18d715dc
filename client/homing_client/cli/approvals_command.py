"""`homing jobs approvals`, `approve`, `deny` and `settle`: what jobs ask a person."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from homing_client.cli.jobs_command import Job, jobs_calls
from homing_client.cli.options import ConfigFile, DataDir, Json, Setup, Yes

if TYPE_CHECKING:
    from homing_core.approvals import Verdict
    from homing_core.jobs import Settlement

    from homing_client.jobs.ports import Waiting

Question: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="ID", help="Enough of the question's id: see homing jobs approvals."),
]


def register(group: typer.Typer) -> None:
    """Add the commands to the group `jobs`."""
    for name, command, words in (
        ("approvals", approvals, "approvals --json"),
        ("approve", approve, "approve 3f9a0c"),
        ("deny", deny, "deny 3f9a0c"),
        ("settle", settle, "settle 3f9a0c --happened"),
    ):
        group.command(name, epilog=f"Example: [bold]homing jobs {words}[/bold]")(command)


def approvals(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show what jobs want to have answered by you, yours and those of others at your home."""
    setup = Setup(data_dir, config).or_else(context.obj)
    asyncio.run(_list(setup, as_json=as_json))


def approve(  # noqa: PLR0913  # each is an option of the command
    context: typer.Context,
    question: Question,
    *,
    yes: Yes = False,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Let a job take the step that it asks about. Shows exactly which, and asks once more."""
    from homing_agent.runtime.agreeing import agree  # noqa: PLC0415  # keep help quick
    from homing_core.approvals import Verdict  # noqa: PLC0415  # as above

    from homing_client.cli.approvals_view import show_waiting  # noqa: PLC0415  # as above

    setup = Setup(data_dir, config).or_else(context.obj)
    waiting = asyncio.run(_find(setup, question))
    if not as_json:
        show_waiting(waiting)
    agree("Allow exactly this", yes=yes, as_json=as_json)
    asyncio.run(_answer(setup, waiting, Verdict.ALLOW, as_json=as_json))


def deny(
    context: typer.Context,
    question: Question,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Do not let a job take the step that it asks about."""
    from homing_core.approvals import Verdict  # noqa: PLC0415  # keep help quick

    from homing_client.cli.approvals_view import show_waiting  # noqa: PLC0415  # as above

    setup = Setup(data_dir, config).or_else(context.obj)
    waiting = asyncio.run(_find(setup, question))
    if not as_json:
        show_waiting(waiting)
    asyncio.run(_answer(setup, waiting, Verdict.DENY, as_json=as_json))


def settle(  # noqa: PLR0913  # each is an option of the command
    context: typer.Context,
    job: Job,
    *,
    happened: Annotated[
        bool, typer.Option("--happened", help="It did happen; the job goes on behind it.")
    ] = False,
    run_again: Annotated[
        bool, typer.Option("--run-again", help="It did not, or twice does no harm: do it again.")
    ] = False,
    give_up: Annotated[
        bool, typer.Option("--give-up", help="Leave it; the job ends as failed.")
    ] = False,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Say what you know of a step that was cut off, such as by a power cut.

    Nobody else can know whether it happened, and it is not done twice unless you say so. Without
    an option: show what is known.
    """
    from homing_core.errors import UsageError  # noqa: PLC0415  # keep help quick
    from homing_core.jobs import Settlement  # noqa: PLC0415  # as above

    setup = Setup(data_dir, config).or_else(context.obj)
    options = {
        Settlement.HAPPENED: happened,
        Settlement.RUN_AGAIN: run_again,
        Settlement.GIVE_UP: give_up,
    }
    said = [settlement for settlement, given in options.items() if given]
    if len(said) > 1:
        msg = "only one of --happened, --run-again and --give-up can be true"
        raise UsageError(msg, "Choose one.")
    asyncio.run(_settle(setup, job, said[0] if said else None, as_json=as_json))


async def _list(setup: Setup, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_client.cli.approvals_view import (  # noqa: PLC0415  # as above
        show_waiting,
        waiting_object,
    )
    from homing_client.cli.console import aside  # noqa: PLC0415  # as above

    async with jobs_calls(setup) as calls:
        found = await calls.waiting()
    for waiting in found:
        if as_json:
            print_json(waiting_object(waiting))
        else:
            show_waiting(waiting, setup.command)
    if not found and not as_json:
        aside("Nothing waits for your word.")


async def _find(setup: Setup, text: str) -> Waiting:
    from homing_client.cli.approvals_view import named_waiting  # noqa: PLC0415  # keep help quick

    async with jobs_calls(setup) as calls:
        return named_waiting(await calls.waiting(), text)


async def _answer(setup: Setup, waiting: Waiting, verdict: Verdict, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_client.cli.console import aside  # noqa: PLC0415  # as above
    from homing_client.cli.jobs_view import job_object  # noqa: PLC0415  # as above

    asked = waiting.approval
    async with jobs_calls(setup) as calls:
        job = await calls.answer(waiting.shown, verdict)
    if as_json:
        print_json(
            {
                "event": "answered",
                "approval_id": asked.id,
                "verdict": verdict.value,
                "job": asked.job_id,
                "of_this_phone": job_object(job) if job else None,
            }
        )
    else:
        word = "Allowed" if verdict.value == "allow" else "Not allowed"
        aside(f"{word}: {asked.tool.name} at {waiting.node_name}.")


async def _settle(setup: Setup, text: str, said: Settlement | None, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_core.errors import ConflictError  # noqa: PLC0415  # as above
    from homing_core.jobs import JobState  # noqa: PLC0415  # as above

    from homing_client.cli.approvals_view import (  # noqa: PLC0415  # as above
        show_settled,
        show_unknown,
    )
    from homing_client.cli.job_watching import named_job  # noqa: PLC0415  # as above
    from homing_client.cli.jobs_view import job_object, state_text  # noqa: PLC0415  # as above

    async with jobs_calls(setup) as calls:
        job = named_job(await calls.list(refresh=True), text)
        if job.state is not JobState.UNKNOWN_EFFECT:
            msg = f"there is nothing to settle: {job.tool.name} {state_text(job)}"
            raise ConflictError(msg, "See: homing jobs")
        if not as_json:
            show_unknown(job, setup.command, choices=said is None)
        if said is not None:
            job = await calls.settle(job.id, said)
    if as_json:
        print_json(job_object(job, "settled" if said else "job"))
    elif said is not None:
        show_settled(job, said)
