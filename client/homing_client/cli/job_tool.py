"""Which tool of which node a person means, and why there is none. Pure."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from homing_core.errors import (
    ConflictError,
    HomingError,
    NotFoundError,
    RefusedError,
    UnavailableError,
)
from homing_core.labels import clean_label
from homing_core.tools import Place

from homing_client.cli.job_arguments import full_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from homing_core.tools import ToolSpec

    from homing_client.jobs.ports import NodeTools

_ORDER = (Place.HOME, Place.PEER, Place.PHONE)
_MOST_LISTED = 12


def all_offered(nodes: Iterable[NodeTools]) -> tuple[tuple[ToolSpec, str], ...]:
    """Every tool with the name of its node."""
    return tuple((tool, node.node_name) for node in nodes for tool in node.tools)


def choose_tool(
    nodes: Sequence[NodeTools], name: str, node: str, here: Collection[str] = ()
) -> tuple[ToolSpec, str]:
    """The tool that is meant, and its node's name; home comes before peers.

    Args:
        nodes: what each node offers.
        name: the tool's name, or `server.name`.
        node: name or beginning of the id of a node; empty takes any.
        here: names of the phone's own tools.

    Raises:
        UnavailableError: this phone is paired with no node, or none of them answers.
        NotFoundError: there is no such node, or none that answers has the tool.
        RefusedError: this phone may use no tools there.
        ConflictError: several of one node are called so.
    """
    meant = _nodes(nodes, node)
    found = [both for both in all_offered(meant) if name in (both[0].name, full_name(both[0]))]
    if not found:
        raise _why_none(meant, name, here)
    chosen, called = min(found, key=lambda one: _ORDER.index(one[0].place))
    same = [tool for tool, _ in found if tool.node == chosen.node]
    if len(same) > 1:
        names = ", ".join(sorted(full_name(tool) for tool in same))
        msg = f"{called} has {len(same)} tools of this name"
        raise ConflictError(msg, f"Say which: {clean_label(names, 200)}")
    return chosen, called


def closed_to_us(node: NodeTools) -> HomingError:
    """Why a node's tools are not known, for a person."""
    if isinstance(node.error, RefusedError):
        msg = f"this phone may not use tools at {node.node_name}"
        hint = (
            "Ask an owner of it, who can allow that there: "
            "homing-node devices grant PHONE --scopes inference,tools,jobs"
        )
        return RefusedError(msg, hint)
    return node.error or UnavailableError(f"{node.node_name} offers no tools to this phone", "")


def _nodes(nodes: Sequence[NodeTools], text: str) -> Sequence[NodeTools]:
    if not nodes:
        msg = "this phone is paired with no node"
        hint = "On the home computer: homing-node pair. Then here: homing pair LINK"
        raise UnavailableError(msg, hint)
    wanted = text.strip().casefold()
    if not wanted:
        return nodes
    found = [
        node
        for node in nodes
        if node.node_name.casefold() == wanted or node.node.startswith(wanted)
    ]
    if not found:
        msg = f"this phone is paired with no node called {clean_label(text)}"
        raise NotFoundError(msg, f"There is: {', '.join(node.node_name for node in nodes)}")
    return found


def _why_none(nodes: Sequence[NodeTools], name: str, here: Collection[str]) -> HomingError:
    """What keeps a tool from being found."""
    if name in here:
        msg = f"{clean_label(name)} is a tool of this phone, not of a node"
        return NotFoundError(msg, "Say in words what you want: homing ask")
    names = sorted({tool.name for tool, _ in all_offered(nodes)})
    without = [node for node in nodes if not node.tools]
    if not names:
        return closed_to_us(min(without, key=lambda node: node.error is None))
    where = f"{nodes[0].node_name} has no" if len(nodes) == 1 else "no node that answers has a"
    msg = f"{where} tool called {clean_label(name)}"
    near = get_close_matches(name.rpartition(".")[2], names, n=3)
    if near:
        return NotFoundError(msg, f"Did you mean {' or '.join(near)}? See: homing tools")
    more = f", and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    there = f"There is: {', '.join(names[:_MOST_LISTED])}{more}. See: homing tools"
    silent = [node.node_name for node in without if node.error is not None]
    return NotFoundError(msg, f"{there}. Not known of: {', '.join(silent)}" if silent else there)
