"""Running one tool: a time limit, a size limit, and errors that a model can read."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_core.errors import HomingError, InternalError
from homing_core.provenance import Origin, Provenance, Trust
from homing_core.tools import ToolResult

from homing_agent.runtime.logs import get_logger
from homing_agent.tool import UnknownOutcomeError

if TYPE_CHECKING:
    from homing_core.tools import ToolCall, ToolSpec

    from homing_agent.limits import Limits
    from homing_agent.tool import Tool, ToolContext, ToolOutput

MAYBE = "It may have happened all the same: check before asking again."
_log = get_logger("agent")


@dataclass(frozen=True, slots=True)
class Executed:
    """What came of a run.

    Attributes:
        result: for the model.
        say: for the person; empty if a model has to word it.
        error: why it failed; None if it did not.
    """

    result: ToolResult
    say: str
    error: HomingError | None = None


async def execute(tool: Tool, call: ToolCall, context: ToolContext, limits: Limits) -> Executed:
    """Run a call that is valid and allowed. Never raises, except cancellation."""
    try:
        async with asyncio.timeout(limits.tool_s):
            output = await tool.run(call.arguments, context)
    except TimeoutError:
        msg = f"{tool.spec.name} did not end within {limits.tool_s:g} s"
        return failed(call, UnknownOutcomeError(msg, MAYBE))
    except HomingError as error:
        return failed(call, error, tool.spec.output_trust)
    except Exception:  # noqa: BLE001  # a tool is somebody's plug-in: whatever it raises ends here
        _log.exception("a tool failed unexpectedly", tool=tool.spec.name)
        return failed(call, InternalError(f"{tool.spec.name} failed", "Its log says more."))
    return Executed(_result(tool.spec, call, output, limits), cut(output.say, limits.say_chars))


def failed(call: ToolCall, error: HomingError, trust: Trust = Trust.TRUSTED) -> Executed:
    """The result of a call that did not run or did not work.

    Args:
        call: the call.
        error: why.
        trust: of the error's words; those of our own checks are trusted.
    """
    provenance = Provenance(Origin.TOOL, trust, source="homing")
    return Executed(
        ToolResult(call.id, str(error), is_error=True, provenance=provenance), "", error
    )


def _result(spec: ToolSpec, call: ToolCall, output: ToolOutput, limits: Limits) -> ToolResult:
    provenance = Provenance(
        Origin.TOOL,
        spec.output_trust if output.trust is None else output.trust,
        output.sensitivity,
        output.source or spec.name,
    )
    content = cut(output.content, limits.result_chars)
    return ToolResult(call.id, content, is_error=False, provenance=provenance)


def cut(text: str, most: int) -> str:
    """The text, with a word about it if it had to be cut."""
    return text if len(text) <= most else f"{text[:most]}\n(cut after {most} characters)"
