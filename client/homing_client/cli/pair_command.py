"""`homing pair`."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Annotated

import typer
from homing_core.labels import clean_label

from homing_client.cli.options import ConfigFile, DataDir, Json, Setup

if TYPE_CHECKING:
    from homing_client.rpc.pairing_phone import PairingStep
    from homing_client.rpc.phone_calls import NodeRow, PhoneCalls

_EXAMPLES = """
[bold]Examples[/bold]

On the home computer: homing-node pair

On the phone, with what that shows: homing pair 4821-7736

homing pair 4821-7736 --at 192.168.1.20:40123

homing pair 'homing://pair?v=1&a=…'
"""
_SHORT_ID = 12
"""Digits of a device id that the node shows."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("pair", epilog=_EXAMPLES)(pair)


def pair(  # noqa: PLR0913  # one for each option
    *,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="LINK|CODE",
            help="What homing-node pair shows: the link, in quotes, or the eight digits of the "
            "code. - reads it.",
        ),
    ],
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="HOST:PORT",
            help="With a code: where the node shows it. Otherwise it is looked for on this "
            "network.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="What this phone calls itself."),
    ] = None,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Pair this phone with a node, once."""
    from homing_agent.runtime.cli import as_usage  # noqa: PLC0415  # keep help quick
    from homing_core.addresses import parse_address  # noqa: PLC0415  # as above
    from homing_core.errors import UsageError  # noqa: PLC0415  # as above
    from homing_crypto.pairing.code import looks_like_code, parse_code  # noqa: PLC0415  # as above
    from homing_crypto.pairing.link import parse_link  # noqa: PLC0415  # as above

    from homing_client.cli.typed import ask_line, read_text, somebody_is_there  # noqa: PLC0415  # as above

    # What is given as an argument is seen by every user of the machine; - keeps it private.
    if words == ["-"] and somebody_is_there(as_json=as_json):
        text = ask_line("Link or code: ", "link or code")
    else:
        text = read_text(words, "link or code")
    by_code = looks_like_code(text)
    # What is damaged is told without starting anything.
    if by_code:
        with as_usage():
            parse_code(text)
        if at is not None:
            parse_address(at)
    else:
        with as_usage():
            parse_link(text)
        if at is not None:
            msg = "--at goes with a code; a link says itself where the node is"
            raise UsageError(msg, "Leave out --at.")
    called = clean_label(name, fallback="") if name else ""
    setup = Setup(data_dir, config)
    asyncio.run(_pair(setup, text, called, at if by_code else None, as_json=as_json))


async def _pair(setup: Setup, text: str, name: str, at: str | None, *, as_json: bool) -> None:
    from homing_crypto.pairing.code import looks_like_code  # noqa: PLC0415  # keep help quick

    from homing_client.attach import attached  # noqa: PLC0415  # as above

    setup.load()
    async with attached(setup) as phone:
        if looks_like_code(text):
            node = await _by_code(phone, text, name, at or "", as_json=as_json)
        else:
            node = await phone.pair(text, name)
    _show_paired(setup, node, as_json=as_json)


async def _by_code(phone: PhoneCalls, code: str, name: str, at: str, *, as_json: bool) -> NodeRow:
    """Pair while a person at the node is asked; says what it waits for."""
    from homing_core.errors import UnavailableError  # noqa: PLC0415  # keep help quick

    from homing_client.rpc.pairing_phone import pair_by_code  # noqa: PLC0415  # as above
    from homing_client.rpc.phone_calls import NodeRow  # noqa: PLC0415  # as above

    async with contextlib.aclosing(pair_by_code(phone.channel, code, at, name)) as steps:
        async for step in steps:
            if isinstance(step, NodeRow):
                return step
            _show_step(step, as_json=as_json)
    msg = "the pairing came to no end"
    raise UnavailableError(msg, "See whether it is there: homing nodes")


def _show_step(step: PairingStep, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_client.cli.console import aside  # noqa: PLC0415  # as above
    from homing_client.code_pairing import PersonAsked  # noqa: PLC0415  # as above

    if not isinstance(step, PersonAsked):
        if as_json:
            print_json({"event": "looking"})
        else:
            aside("Looking for the node on this network …")
    elif as_json:
        print_json({"event": "waiting", "node": step.node_name, "device_id": step.device_id})
    else:
        aside(f"Waiting for {step.node_name} to let this phone in; a person there may be asked.")
        aside(f"It shows there as device {step.device_id[:_SHORT_ID]}, “{step.device_name}”.")


def _show_paired(setup: Setup, node: NodeRow, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_client.cli.console import aside, out  # noqa: PLC0415  # as above
    from homing_client.cli.nodes_command import node_object  # noqa: PLC0415  # as above

    if as_json:
        print_json({"event": "paired", **node_object(node)})
        return
    out.print(f"Paired with {node.name} as {node.role.value}.", markup=False)
    if node.error is None:
        served = ", ".join(model.name for model in node.models)
        aside(f"It answers at {node.address}" + (f" and serves {served}." if served else "."))
        ask = setup.command('ask --route home "why is the sky blue?"')
        aside(f"Try it: {ask}")
    else:
        aside(f"It does not answer on its main port yet: {node.error}")
        aside(f"See later: {setup.command('nodes')}")
