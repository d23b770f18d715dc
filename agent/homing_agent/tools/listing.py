"""How read tools show what they found: the same lines for the person and for the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.provenance import Trust

from homing_agent.tool import ToolOutput

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_LINES = 20


def listing(
    heading: str,
    lines: Sequence[str],
    none: str,
    source: str,
    trust: Trust | None = None,
) -> ToolOutput:
    """A heading and its lines, at most `MOST_LINES` of them.

    Args:
        heading: such as "Your reminders:".
        lines: one entry each.
        none: what to say if there are no lines.
        source: a label, such as the file's name.
        trust: as in `ToolOutput`; an empty list is always trusted, since it quotes nothing.
    """
    if not lines:
        return ToolOutput(none, none, trust=Trust.TRUSTED, source=source)
    shown = [f"- {line}" for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append(f"and {len(lines) - MOST_LINES} more.")
    text = "\n".join([heading, *shown])
    return ToolOutput(text, text, trust=trust, source=source)
