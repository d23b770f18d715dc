"""How one request's events look to a script: JSON, one object a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_agent.events import (
    FinalAnswer,
    Note,
    RouteChosen,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from homing_agent.ports import ConsentQuestion
from homing_agent.runtime.cli import print_json
from homing_agent.runtime.job_words import plain_number

from homing_client.cli.console import PLACES

if TYPE_CHECKING:
    from homing_agent.request import AskInput, ToolStep
    from homing_core.ids import JobId
    from homing_core.jobs import JobEvent

    from homing_client.sessions import Shown


class JsonReporter:
    """One object a line; the last has `event: "answer"`."""

    def show(self, event: Shown) -> None:
        """Print one object."""
        print_json(event_object(event))

    def silent(self, seconds: float) -> None:
        """A script needs no sign of life."""

    def start_over(self) -> None:
        """Print an object: what came before is void."""
        print_json({"event": "restart"})

    def interrupted(self) -> None:
        """Print an object."""
        print_json({"event": "interrupted"})

    def pause(self) -> None:
        """Nothing is drawn."""

    def left(self, job: ToolProgress | None, request: AskInput) -> None:
        """Print an object: the job and the request go on."""
        print_json(
            {
                "event": "left",
                "job": job.job_id if job else None,
                "node": job.node if job else "",
                "request_id": request.request_id,
            }
        )


def event_object(event: Shown) -> dict[str, Any]:  # noqa: PLR0911  # one for each kind
    """The event as `--json` prints it."""
    match event:
        case TextDelta(text):
            return {"event": "text", "text": text}
        case ThinkingDelta(text):
            return {"event": "thinking", "text": text}
        case Note(text):
            return {"event": "note", "text": text}
        case RouteChosen(place, node, reason, model):
            return {
                "event": "route",
                "route": PLACES[place],
                "node": node,
                "reason": reason,
                "model": model,
            }
        case ToolStarted(step) | ToolFinished(step):
            return {"event": "tool", **step_object(step)}
        case ToolProgress():
            return progress_object(event.job_id, event.node, event.event, event.call_id)
        case ConsentQuestion():
            return {
                "event": "consent",
                "approval_id": event.approval_id,
                "tool": event.tool.name,
                "arguments": event.call.arguments,
                "reason": event.reason,
                "preview": event.preview,
                "expires_at": event.expires_at,
            }
        case FinalAnswer():
            return answer_object(event)


def progress_object(job: JobId, node: str, said: JobEvent, call: str | None) -> dict[str, Any]:
    """What a node said of a job, as `--json` prints it; a number that is not known is null."""
    far = said.progress
    return {
        "event": "progress",
        "job": job,
        "call": call,
        "node": node,
        "state": said.state.value,
        "done": plain_number(far.done) if far else None,
        "total": plain_number(far.total) if far and far.total else None,
        "unit": far.unit if far else "",
        "note": said.note or (far.note if far else ""),
        "approval_id": said.approval_id,
        "at": said.at,
        "seq": said.seq,
    }


def step_object(step: ToolStep) -> dict[str, Any]:
    """A tool call as `--json` prints it."""
    found: dict[str, Any] = {
        "id": step.call.id,
        "name": step.call.name,
        "arguments": step.call.arguments,
        "where": PLACES[step.place],
        "approved_by": step.approved_by,
    }
    if step.result is not None:
        found["result"] = step.result.content
        found["is_error"] = step.result.is_error
    return found


def answer_object(answer: FinalAnswer) -> dict[str, Any]:
    """The last line of `--json`: a contract, see README."""
    return {
        "event": "answer",
        "request_id": answer.request_id,
        "conversation_id": answer.conversation_id,
        "route": PLACES[answer.place],
        "node": answer.node,
        "reason": answer.reason,
        "confidence": round(answer.confidence, 4),
        "model": answer.model,
        "stand_in": answer.stand_in,
        "ttft_ms": round(answer.ttft_ms, 1),
        "total_ms": round(answer.total_ms, 1),
        "text": answer.text,
        "asks": list(answer.asks),
        "tool_calls": [step_object(step) for step in answer.steps],
        "exit_status": answer.exit_status,
        "error": {
            "code": answer.error.code,
            "what": answer.error.what,
            "hint": answer.error.hint,
        }
        if answer.error
        else None,
        "features": dict(answer.features),
    }
