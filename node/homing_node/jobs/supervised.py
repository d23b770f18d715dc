"""A tool that runs under supervision: it is told to stop, and cannot do anything about it.

The tool runs in a task of its own. What it gives back after it was told to stop is not taken, and
one that does not stop is left behind, without a notebook, a model or a folder.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from homing_agent.runtime.logs import get_logger
from homing_core.errors import HomingError, InternalError

from homing_node.jobs.outputs import failure_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_agent.tool import Tool, ToolContext, ToolOutput
    from homing_core.canonical import JsonObject
    from homing_core.clock import Clock
    from homing_core.ids import JobId

_log = get_logger(__name__)
_AGAIN_S = 1.0


class Why(Enum):
    """Why an attempt was told to end."""

    CANCELLED = "cancelled"
    STOPPING = "stopping"
    """The node goes down; the job is resumed."""
    DROPPED = "dropped"
    """Everything of its device goes."""
    LOST = "lost"
    """Another daemon has the job."""
    PARKED = "parked"
    """It waits for a person."""


_WEIGHT: Final = {Why.PARKED: 0, Why.STOPPING: 0, Why.CANCELLED: 1, Why.LOST: 2, Why.DROPPED: 3}


@dataclass(frozen=True, slots=True)
class Given:
    """What came of a tool.

    Attributes:
        output: what it gave back, whatever that is.
        error: what it raised; None if it gave something back.
    """

    output: object = None
    error: BaseException | None = None


class Supervisor:
    """See the module. Belongs to one event loop.

    Args:
        job: for the log.
        clock: for how long things take.
        stop_s: seconds that a tool which was cancelled may take to stop.
        grace_s: seconds that it may go on when the node stops.
    """

    def __init__(self, job: JobId, clock: Clock, stop_s: float, grace_s: float) -> None:
        """Nothing was told."""
        self._job = job
        self._clock = clock
        self._stop_s = stop_s
        self._grace_s = grace_s
        self._told = asyncio.Event()
        self.why: Why | None = None

    @property
    def told(self) -> bool:
        """Whether it is to end."""
        return self._told.is_set()

    def tell(self, why: Why) -> None:
        """End it, soon. What weighs most counts, and of equals what was said first.

        So an end that is wanted is not forgotten over a question, or a stop of the node.
        """
        if self.why is None or _WEIGHT[why] > _WEIGHT[self.why]:
            self.why = why
        self._told.set()

    async def run(
        self, tool: Tool, arguments: JsonObject, context: ToolContext, may_act: Callable[[], None]
    ) -> Given | None:
        """What came of the tool; None if it was told to stop before anything did.

        Args:
            tool: what is run.
            arguments: checked.
            context: what it may use.
            may_act: called right before the tool is, which does not run if this raises.
        """
        task = asyncio.create_task(_contained(tool, arguments, context, may_act))
        told = asyncio.create_task(self._told.wait())
        await asyncio.wait({task, told}, return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        if self.told:
            if self.why is Why.STOPPING:
                await asyncio.wait({task}, timeout=self._grace_s)
            if not task.done() or self.why not in {Why.STOPPING, Why.CANCELLED}:
                await self._stop(task, tool.spec.name)
                return None
        if task.cancelled():
            msg = f"the tool {tool.spec.name} gave up by itself"
            return Given(error=InternalError(msg, "Hand the job in again."))
        error = task.exception()
        if error is not None:
            if not isinstance(error, HomingError):
                _log.error("job.tool_raised", job=self._job, exc_info=error)
            return Given(error=error)
        return Given(task.result())

    async def _stop(self, task: asyncio.Task[ToolOutput], name: str) -> None:
        """Cancel a tool until it stops, or its time is over."""
        until = self._clock.monotonic() + self._stop_s
        while not task.done():
            task.cancel()
            left = until - self._clock.monotonic()
            if left <= 0:
                _log.error("job.tool_does_not_stop", job=self._job, tool=name)
                task.add_done_callback(_unheard)
                return
            await asyncio.wait({task}, timeout=min(left, _AGAIN_S))
        _unheard(task)


async def _contained(
    tool: Tool, arguments: JsonObject, context: ToolContext, may_act: Callable[[], None]
) -> ToolOutput:
    """Run a tool; what would end the whole process ends only this call."""
    may_act()
    try:
        return await tool.run(arguments, context)
    except (SystemExit, KeyboardInterrupt) as error:
        raise failure_of(tool.spec.name, error) from error


def _unheard(task: asyncio.Task[ToolOutput]) -> None:
    """What a stopped tool raised is of no interest."""
    if not task.cancelled():
        task.exception()
