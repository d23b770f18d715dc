"""How devices look: to a person, and to a script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_agent.runtime.device_words import SHORT_ID, device_object, limits_text
from homing_agent.runtime.moments import moment
from homing_core.devices import state_words

if TYPE_CHECKING:
    from homing_client.devices import NodeDevices

_ROOMY = 100
"""Columns from which on a table is easier to read than lines."""


def show_devices(found: NodeDevices) -> None:
    """A table where there is room for one; on a phone's narrow screen a few lines for each."""
    from rich.table import Table  # noqa: PLC0415  # keep help quick
    from rich.text import Text  # noqa: PLC0415  # as above

    from homing_client.cli.console import out, printable  # noqa: PLC0415  # as above

    rows = [
        (
            row.id[:SHORT_ID],
            printable(row.name) + (" (this phone)" if row.id == found.own_id else ""),
            row.role.value,
            state_words(row),
            printable(limits_text(row.limits)),
            moment(row.last_seen_at),
        )
        for row in found.devices
    ]
    if out.width >= _ROOMY:
        table = Table(box=None, pad_edge=False)
        for title in ("Device", "Name", "Role", "State", "Limits", "Last seen"):
            table.add_column(title, overflow="fold")
        for cells in rows:
            table.add_row(*map(Text, cells))
        out.print(table)
        return
    for device, name, role, state, limits, seen in rows:
        out.print(Text(f"{device} {name}, {role}", style="bold"))
        out.print(Text(f"  {state}, last seen {seen}"))
        if limits:
            out.print(Text(f"  {limits}"))


def show_revoked(found: NodeDevices, *, as_json: bool) -> None:
    """Who was shut out, the named device first."""
    first, *others = found.devices
    keys = sum(row.introduced_by == first.introduced_by for row in others)
    brought = [row.name for row in others if row.introduced_by != first.introduced_by]
    more = f", with {keys} other {'key' if keys == 1 else 'keys'} of its own" if keys else ""
    if brought:
        one = len(brought) == 1
        what = "the device" if one else f"the {len(brought)} devices"
        more += f", and {what} that it introduced: {', '.join(brought)}"
    _say(
        {
            "event": "revoked",
            "node": found.node,
            "device": device_object(first),
            "with_it": [row.id for row in others],
        },
        f"Shut out of {found.node}: {first.name}, {first.id[:SHORT_ID]}{more}.",
        as_json=as_json,
    )


def show_limited(found: NodeDevices, *, as_json: bool) -> None:
    """The device with its limits."""
    (row,) = found.devices
    limits = limits_text(row.limits) or "no limits"
    _say(
        {"event": "limited", "node": found.node, "device": device_object(row)},
        f"On {found.node}: {row.name}, {row.id[:SHORT_ID]}: {limits}.",
        as_json=as_json,
    )


def _say(event: dict[str, Any], line: str, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from rich.text import Text  # noqa: PLC0415  # as above

    from homing_client.cli.console import out, printable  # noqa: PLC0415  # as above

    if as_json:
        print_json(event)
    else:
        out.print(Text(printable(line)), soft_wrap=True)
