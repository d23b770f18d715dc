"""Peers and homes as a person or a script reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from homing_node.cli.console import SHORT_ID, moment, out, safe
from homing_node.peers.views import Standing

if TYPE_CHECKING:
    from homing_node.peers.views import HomeView, PeerView, SharedView


def show_peer(peer: PeerView) -> None:
    """A peer, and how each of our devices stands there."""
    state = "being removed" if peer.leaving else "knows our devices"
    if peer.error is not None:
        state = f"[yellow]{safe(peer.error.what)}[/yellow]"
    out.print(f"[bold]{safe(peer.name)}[/bold], {peer.id[:SHORT_ID]}: {state}")
    out.print(f"  address  {safe(', '.join(peer.addresses))}")
    out.print(f"  last     {moment(peer.pushed_at)}")
    out.print(f"  guests   {'too' if peer.guests else 'not'}")
    for one in peer.devices:
        out.print(f"  device   {safe(one.name) or one.id[:SHORT_ID]}: {safe(_standing(one))}")
    if not peer.devices:
        out.print("  device   none")
    if peer.error is not None and peer.error.hint:
        out.print(f"  {safe(peer.error.hint)}")
    out.print()


def _standing(one: SharedView) -> str:

    until = moment(one.lease_expires_at)
    return {
        Standing.TAKEN: f"let in, until {until} unless renewed",
        Standing.WAITING: "not known there yet",
        Standing.REFUSED: f"not taken: {one.reason}",
        Standing.WITHDRAWING: f"to be taken back; let in until {until} at most",
    }[one.standing]


def show_homes(homes: tuple[HomeView, ...]) -> None:
    """The homes whose devices we take, in a table."""
    table = Table(box=None, pad_edge=False)
    for title in ("Home", "Name", "Devices", "They may", "Tokens a day", "Last seen"):
        table.add_column(title, overflow="fold")
    for home in homes:
        table.add_row(
            home.id[:SHORT_ID],
            safe(home.name),
            f"{home.devices} of {home.most_devices}",
            ", ".join(sorted(scope.value for scope in home.scopes)),
            str(home.limits.tokens_per_day or "as configured"),
            moment(home.last_seen_at),
        )
    out.print(table)


def peer_object(peer: PeerView) -> dict[str, Any]:
    """The peer as `--json` prints it."""
    return {
        "direction": "takes our devices",
        "id": peer.id,
        "name": peer.name,
        "addresses": list(peer.addresses),
        "pushed_at": int(peer.pushed_at) or None,
        "error": {"what": peer.error.what, "hint": peer.error.hint} if peer.error else None,
        "guests": peer.guests,
        "leaving": peer.leaving,
        "devices": [
            {
                "id": one.id,
                "name": one.name or None,
                "state": one.standing.value,
                "lease_expires_at": one.lease_expires_at or None,
                "reason": one.reason or None,
            }
            for one in peer.devices
        ],
    }


def home_object(home: HomeView) -> dict[str, Any]:
    """The home as `--json` prints it."""
    limits = home.limits
    return {
        "direction": "we take its devices",
        "id": home.id,
        "name": home.name,
        "devices": home.devices,
        "most_devices": home.most_devices,
        "scopes": sorted(scope.value for scope in home.scopes),
        "limits": {
            "tokens_per_day": limits.tokens_per_day or None,
            "concurrent_streams": limits.concurrent_streams or None,
            "jobs": limits.jobs or None,
            "models": list(limits.models),
            "tools": list(limits.tools),
            "expires_at": limits.expires_at or None,
            "hours": limits.hours or None,
        },
        "last_seen_at": int(home.last_seen_at) or None,
    }
