"""Tools for a tool that calls others, with everything that holds for calls of its device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.tools import ToolCall

from homing_node.jobs import rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_agent.tool import Tool, ToolContext, ToolOutput
    from homing_core.canonical import JsonObject
    from homing_core.tools import ToolSpec

    from homing_node.jobs.consenting import JobConsent


class OfferedTool:
    """A tool for a tool that calls others: whatever that one does, nobody's consent is left out.

    Args:
        tool: what it is.
        consent: of the job.
        may_act: called right before the tool is, which does not run if this raises.
    """

    def __init__(self, tool: Tool, consent: JobConsent, may_act: Callable[[], None]) -> None:
        """Keep them."""
        self._tool = tool
        self._consent = consent
        self._may_act = may_act

    @property
    def spec(self) -> ToolSpec:
        """As in `Tool`."""
        return self._tool.spec

    def unavailable(self) -> str | None:
        """As in `Tool`."""
        return self._tool.unavailable()

    def preview(self, arguments: JsonObject) -> str:
        """As in `Tool`."""
        return self._tool.preview(arguments)

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`, if a person has allowed it where one is needed."""
        spec = self._tool.spec
        call = ToolCall(context.call_id, spec.name, arguments)
        preview = self._tool.preview(arguments) if rules.needs_person(spec) else ""
        await self._consent.require(spec, call, preview)
        self._may_act()
        return await self._tool.run(arguments, context)
