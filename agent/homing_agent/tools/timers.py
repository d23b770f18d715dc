"""Timers: alarms after a length of time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, ClassVar

from homing_core.provenance import Trust
from homing_core.tools import EffectClass, ToolSpec

from homing_agent.alarms.base import Alarm, AlarmKind
from homing_agent.completing import with_completed
from homing_agent.tool import ToolContext, ToolOutput
from homing_agent.tools.arguments import optional_text, text_argument
from homing_agent.tools.base import Builtin
from homing_agent.tools.durations import find_duration, parse_duration, say_duration
from homing_agent.tools.listing import listing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.canonical import JsonObject

    from homing_agent.alarms.base import Alarms
    from homing_agent.tools.when import LocalTime

_LONGEST = timedelta(days=7)
_MOST_LABEL = 120
_START = ToolSpec(
    name="set_timer",
    description="Start a countdown timer.",
    parameters={
        "type": "object",
        "properties": {
            "duration": {"type": "string", "description": "length in the user's words"},
            "label": {"type": "string"},
        },
        "required": ["duration"],
    },
    effect=EffectClass.WRITE,
    output_trust=Trust.TRUSTED,
    typical_ms=20,
)
_LIST = ToolSpec(
    name="list_timers",
    description="Show how much time running timers have left.",
    parameters={"type": "object", "properties": {}},
    effect=EffectClass.READ,
    idempotent=True,
    output_trust=Trust.TRUSTED,
    typical_ms=10,
)


class StartTimer(Builtin):
    """Sets an alarm.

    Args:
        local: the present, here.
        alarms: rings at the end.
    """

    SPEC = _START
    QUESTIONS: ClassVar[Mapping[str, str]] = {"duration": "For how long?"}

    def __init__(self, local: LocalTime, alarms: Alarms) -> None:
        """Keep them."""
        self._local = local
        self._alarms = alarms

    def complete(self, arguments: JsonObject, request: str) -> JsonObject:
        """As in `homing_agent.completing.Completing`."""
        return with_completed(
            arguments, "duration", request, lambda words: find_duration(words) is not None
        )

    def preview(self, arguments: JsonObject) -> str:
        """As in `Tool`."""
        length, label = _read(arguments)
        return f"Start a timer{label and f' for {label}'}: {say_duration(length)}"

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        length, label = _read(arguments)
        due = self._local.clock.now() + length.total_seconds()
        self._alarms.add(Alarm(context.call_id, AlarmKind.TIMER, label, due))
        ends = datetime.fromtimestamp(due, self._local.zone)
        said = f"{say_duration(length)}, until {ends:%H:%M:%S}"
        named = f" for {label}" if label else ""
        return ToolOutput(content=f"Timer started: {said}.", say=f"Timer{named} started: {said}.")


class ListTimers(Builtin):
    """Shows timers that have not rung.

    Args:
        local: the present, here.
        alarms: what is set.
    """

    SPEC = _LIST

    def __init__(self, local: LocalTime, alarms: Alarms) -> None:
        """Keep them."""
        self._local = local
        self._alarms = alarms

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        del arguments, context
        now = self._local.clock.now()
        lines = [
            f"{alarm.text or 'timer'}: {_left(alarm.due - now)}"
            for alarm in self._alarms.pending()
            if alarm.kind is AlarmKind.TIMER
        ]
        return listing("Your timers:", lines, "No timer is running.", "timers")


def _left(seconds: float) -> str:
    return f"{say_duration(timedelta(seconds=round(seconds)))} left" if seconds > 0 else "ringing"


def _read(arguments: JsonObject) -> tuple[timedelta, str]:
    length = parse_duration(text_argument(arguments, "duration"), _LONGEST)
    return length, optional_text(arguments, "label", most=_MOST_LABEL)
