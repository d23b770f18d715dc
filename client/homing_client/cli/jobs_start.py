"""`homing jobs start`: a home tool without a model, exactly as a person says."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from homing_client.cli.jobs_command import jobs_calls, watched
from homing_client.cli.options import ConfigFile, DataDir, Json, Setup, choice, given

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject
    from homing_core.ids import RequestId
    from homing_core.provenance import Sensitivity
    from homing_core.tools import ToolSpec

    from homing_client.jobs.ports import PhoneJob
    from homing_client.rpc.phone_jobs_calls import PhoneJobsCalls

_EXAMPLES = """
[bold]Examples[/bold]

homing jobs start summarise_folder folder=notes --watch

homing jobs start resize names=a.png names=b.png width=800 --allow

homing jobs start search --node attic --json-args '{"words": ["heat"]}'
"""


def register(group: typer.Typer) -> None:
    """Add the commands to the group `jobs`."""
    group.command("start", epilog=_EXAMPLES)(start)


def start(  # noqa: PLR0913  # each is an option of the command
    context: typer.Context,
    tool: Annotated[
        str, typer.Argument(metavar="TOOL", help="Name of a home tool; see homing tools.")
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="Its arguments. Repeat a key to give a list."),
    ] = None,
    *,
    json_args: Annotated[
        str | None,
        typer.Option(
            "--json-args", metavar="TEXT", help="Arguments as a JSON object; - reads it from input."
        ),
    ] = None,
    node: Annotated[
        str,
        typer.Option(
            "--node", metavar="NAME", help="Where to run it.", show_default="home, if it can"
        ),
    ] = "",
    allow: Annotated[
        bool, typer.Option("--allow", help="Let it change things without asking here.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Watch it to its end, and print the result.")
    ] = False,
    sensitivity: Annotated[
        str | None,
        typer.Option(
            "--sensitivity",
            metavar="CLASS",
            help="How far the arguments may travel: home_only, trusted_peers or any_paired.",
        ),
    ] = None,
    request_id: Annotated[
        str | None,
        typer.Option("--request-id", metavar="ID", help="Repeat a start by its id, harmlessly."),
    ] = None,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> int:
    """Start a home tool. It goes on by itself, whatever becomes of this phone meanwhile.

    Exit status: 0 started (with --watch: done), 1 failed, 2 wrong usage, 3 refused.
    """
    from homing_core.ids import new_request_id, parse_request_id  # noqa: PLC0415  # keep help quick
    from homing_core.provenance import Sensitivity  # noqa: PLC0415  # as above

    setup = Setup(data_dir, config).or_else(context.obj)
    settings = setup.load()
    said = given(parse_request_id, request_id, "--request-id")
    wanted = _Wanted(
        tool=tool,
        words=tuple(words or ()),
        json_text=_text(json_args),
        node=node,
        allow=allow,
        sensitivity=choice(Sensitivity, sensitivity, "--sensitivity", but=Sensitivity.PHONE_ONLY)
        if sensitivity
        else settings.sensitivity,
        request_id=said or new_request_id(),
        repeated=said is not None,
        as_json=as_json,
    )
    job = asyncio.run(_start(setup, wanted))
    _say(setup, job, as_json=as_json, watch=watch)
    return watched(setup, job.id, as_json=as_json, result=True) if watch else 0


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What was typed."""

    tool: str
    words: tuple[str, ...]
    json_text: str | None
    node: str
    allow: bool
    sensitivity: Sensitivity
    request_id: RequestId
    repeated: bool
    as_json: bool


def _text(json_args: str | None) -> str | None:
    from homing_client.cli.typed import read_text  # noqa: PLC0415  # keep help quick

    return json_args if json_args is None else read_text([json_args], "JSON object")


def _repeated(job: PhoneJob, wanted: _Wanted) -> PhoneJob:
    """The job that has the id already, if the same was typed; its node need not answer for that.

    Raises:
        ConflictError: the id was for something else.
        UsageError: what was typed does not fit the tool.
    """
    from homing_client.cli.job_arguments import typed_arguments  # noqa: PLC0415  # keep help quick
    from homing_client.jobs.starting import used_otherwise  # noqa: PLC0415  # as above

    same = wanted.tool in {job.tool.name, f"{job.tool.server}.{job.tool.name}"}
    if not same or typed_arguments(wanted.words, wanted.json_text, job.tool) != job.arguments:
        raise used_otherwise()
    return job


async def _start(setup: Setup, wanted: _Wanted) -> PhoneJob:
    from homing_client.cli.job_arguments import typed_arguments  # noqa: PLC0415  # keep help quick
    from homing_client.rpc.phone_calls import ResidentGoneError  # noqa: PLC0415  # as above

    async with jobs_calls(setup) as calls:
        if wanted.repeated:
            for job in await calls.list(refresh=False):
                if job.request_id == wanted.request_id:
                    return _repeated(job, wanted)
        tool, node = await _tool(setup, calls, wanted)
        arguments = typed_arguments(wanted.words, wanted.json_text, tool)
        allowed = await _allowed(tool, node, arguments, wanted)
        try:
            return await _hand_in(calls, tool, arguments, wanted, allowed=allowed)
        except ResidentGoneError:
            pass  # its heir is told the same under the same id, which starts nothing twice
    async with jobs_calls(setup) as calls:
        return await _hand_in(calls, tool, arguments, wanted, allowed=allowed)


async def _tool(setup: Setup, calls: PhoneJobsCalls, wanted: _Wanted) -> tuple[ToolSpec, str]:
    """The tool that is meant, and the name of its node.

    Raises:
        HomingError: there is none; see `choose_tool`.
    """
    from homing_core.errors import NotFoundError, UnavailableError  # noqa: PLC0415  # keep help quick

    from homing_client.attach import attached_channel  # noqa: PLC0415  # as above
    from homing_client.cli.job_tool import choose_tool  # noqa: PLC0415  # as above
    from homing_client.rpc.phone_calls import PhoneCalls  # noqa: PLC0415  # as above

    nodes = await calls.tools()
    try:
        return choose_tool(nodes, wanted.tool, wanted.node)
    except (NotFoundError, UnavailableError):  # perhaps the phone's own tool was meant
        async with attached_channel(setup) as channel:
            here, _ = await PhoneCalls(channel).tools()
        return choose_tool(nodes, wanted.tool, wanted.node, {spec.name for spec in here})


async def _hand_in(
    calls: PhoneJobsCalls,
    tool: ToolSpec,
    arguments: JsonObject,
    wanted: _Wanted,
    *,
    allowed: bool,
) -> PhoneJob:
    from homing_client.cli.job_arguments import full_name  # noqa: PLC0415  # keep help quick

    return await calls.start(
        full_name(tool),
        arguments,
        node=tool.node,
        sensitivity=wanted.sensitivity,
        request_id=wanted.request_id,
        allowed=allowed,
        schema_hash=tool.schema_hash,
    )


async def _allowed(tool: ToolSpec, node: str, arguments: JsonObject, wanted: _Wanted) -> bool:
    """Whether the person allows it; a tool that only reads needs no word.

    Raises:
        RefusedError: it does, and the answer is no, or nobody can be asked.
    """
    from homing_core.errors import RefusedError  # noqa: PLC0415  # keep help quick

    from homing_client.cli.consent import ask_yes, show_step  # noqa: PLC0415  # as above
    from homing_client.cli.tool_words import effect_text, needs_consent  # noqa: PLC0415  # as above
    from homing_client.cli.typed import somebody_is_there  # noqa: PLC0415  # as above

    if wanted.allow or not needs_consent(tool):
        return wanted.allow
    what = f"{tool.name} {effect_text(tool)}, so it needs your word"
    if not somebody_is_there(as_json=wanted.as_json):
        raise RefusedError(what, "Nobody can be asked here. Allow it: --allow")
    show_step(tool, arguments, f"at {node}", (f"It {effect_text(tool)}.",))
    if await ask_yes():
        return True
    msg = f"{tool.name} was not allowed"
    raise RefusedError(msg, "Nothing was started.")


def _say(setup: Setup, job: PhoneJob, *, as_json: bool, watch: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_agent.runtime.job_words import short_job  # noqa: PLC0415  # as above

    from homing_client.cli.console import aside  # noqa: PLC0415  # as above
    from homing_client.cli.jobs_view import job_object, state_text  # noqa: PLC0415  # as above

    if as_json:
        print_json(job_object(job, "started"))
        return
    number = short_job(job.id)
    aside(f"{number}: {job.tool.name} at {job.node_name}, {state_text(job)}.")
    if not watch:
        aside(f"See it: {setup.command(f'jobs watch {number}')}")
