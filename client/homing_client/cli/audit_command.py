"""`homing audit`."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from homing_client.cli.options import ConfigFile, DataDir, Json, Setup, Yes

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from homing_core.audit import Entry

    from homing_client.rpc.audit_service import PhoneAuditCalls, RecordRow

_EXAMPLES = """
[bold]Examples[/bold]

homing audit

homing audit verify --node attic

homing audit show --last 20

homing audit accept attic
"""
_MOST = 500
_audit = typer.Typer(rich_markup_mode="rich")

OnNode = Annotated[
    str, typer.Option("--node", metavar="NAME", help="Name or id; may be left out with one home.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(
        _audit,
        name="audit",
        help="See that your home's record of what it allowed and refused is whole.",
        epilog=_EXAMPLES,
    )


@_audit.callback(invoke_without_command=True)
def audit(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Without a further word: what this phone remembers of each home's record."""
    setup = Setup(data_dir, config)
    context.obj = setup
    if context.invoked_subcommand is None:
        asyncio.run(_list(setup, as_json=as_json))


@_audit.command("verify", epilog="Example: [bold]homing audit verify --node attic[/bold]")
def verify(
    context: typer.Context,
    *,
    node: OnNode = "",
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Compare a home's record with what this phone remembers; exit status 1 if it differs."""
    asyncio.run(_verify(_setup(context, data_dir, config), node, as_json=as_json))


@_audit.command("show", epilog="Example: [bold]homing audit show --last 20[/bold]")
def show(  # noqa: PLR0913  # each is an option of its own
    context: typer.Context,
    *,
    node: OnNode = "",
    last: Annotated[
        int, typer.Option("--last", "-n", metavar="N", min=1, max=_MOST, help="The newest N.")
    ] = 50,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show entries of a home's record, oldest first. Only an owner's phone may."""
    asyncio.run(_show(_setup(context, data_dir, config), node, last, as_json=as_json))


@_audit.command("accept", epilog="Example: [bold]homing audit accept attic[/bold]")
def accept(  # noqa: PLR0913  # each is an option of the command
    context: typer.Context,
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of the home, or its id.")],
    *,
    yes: Yes = False,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Take a home's record as it is from now on, although it was cut or altered."""
    from homing_agent.runtime.agreeing import agree  # noqa: PLC0415  # keep help quick

    setup = _setup(context, data_dir, config)
    asyncio.run(_reached(setup))
    lost = "The warning about what it had before ends with that"
    question = f"Take the record at {node} as it is now? {lost}"
    agree(question, yes=yes, as_json=as_json)
    asyncio.run(_accept(setup, node, as_json=as_json))


def _setup(context: typer.Context, data_dir: DataDir, config: ConfigFile) -> Setup:
    outer = context.obj if isinstance(context.obj, Setup) else Setup()
    return Setup(data_dir or outer.data_dir, config or outer.config)


@contextlib.asynccontextmanager
async def _calls(setup: Setup) -> AsyncGenerator[PhoneAuditCalls]:
    from homing_client.attach import attached_channel  # noqa: PLC0415  # keep help quick
    from homing_client.rpc.audit_service import PhoneAuditCalls  # noqa: PLC0415  # as above

    setup.load()
    async with attached_channel(setup) as channel:
        yield PhoneAuditCalls(channel)


async def _reached(setup: Setup) -> None:
    async with _calls(setup) as calls:
        await calls.records()


async def _list(setup: Setup, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_client.cli.console import out  # noqa: PLC0415  # as above

    async with _calls(setup) as calls:
        found = await calls.records()
    if as_json:
        for row in found:
            print_json(record_object(row))
    elif not found:
        out.print("No home yet. On the home computer: homing-node pair.", markup=False)
    else:
        for row in found:
            _say(row)


async def _verify(setup: Setup, node: str, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    async with _calls(setup) as calls:
        row = await calls.check(node)
    if as_json:
        print_json(record_object(row))
    else:
        _say(row)
    if row.trouble:
        raise typer.Exit(1)


async def _accept(setup: Setup, node: str, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    async with _calls(setup) as calls:
        row = await calls.accept(node)
    if as_json:
        print_json(record_object(row))
    else:
        _say(row)


async def _show(setup: Setup, node: str, last: int, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_core.audit_words import entry_object  # noqa: PLC0415  # as above

    async with _calls(setup) as calls:
        entries, names = await calls.show(node, last)
    if as_json:
        for entry in entries:
            print_json({"event": "entry", **entry_object(entry, names)})
    else:
        _print(entries, names)


def _print(entries: Sequence[Entry], names: Mapping[str, str]) -> None:
    from homing_core.audit_words import details, who  # noqa: PLC0415  # keep help quick
    from rich.text import Text  # noqa: PLC0415  # as above

    from homing_client.cli.console import out, printable  # noqa: PLC0415  # as above

    for entry in entries:
        parts = [f"by {who(entry.actor, names)}"]
        if entry.device and entry.device != entry.actor:
            parts.append(who(entry.device, names))
        parts.append(details(entry))
        line = f"{entry.seq:>5}  {_moment(entry.at_ms / 1000)}  {entry.kind}"
        out.print(Text(printable("; ".join([line, *filter(None, parts)]))), soft_wrap=True)


def _say(row: RecordRow) -> None:
    from rich.text import Text  # noqa: PLC0415  # keep help quick

    from homing_client.cli.console import aside, out, printable  # noqa: PLC0415  # as above

    name = printable(row.node_name)
    if row.trouble:
        out.print(Text(f"{name}: {printable(row.trouble)}", style="bold red"), soft_wrap=True)
        head = f" --head {row.kept.to_text()}" if row.kept is not None else ""
        aside(f"Noticed {_moment(row.trouble_at)}. On the node:")
        aside(f"  homing-node audit verify{head}")
        aside(f"If it is explained: homing audit accept {name}")
    elif row.kept is None:
        out.print(Text(f"{name}: nothing compared yet; only an owner's phone does that"))
    else:
        checked = _moment(row.checked_at)
        out.print(Text(f"{name}: {row.kept.seq} entries, whole when last compared, {checked}"))
    if row.kept is not None:
        out.print(Text(f"  head {row.kept.to_text()}"), soft_wrap=True)


def record_object(row: RecordRow) -> dict[str, Any]:
    """The record as `--json` prints it."""
    return {
        "node_id": row.node_id,
        "node": row.node_name,
        "head": row.kept.to_text() if row.kept else None,
        "entries": row.kept.seq if row.kept else 0,
        "at": row.kept.at_ms / 1000 if row.kept else None,
        "checked_at": row.checked_at or None,
        "trouble": row.trouble or None,
        "trouble_at": row.trouble_at or None,
        "shown": row.shown.to_text() if row.shown else None,
    }


def _moment(seconds: float) -> str:
    if not seconds:
        return "never"
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
