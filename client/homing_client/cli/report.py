"""How one request's events look: as JSON lines for scripts, as text for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from homing_agent.events import (
    FinalAnswer,
    Note,
    RouteChosen,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
)
from homing_agent.ports import ConsentQuestion
from homing_agent.runtime.cli import print_json
from homing_core.tools import Place

from homing_client.cli.console import PLACES, err, printable, seconds, write_answer

if TYPE_CHECKING:
    from homing_agent.request import ToolStep

    from homing_client.sessions import Shown


class Reporter(Protocol):
    """Shows events as they come."""

    def show(self, event: Shown) -> None:
        """One event."""
        ...


class JsonReporter:
    """One object a line; the last has `event: "answer"`."""

    def show(self, event: Shown) -> None:
        """Print one object."""
        print_json(event_object(event))


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
        case ConsentQuestion():
            return {
                "event": "consent",
                "approval_id": event.approval_id,
                "tool": event.tool.name,
                "arguments": event.call.arguments,
                "reason": event.reason,
            }
        case FinalAnswer():
            return answer_object(event)


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
        "confidence": round(answer.confidence, 4) if answer.confidence >= 0 else None,
        "model": answer.model,
        "stand_in": answer.stand_in,
        "ttft_ms": round(answer.ttft_ms, 1) if answer.ttft_ms >= 0 else None,
        "total_ms": round(answer.total_ms, 1),
        "text": answer.text,
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


class TextReporter:
    """The answer on standard output, everything around it on standard error.

    Args:
        explain: whether to show what the routing decision saw.
        quiet: whether to leave out everything but the answer.
    """

    def __init__(self, *, explain: bool = False, quiet: bool = False) -> None:
        """Nothing is shown yet."""
        self._explain = explain
        self._quiet = quiet
        self._shown = ""
        self._thinking = False

    def show(self, event: Shown) -> None:
        """Print one event."""
        match event:
            case TextDelta(text):
                self._end_thinking()
                self._shown += text
                write_answer(text)
            case ThinkingDelta(text):
                self._thinking = True
                self._aside(text, end="")
            case Note(text):
                self._line(text)
            case RouteChosen(place, node, reason) if place is not Place.PHONE:
                self._line(f"→ {PLACES[place]} ({node}): {reason}")
            case ToolFinished(step):
                self._line(_step_line(step))
            case FinalAnswer():
                self._final(event)
            case _:
                pass

    def _final(self, answer: FinalAnswer) -> None:
        self._end_thinking()
        if answer.text and not self._shown.endswith(answer.text):
            self._break()
            write_answer(answer.text)
            self._shown += answer.text
        self._break()
        if self._quiet:
            return
        where = PLACES[answer.place] + (f" ({answer.node})" if answer.node else "")
        facts = [where, answer.model + (" (stand-in)" if answer.stand_in else "")]
        if answer.ttft_ms >= 0:
            facts.append(f"first token {seconds(answer.ttft_ms)}")
        facts += [f"total {seconds(answer.total_ms)}", answer.reason]
        self._aside(" · ".join(fact for fact in facts if fact))
        if self._explain:
            for name, value in sorted(answer.features.items()):
                self._aside(f"  {name} = {value:g}")

    def _line(self, text: str) -> None:
        self._end_thinking()
        self._break()
        self._aside(text)

    def _break(self) -> None:
        if self._shown and not self._shown.endswith("\n"):
            write_answer("\n")
            self._shown += "\n"

    def _end_thinking(self) -> None:
        if self._thinking:
            self._thinking = False
            self._aside("")

    def _aside(self, text: str, end: str = "\n") -> None:
        if not self._quiet:
            err.print(printable(text), style="dim", end=end, markup=False, soft_wrap=True)


def _step_line(step: ToolStep) -> str:
    arguments = ", ".join(f"{key}={value!r}" for key, value in step.call.arguments.items())
    mark = "✗" if step.result is None or step.result.is_error else "✓"
    allowed = f", allowed by {step.approved_by}" if step.approved_by else ""
    return f"{mark} {step.call.name}({arguments}) on {PLACES[step.place]}{allowed}"
