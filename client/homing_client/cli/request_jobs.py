"""Jobs that run for a request: how far they are, and the words that ask the request again."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from homing_agent.request import RoutePreference

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_agent.events import ToolProgress
    from homing_agent.request import AskInput
    from homing_core.ids import ToolCallId
    from homing_core.tools import ToolCall

    from homing_client.cli.job_progress import JobShow

_MOST_QUESTION = 200
"""Characters of a question that is repeated in a command; of a longer one the person has it."""


class RequestJobs:
    """Shows them, one at a time: the one that was heard of last.

    Args:
        command: a command that reaches the same phone, from its words.
    """

    def __init__(self, command: Callable[[str], str]) -> None:
        """None runs yet."""
        self._command = command
        self._tools: dict[ToolCallId, str] = {}
        self._shows: dict[ToolCallId, JobShow] = {}

    def began(self, call: ToolCall) -> None:
        """A call is about to run, perhaps as a job."""
        self._tools[call.id] = call.name

    def show(self, event: ToolProgress) -> None:
        """One has come further."""
        from homing_client.cli.job_progress import JobShow  # noqa: PLC0415  # rarely needed

        show = self._shows.get(event.call_id)
        if show is None:
            tool = self._tools.get(event.call_id, "a job")
            show = JobShow(event.job_id, tool, event.node, self._command)
            self._shows[event.call_id] = show
        for other in self._shows.values():
            if other is not show:
                other.hide()
        show.show(event.event)

    def hide(self) -> None:
        """Take away what is drawn, so that something else can be printed."""
        for show in self._shows.values():
            show.hide()


def again(request: AskInput) -> str:
    """The words that ask the same request once more, which is harmless."""
    words = ["ask", "--request-id", request.request_id]
    if request.conversation_id:
        words += ["--conversation", request.conversation_id]
    if request.route is not RoutePreference.AUTO:
        words += ["--route", request.route.value]
    if len(request.text) > _MOST_QUESTION:
        return f"{shlex.join(words)} …"
    return shlex.join([*words, request.text])
