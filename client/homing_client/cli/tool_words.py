"""Tools in words: what they may do, what they take, and whether a person is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_agent.runtime.job_words import duration_text
from homing_core.provenance import Trust
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


def show_tool(tool: ToolSpec, node_name: str) -> None:
    """One tool with what it takes; `node_name` is empty for the phone's own."""
    from homing_agent.runtime.parameter_words import (  # noqa: PLC0415  # keep help quick
        example_words,
        parameter_words,
    )
    from rich.padding import Padding  # noqa: PLC0415  # as above
    from rich.text import Text  # noqa: PLC0415  # as above

    from homing_client.cli.console import aside, out, printable  # noqa: PLC0415  # as above

    where = f"at {node_name}" if node_name else "on this phone"
    out.print(Text(printable(f"{tool.name} {where}"), style="bold"))
    out.print(Text(printable(" ".join(tool.description.split()))))
    asks = "asks you first" if needs_consent(tool) else "asks nobody"
    facts = [effect_text(tool), asks, "trusted" if tool.output_trust is Trust.TRUSTED else ""]
    facts[2] = "its output is trusted" if facts[2] else "its output is not trusted"
    facts.append("may be repeated" if tool.idempotent else "is never repeated by itself")
    if tool.typical_ms >= 1000:  # noqa: PLR2004  # a second
        facts.append(f"usually {duration_text(tool.typical_ms / 1000)}")
    out.print(Text(" · ".join(facts), style="dim"))
    for one in parameter_words(tool.parameters):
        out.print(Padding.indent(Text.assemble((one.name, "bold"), f"  {one.facts}"), 2))
        if one.description:
            out.print(Padding.indent(Text(one.description, style="dim"), 6))
    if node_name:
        words = " ".join(["homing jobs start", tool.name, *example_words(tool.parameters)])
        aside(f"By hand: {words}")


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
