"""Reminders: to-dos (VTODO) with an alarm, in `reminders.ics`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, ClassVar

from homing_core.provenance import Trust
from homing_core.tools import EffectClass, ToolSpec
from icalendar import Alarm as IcalAlarm
from icalendar import Todo

from homing_agent.alarms.base import Alarm, AlarmKind
from homing_agent.completing import with_completed
from homing_agent.tool import ToolContext, ToolOutput
from homing_agent.tools.arguments import text_argument
from homing_agent.tools.base import Builtin
from homing_agent.tools.entries import entry_done, entry_time, entry_title
from homing_agent.tools.icalfile import append_entry, put, read_entries
from homing_agent.tools.listing import listing
from homing_agent.tools.when import parse_future, say_day, say_moment, understood

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from homing_core.canonical import JsonObject
    from icalendar import Component

    from homing_agent.alarms.base import Alarms
    from homing_agent.tools.when import LocalTime

FILE = "reminders.ics"
_USUAL = time(9)
"""When a reminder for a day alone goes off."""
_SET = ToolSpec(
    name="set_reminder",
    description="Remind the user of something at a time.",
    parameters={
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "what to remember", "minLength": 1},
            "when": {"type": "string", "description": "time in the user's words"},
        },
        "required": ["text", "when"],
    },
    effect=EffectClass.WRITE,
    output_trust=Trust.TRUSTED,
    typical_ms=50,
)
_LIST = ToolSpec(
    name="list_reminders",
    description="Show the user's reminders.",
    parameters={"type": "object", "properties": {}},
    effect=EffectClass.READ,
    idempotent=True,
    typical_ms=20,
)


class SetReminder(Builtin):
    """Writes a reminder and sets its alarm.

    Args:
        folder: the data folder.
        local: the present, here.
        alarms: rings at the time.
    """

    SPEC = _SET
    QUESTIONS: ClassVar[Mapping[str, str]] = {
        "text": "What shall I remind you of?",
        "when": "When shall I remind you?",
    }

    def __init__(self, folder: Path, local: LocalTime, alarms: Alarms) -> None:
        """Keep them."""
        self._path = folder / FILE
        self._local = local
        self._alarms = alarms

    def complete(self, arguments: JsonObject, request: str) -> JsonObject:
        """As in `homing_agent.completing.Completing`."""
        now = self._local.now()
        return with_completed(arguments, "when", request, lambda words: understood(words, now))

    def preview(self, arguments: JsonObject) -> str:
        """As in `Tool`."""
        text, at = self._read(arguments)
        return f"Remind you on {say_moment(at)}: {text}"

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        text, at = self._read(arguments)
        await asyncio.to_thread(append_entry, self._path, _todo(text, at, self._local, context))
        self._alarms.add(Alarm(context.call_id, AlarmKind.REMINDER, text, at.timestamp()))
        return ToolOutput(
            content=f"Reminder set for {say_moment(at)}.",
            say=f"I will remind you on {say_moment(at)}: {text}",
            source=FILE,
        )

    def _read(self, arguments: JsonObject) -> tuple[str, datetime]:
        text = text_argument(arguments, "text")
        return text, parse_future(text_argument(arguments, "when"), self._local.now(), _USUAL)


class ListReminders(Builtin):
    """Shows reminders that are not done.

    Args:
        folder: the data folder.
        local: the present, here.
    """

    SPEC = _LIST

    def __init__(self, folder: Path, local: LocalTime) -> None:
        """Keep them."""
        self._path = folder / FILE
        self._local = local

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        del arguments, context
        todos = await asyncio.to_thread(read_entries, self._path, "VTODO")
        open_ones = [todo for todo in todos if not entry_done(todo)]
        far = datetime.max.replace(tzinfo=UTC)
        open_ones.sort(key=lambda todo: entry_time(todo, "DUE", self._local.zone)[0] or far)
        lines = [self._line(todo) for todo in open_ones]
        return listing("Your reminders:", lines, "You have no reminders.", FILE)

    def _line(self, todo: Component) -> str:
        due, has_time = entry_time(todo, "DUE", self._local.zone)
        if due is None:
            return entry_title(todo)
        when = say_moment(due) if has_time else say_day(due)
        return f"{when}: {entry_title(todo)}"


def _todo(text: str, at: datetime, local: LocalTime, context: ToolContext) -> Todo:
    todo = Todo()
    # In UTC, so that no time zone definition need stand in the file.
    now = local.now().astimezone(UTC).replace(microsecond=0)
    put(todo, "uid", f"{context.call_id}@homing")
    put(todo, "dtstamp", now)
    put(todo, "created", now)
    put(todo, "summary", text)
    put(todo, "due", at.astimezone(UTC).replace(microsecond=0))
    put(todo, "status", "NEEDS-ACTION")
    alarm = IcalAlarm()
    put(alarm, "action", "DISPLAY")
    put(alarm, "description", text)
    put(alarm, "trigger", timedelta(), RELATED="END")
    todo.add_component(alarm)
    return todo
