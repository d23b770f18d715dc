"""A call as a task of the server (MCP 2025-11-25): begin, ask how it goes, fetch what came of it.

The task's id is kept in the notebook, so a job that goes on after a restart finds a task that still
runs. The SDK has the types of tasks but no client for them: its session would take no task for an
answer to a call, so that one message goes through its dispatcher.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from homing_core.jobs import JobProgress
from homing_core.labels import clean_label
from mcp.shared.exceptions import MCPError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.shared.dispatcher import ProgressFnT

    from homing_agent.mcp.connection import Connection
    from homing_agent.tool import ToolContext

_POLL_SECONDS: Final = (0.05, 30.0)
_DEFAULT_POLL_SECONDS: Final = 2.0
_TASK_MS: Final = 24 * 3600 * 1000
_KEPT: Final = "mcp_task"


class TaskCall:
    """One call.

    Args:
        connection: the session.
        tool: the server's own name of the tool.
        context: where progress and the task's id go.
        heard: called whenever the server has answered.
        progress: takes the server's own words of progress.
    """

    def __init__(
        self,
        connection: Connection,
        tool: str,
        context: ToolContext,
        heard: Callable[[], None],
        progress: ProgressFnT,
    ) -> None:
        """Nothing has been sent."""
        self._connection = connection
        self._session = connection.session
        self._tool = tool
        self._context = context
        self._heard = heard
        self._progress = progress
        self._id = ""

    async def run(self, arguments: dict[str, Any]) -> types.CallToolResult:
        """Make the call and wait for what comes of it. Raises `MCPError`, `ValidationError`."""
        task: types.Task = await self._kept() or await self._begin(arguments)
        self._id = task.task_id
        note = ""
        while task.status in {"working", "input_required"}:
            if task.status == "input_required":
                # Its question comes as a request of the server, which is refused.
                await self.cancel()
                raise MCPError(types.INVALID_REQUEST, "it asks for further input, not given here")
            await asyncio.sleep(_poll_seconds(task.poll_interval))
            get = types.GetTaskRequest(params=types.GetTaskRequestParams(task_id=self._id))
            task = await self._session.send_request(get, types.GetTaskResult)
            self._heard()
            said = clean_label(task.status_message or "", 200, "")
            if said and said != note:
                note = said
                self._context.report(JobProgress(0, 0, note=said))
        if task.status == "cancelled":
            raise MCPError(types.INVALID_REQUEST, "the server cancelled it")
        params = types.GetTaskPayloadRequestParams(task_id=self._id)
        return await self._session.send_request(
            types.GetTaskPayloadRequest(params=params), types.CallToolResult
        )

    async def cancel(self) -> None:
        """Tell the server to stop, if it has begun; returns when it has answered."""
        if self._id:
            params = types.CancelTaskRequestParams(task_id=self._id)
            await self._session.send_request(
                types.CancelTaskRequest(params=params), types.CancelTaskResult
            )

    async def _kept(self) -> types.GetTaskResult | None:
        kept = self._context.notebook.get(_KEPT)
        if not isinstance(kept, str):
            return None
        get = types.GetTaskRequest(params=types.GetTaskRequestParams(task_id=kept))
        try:
            return await self._session.send_request(get, types.GetTaskResult)
        except MCPError:
            if self._connection.transport.ended.is_set():
                raise
            return None

    async def _begin(self, arguments: dict[str, Any]) -> types.Task:
        raw = await self._connection.dispatcher.send_raw_request(
            "tools/call",
            {"name": self._tool, "arguments": arguments, "task": {"ttl": _TASK_MS}},
            {"on_progress": self._progress},
        )
        task = types.CreateTaskResult.model_validate(raw, by_name=False).task
        await self._context.notebook.put(_KEPT, task.task_id)
        return task


def _poll_seconds(asked_ms: int | None) -> float:
    low, high = _POLL_SECONDS
    return _DEFAULT_POLL_SECONDS if asked_ms is None else min(high, max(low, asked_ms / 1000))
