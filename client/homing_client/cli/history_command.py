"""`homing history`."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from homing_client.cli.options import ConfigFile, DataDir, Json, Setup

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from homing_agent.journal.history import Conversation, History, Told
    from homing_core.canonical import JsonObject

_EXAMPLES = """
[bold]Examples[/bold]

homing history

homing history search boiler pressure

homing history show last

homing history delete 3f2a
"""
_SHOWN = 20
_ID_CHARS = 8
_TITLE_CHARS = 60
history = typer.Typer(rich_markup_mode="rich")
Which = Annotated[
    str, typer.Argument(metavar="ID", help="last, or the beginning of a conversation's id.")
]
Most = Annotated[
    int, typer.Option("--most", metavar="N", min=1, help="Show at most so many, newest first.")
]


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(
        history,
        name="history",
        help="See, search and delete what was said. It lies on this phone alone.",
        epilog=_EXAMPLES,
    )


@history.callback(invoke_without_command=True)
def group(
    context: typer.Context,
    *,
    most: Most = _SHOWN,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """See what was said. Without a further word: list."""
    context.obj = Setup(data_dir, config)
    if context.invoked_subcommand is None:
        _list(context.obj, "", most, as_json=as_json)


@history.command("list", epilog="Example: [bold]homing history list --most 5[/bold]")
def list_conversations(
    context: typer.Context,
    *,
    most: Most = _SHOWN,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show the conversations, newest first."""
    _list(Setup(data_dir, config).or_else(context.obj), "", most, as_json=as_json)


@history.command("search", epilog="Example: [bold]homing history search boiler[/bold]")
def search(  # noqa: PLR0913  # one for each option
    context: typer.Context,
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="All of them must occur.")],
    *,
    most: Most = _SHOWN,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show the conversations in which some words were said, by anybody."""
    _list(Setup(data_dir, config).or_else(context.obj), " ".join(words), most, as_json=as_json)


@history.command("show", epilog="Example: [bold]homing history show last[/bold]")
def show(
    context: typer.Context,
    which: Which,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show all that was said in a conversation."""
    from homing_agent.journal.history import text_of  # noqa: PLC0415  # keep help quick
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # as above

    with _opened(Setup(data_dir, config).or_else(context.obj)) as opened:
        told = opened.messages(opened.find(which))
    if not as_json:
        _print_messages(told)
        return
    for one in told:
        print_json(
            {
                "event": "message",
                "at": one.at,
                "role": one.message.role.value,
                "text": text_of(one.message),
            }
        )


@history.command("delete", epilog="Example: [bold]homing history delete last[/bold]")
def delete(  # noqa: PLR0913  # one for each option
    context: typer.Context,
    which: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="last, or the beginning of a conversation's id."),
    ] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="Delete all of them.")] = False,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Delete a conversation: every word, every call, and what was allowed in it.

    What jobs at home made stays in homing jobs; notes, reminders and events stay as well.
    """
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_core.errors import UsageError  # noqa: PLC0415  # as above

    if (which is None) is not everything:
        msg = "say which conversation to delete, or --all"
        raise UsageError(msg, "homing history lists them.")
    with _opened(Setup(data_dir, config).or_else(context.obj)) as opened:
        ids = [one.id for one in opened.conversations()] if which is None else [opened.find(which)]
        for conversation in ids:
            opened.forget(conversation)
            if as_json:
                print_json({"event": "deleted", "conversation_id": conversation})
    if not as_json:
        _print(f"Deleted: {len(ids)} conversation{'' if len(ids) == 1 else 's'}.")


@contextlib.contextmanager
def _opened(setup: Setup) -> Generator[History]:
    from homing_agent.journal.history import History  # noqa: PLC0415  # keep help quick
    from homing_agent.runtime.paths import prepare_data_dir  # noqa: PLC0415  # as above

    setup.load()
    prepare_data_dir(setup.paths)
    opened = History.open(setup.paths.data_dir / "journal.db")
    try:
        yield opened
    finally:
        opened.close()


def _list(setup: Setup, words: str, most: int, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    with _opened(setup) as opened:
        found = opened.conversations(words)
    if as_json:
        for one in found[:most]:
            print_json(_to_json(one))
    elif not found:
        _print("Nothing was said with these words." if words else "Nothing was said yet.")
    else:
        for one in found[:most]:
            _print(_line(one))
        if len(found) > most:
            _print(f"… and {len(found) - most} older: --most {len(found)} shows them.")


def _to_json(one: Conversation) -> JsonObject:
    return {
        "event": "conversation",
        "conversation_id": one.id,
        "began_at": one.began_at,
        "last_at": one.last_at,
        "requests": one.requests,
        "title": one.title,
        "found": one.found,
    }


def _line(one: Conversation) -> str:
    from homing_agent.journal.history import short_id  # noqa: PLC0415  # keep help quick

    count = f"{one.requests} request{'' if one.requests == 1 else 's'}"
    line = f"{short_id(one.id)[:_ID_CHARS]}  {_when(one.last_at)}  {count:>12}  {_short(one.title)}"
    return f"{line}\n          {_short(one.found)}" if one.found else line


def _print_messages(told: Sequence[Told]) -> None:
    from homing_agent.journal.history import text_of  # noqa: PLC0415  # keep help quick

    names = {"user": "You", "assistant": "Homing", "tool": "Tool"}
    for one in told:
        role = one.message.role.value
        _print(f"{_when(one.at)}  {names.get(role, role)}: {text_of(one.message)}")


def _when(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC).astimezone():%Y-%m-%d %H:%M}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TITLE_CHARS else f"{line[: _TITLE_CHARS - 1]}…"


def _print(text: str) -> None:
    from homing_client.cli.console import out, printable  # noqa: PLC0415  # keep help quick

    out.print(printable(text), markup=False, soft_wrap=True)
