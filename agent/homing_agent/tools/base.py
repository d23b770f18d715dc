"""What most built-in tools share."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.canonical import JsonObject
    from homing_core.tools import ToolSpec


class Builtin:
    """A tool that works on every device and whose arguments speak for themselves."""

    SPEC: ClassVar[ToolSpec]
    QUESTIONS: ClassVar[Mapping[str, str]] = {}
    """What to ask for each required parameter."""

    @property
    def spec(self) -> ToolSpec:
        """As in `Tool`."""
        return self.SPEC

    def unavailable(self) -> str | None:
        """As in `Tool`."""
        return None

    def question(self, parameter: str) -> str:
        """As in `homing_agent.questions.Asking`."""
        return self.QUESTIONS.get(parameter, "")

    def preview(self, arguments: JsonObject) -> str:
        """As in `Tool`."""
        del arguments
        return ""
