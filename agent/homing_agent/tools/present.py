"""What time it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.provenance import Trust
from homing_core.tools import EffectClass, ToolSpec

from homing_agent.tool import ToolContext, ToolOutput
from homing_agent.tools.base import Builtin
from homing_agent.tools.when import say_moment

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject

    from homing_agent.tools.when import LocalTime


class CurrentTime(Builtin):
    """Reads the clock.

    Args:
        local: the present, here.
    """

    SPEC = ToolSpec(
        name="current_time",
        description="Tell what time it is now, and today's date.",
        parameters={"type": "object", "properties": {}},
        effect=EffectClass.READ,
        idempotent=True,
        output_trust=Trust.TRUSTED,
        typical_ms=5,
    )

    def __init__(self, local: LocalTime) -> None:
        """Keep it."""
        self._local = local

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        del arguments, context
        said = f"It is {say_moment(self._local.now())}."
        return ToolOutput(said, said)
