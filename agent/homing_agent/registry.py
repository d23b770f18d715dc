"""Which tools this phone offers, and the check that a call must pass before anything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_core.errors import ConflictError, NotFoundError
from homing_core.labels import clean_label

from homing_agent.schema import check_arguments, unsupported

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_core.tools import ToolCall, ToolSpec

    from homing_agent.tool import Tool


@dataclass(frozen=True, slots=True)
class UnavailableTool:
    """A tool that is not offered.

    Attributes:
        name: its name.
        reason: why not, for a person.
    """

    name: str
    reason: str


class Registry:
    """The phone's tools, in the order in which the model sees them.

    Args:
        tools: no two with one name.

    Raises:
        ConflictError: two have the same name.
    """

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        """Take the tools."""
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.spec.name in self._tools:
                msg = f"there are two tools named {tool.spec.name}"
                raise ConflictError(msg, "Give one of them another name.")
            self._tools[tool.spec.name] = tool

    @property
    def names(self) -> frozenset[str]:
        """Every tool, whether it can act here or not."""
        return frozenset(self._tools)

    def offered(self) -> tuple[ToolSpec, ...]:
        """What the model may call: tools that can act on this device."""
        return tuple(tool.spec for tool in self._tools.values() if not _why_not(tool))

    def unavailable(self) -> tuple[UnavailableTool, ...]:
        """What is not offered, and why."""
        reasons = ((name, _why_not(tool)) for name, tool in self._tools.items())
        return tuple(UnavailableTool(name, reason) for name, reason in reasons if reason)

    def get(self, name: str) -> Tool | None:
        """A tool by name, whether it can act here or not; None if there is none."""
        return self._tools.get(name)

    def check(self, call: ToolCall) -> Tool:
        """The tool of a call, once the call is known to be well formed.

        Raises:
            NotFoundError: no such tool is offered; the text is for the model.
            InvalidDataError: the arguments do not fit its schema; the text is for the model.
        """
        tool = self._tools.get(call.name)
        if tool is None or _why_not(tool):
            known = ", ".join(spec.name for spec in self.offered()) or "none"
            msg = f"there is no tool named {clean_label(call.name)!r}"
            raise NotFoundError(msg, f"The tools are: {known}.")
        check_arguments(tool.spec.parameters, call.arguments)
        return tool


def _why_not(tool: Tool) -> str:
    return unsupported(tool.spec.parameters) or tool.unavailable() or ""
