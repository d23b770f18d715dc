"""Tools in words: what they may do, and whether a person is asked. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_core.tools import EffectClass, Place

if TYPE_CHECKING:
    from homing_core.tools import ToolSpec

_EFFECTS = {
    EffectClass.READ: "only reads",
    EffectClass.READ_NETWORK: "reads over the network",
    EffectClass.WRITE: "writes files",
    EffectClass.SEND: "sends something",
    EffectClass.SPEND: "spends money",
    EffectClass.DELETE: "deletes things",
    EffectClass.SETTINGS: "may change anything",
}


def effect_text(tool: ToolSpec) -> str:
    """What it may do to the world, as a verb."""
    about = ", ".join(sorted(topic.value.replace("_", " ") for topic in tool.topics))
    return _EFFECTS[tool.effect] + (f" (about {about})" if about else "")


def needs_consent(tool: ToolSpec) -> bool:
    """Whether a person is asked before it runs: what goes to a peer leaves the home."""
    reads = tool.effect is EffectClass.READ and tool.place is not Place.PEER
    return not reads or bool(tool.topics)


def tool_object(tool: ToolSpec, node_name: str = "") -> dict[str, Any]:
    """A tool as `--json` prints it."""
    return {
        "name": tool.name,
        "available": True,
        "where": tool.place.value,
        "node": node_name or None,
        "node_id": tool.node or None,
        "server": tool.server,
        "effect": tool.effect.value,
        "asks": needs_consent(tool),
        "idempotent": tool.idempotent,
        "topics": sorted(topic.value for topic in tool.topics),
        "description": tool.description,
        "parameters": tool.parameters,
        "schema_hash": tool.schema_hash,
    }
