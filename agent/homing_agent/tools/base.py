"""What most built-in tools share."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject
    from homing_core.tools import ToolSpec


class Builtin:
    """A tool that works on every device and whose arguments speak for themselves."""

    SPEC: ClassVar[ToolSpec]

    @property
    def spec(self) -> ToolSpec:
        """As in `Tool`."""
        return self.SPEC

    def unavailable(self) -> str | None:
        """As in `Tool`."""
        return None

    def preview(self, arguments: JsonObject) -> str:
        """As in `Tool`."""
        del arguments
        return ""
