"""`homing-node audit`."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from homing_node.cli.options import ConfigFile, DataDir, Json, Setup, quiet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from homing_core.audit import Entry, Head
    from homing_crypto.audit.store import Filter
    from homing_crypto.audit.verify import Verdict

_EXAMPLES = """
[bold]Examples[/bold]

homing-node audit

homing-node audit show --last 20

homing-node audit show --kind revoked --kind granted --since 7d

homing-node audit verify --head 120:9f86d081884c7d65
"""
_MOST = 500
_LAST = 50
_audit = typer.Typer(rich_markup_mode="rich")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(
        _audit,
        name="audit",
        help="Read or check the record of what this node allowed, refused and did.",
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
    """Read or check the record of what this node allowed, refused and did. Alone: show."""
    setup = Setup(data_dir, config)
    context.obj = setup
    if context.invoked_subcommand is None:
        wanted = _filter("", "", [])
        asyncio.run(_show(setup, _LAST, wanted, follow=False, as_json=as_json))


@_audit.command("verify", epilog="Example: [bold]homing-node audit verify[/bold]")
def verify(
    context: typer.Context,
    *,
    head: Annotated[
        list[str] | None,
        typer.Option(
            "--head",
            metavar="SEQ:HASH",
            help="A head that somebody kept; an owner's phone shows it: homing audit.",
        ),
    ] = None,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Follow the whole record; exit status 1 if anything was altered, left out or cut."""
    found = asyncio.run(_verify(Setup(data_dir, config).or_else(context.obj), head or []))
    _say(_as_one(found), as_json=as_json)


@_audit.command("show", epilog="Example: [bold]homing-node audit show --follow[/bold]")
def show(  # noqa: PLR0913  # each is an option of its own
    context: typer.Context,
    *,
    last: Annotated[
        int, typer.Option("--last", "-n", metavar="N", min=1, max=_MOST, help="The newest N.")
    ] = _LAST,
    since: Annotated[
        str, typer.Option("--since", metavar="TIME", help="Not older: 2h, 7d or a date.")
    ] = "",
    device: Annotated[
        str,
        typer.Option(
            "--device", metavar="ID", help="Done by, or to, the device whose id starts so."
        ),
    ] = "",
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help="Of this kind; may be given several times."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what happens; Ctrl-C ends it.")
    ] = False,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show entries of the record, oldest first."""
    wanted = _filter(since, device, kind or [])
    setup = Setup(data_dir, config).or_else(context.obj)
    asyncio.run(_show(setup, last, wanted, follow=follow, as_json=as_json))


def _filter(since: str, device: str, kinds: Sequence[str]) -> Filter:
    from homing_core.audit_words import since_s  # noqa: PLC0415  # keep help quick
    from homing_core.errors import UsageError  # noqa: PLC0415  # as above
    from homing_crypto.audit.records import AuditKind  # noqa: PLC0415  # as above
    from homing_crypto.audit.store import Filter  # noqa: PLC0415  # as above

    known = [kind.value for kind in AuditKind]
    words = tuple(word.lower().replace("-", "_") for word in kinds)
    for word in words:
        if word not in known:
            msg = "--kind names no kind of entry"
            raise UsageError(msg, f"Choose among {', '.join(known)}.")
    start = max(since_s(since, time.time()), 0.0) if since else 0.0
    return Filter(words, device.lower(), int(start * 1000))


async def _verify(setup: Setup, texts: Sequence[str]) -> Verdict:
    from homing_agent.runtime.localsocket import SocketState, probe  # noqa: PLC0415  # keep quick
    from homing_agent.runtime.paths import socket_path  # noqa: PLC0415  # as above
    from homing_crypto.audit.head import parse_head  # noqa: PLC0415  # as above

    from homing_node.rpc.audit_client import AuditClient  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    heads = [parse_head(text) for text in texts]
    if probe(socket_path(setup.paths)) is not SocketState.LIVE:
        return _verify_file(setup, heads)
    async with AuditClient.connect(setup.paths, setup.command("run")) as daemon:
        return await daemon.verify(heads)


def _verify_file(setup: Setup, heads: Sequence[Head]) -> Verdict:
    from homing_core.errors import NotFoundError  # noqa: PLC0415  # keep help quick
    from homing_crypto.audit.store import AUDIT_FILE, AuditFile  # noqa: PLC0415  # as above

    path = setup.paths.data_dir / AUDIT_FILE
    if not path.exists():
        msg = f"there is no record at {path}"
        raise NotFoundError(msg, f"It begins with: {setup.command('run')}")
    file = AuditFile(path)
    try:
        return file.check(heads)
    finally:
        file.close()


def _as_one(found: Verdict) -> Verdict:
    """A chain that another key went on without the old one's word is not whole."""
    from homing_crypto.audit.verify import Broken, Verified  # noqa: PLC0415  # keep help quick

    if not isinstance(found, Verified) or not found.unvouched:
        return found
    first = found.unvouched[0]
    why = f"from entry {first} on the node ran with another key, without the old one's word"
    return Broken(first, why)


def _say(found: Verdict, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_crypto.audit.verify import Broken  # noqa: PLC0415  # as above

    from homing_node.cli.console import err, out, safe  # noqa: PLC0415  # as above

    if as_json:
        print_json(_verdict_object(found))
    elif isinstance(found, Broken):
        err.print(f"[bold red]Broken[/bold red]: {safe(found.why)}")
        err.print("Compare with what an owner's phone kept (homing audit), and with a backup.")
    else:
        out.print(f"Whole: {found.seq} entries; the head is {found.seq}:{found.hash}")
        for line in _remarks(found.removed, found.lost):
            out.print(line)
    if isinstance(found, Broken):
        raise typer.Exit(1)


def _remarks(removed: int, lost: int) -> list[str]:
    lines: list[str] = []
    if removed:
        lines.append(f"Entries up to {removed} were removed as too old, as the record says.")
    if lost:
        lines.append(f"{lost} entries could not be written at their time, as the record says.")
    return lines


async def _show(setup: Setup, last: int, wanted: Filter, *, follow: bool, as_json: bool) -> None:
    from homing_node.rpc.audit_client import AuditClient  # noqa: PLC0415  # keep help quick

    quiet()
    setup.load()
    async with AuditClient.connect(setup.paths, setup.command("run")) as daemon:
        entries, names = await daemon.show(last, wanted)
        _print(entries, names, as_json=as_json, empty=not follow)
        if follow:
            newest = (await daemon.verify([])).seq if not entries else entries[-1].seq
            async for entry, more in daemon.follow(newest, wanted):
                names |= more
                _print([entry], names, as_json=as_json, empty=False)


def _print(
    entries: Sequence[Entry], names: Mapping[str, str], *, as_json: bool, empty: bool
) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_core.audit_words import details, entry_object, who  # noqa: PLC0415  # as above

    from homing_node.cli.console import moment, out, safe  # noqa: PLC0415  # as above

    if as_json:
        for entry in entries:
            print_json({"event": "entry", **entry_object(entry, names)})
        return
    if not entries:
        if empty:
            out.print("Nothing of this kind was recorded.")
        return
    for entry in entries:
        parts = [f"by {who(entry.actor, names)}"]
        if entry.device and entry.device != entry.actor:
            parts.append(who(entry.device, names))
        parts.append(details(entry))
        line = f"{entry.seq:>5}  {moment(entry.at_ms / 1000)}  {entry.kind}"
        out.print(safe("; ".join([line, *filter(None, parts)])))


def _verdict_object(found: Verdict) -> dict[str, Any]:
    from homing_crypto.audit.verify import Broken  # noqa: PLC0415  # keep help quick

    if isinstance(found, Broken):
        return {"event": "broken", "seq": found.seq, "why": found.why}
    return {
        "event": "whole",
        "seq": found.seq,
        "hash": found.hash,
        "head": f"{found.seq}:{found.hash}",
        "removed": found.removed,
        "lost": found.lost,
    }
