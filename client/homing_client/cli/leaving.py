"""The question before a node is left without an owner."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer
from homing_core.access import DeviceRole
from homing_core.errors import RefusedError, UsageError
from homing_crypto.naming import match_named

from homing_client.cli.console import printable

if TYPE_CHECKING:
    from homing_client.rpc.phone_devices import PhoneDevicesCalls


async def ask_before_last_owner_leaves(
    calls: PhoneDevicesCalls, node: str, text: str, *, as_json: bool
) -> None:
    """Ask if this phone, the only owner of a node, is about to shut itself out.

    Args:
        calls: to the phone's resident process.
        node: which node.
        text: the device that was named.
        as_json: a script reads the output, which no question may be mixed into.

    Raises:
        UsageError: nobody can be asked.
        typer.Exit: the person said no.
        HomingError: no one device is meant, or the node was not reached.
    """
    try:
        known = await calls.devices(node)
    except RefusedError:  # it is no owner's phone, and may leave
        return
    device = match_named({row.id: row.name for row in known.devices}, text)
    owners = {row.id for row in known.devices if row.role is DeviceRole.OWNER}
    if device != known.own_id or owners != {device}:
        return
    what = f"this phone is the only owner of {printable(known.node)}"
    after = (
        "Without it no phone can look after the devices there, shut one out, or watch the record; "
        "that can be done only at the node itself, where a new owner is paired with: "
        "homing-node pair --role owner"
    )
    if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(what, f"{after}. If that is what you want: --yes")
    typer.echo(f"{what[0].upper()}{what[1:]}. {after}", err=True)
    if not typer.confirm("Leave it all the same?", err=True):
        typer.echo("Nothing was changed.", err=True)
        raise typer.Exit(1)
