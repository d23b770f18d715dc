"""The calendar: events (VEVENT) in `calendar.ics`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, ClassVar

from homing_core.errors import InvalidDataError
from homing_core.provenance import Trust
from homing_core.tools import EffectClass, ToolSpec
from icalendar import Alarm as IcalAlarm
from icalendar import Event

from homing_agent.alarms.base import Alarm, AlarmKind
from homing_agent.completing import with_completed
from homing_agent.tool import AskPersonError, ToolContext, ToolOutput
from homing_agent.tools.arguments import optional_text, text_argument
from homing_agent.tools.base import Builtin
from homing_agent.tools.durations import find_duration, parse_duration, say_duration
from homing_agent.tools.entries import entry_repeats, entry_time, entry_title
from homing_agent.tools.icalfile import append_entry, put, read_entries
from homing_agent.tools.listing import listing
from homing_agent.tools.when import parse_when, say_day, say_moment, understood

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from homing_core.canonical import JsonObject
    from icalendar import Component

    from homing_agent.alarms.base import Alarms
    from homing_agent.tools.when import LocalTime

FILE = "calendar.ics"
_USUAL_LENGTH = timedelta(hours=1)
_LONGEST = timedelta(days=14)
_WARNING = timedelta(minutes=10)
"""How long before an event its alarm goes off."""
_ADD = ToolSpec(
    name="add_event",
    description="Put an appointment into the user's calendar.",
    parameters={
        "type": "object",
        "properties": {
            "title": {"type": "string", "minLength": 1},
            "when": {"type": "string", "description": "start in the user's words"},
            "duration": {"type": "string", "description": "length in the user's words"},
        },
        "required": ["title", "when"],
    },
    effect=EffectClass.WRITE,
    output_trust=Trust.TRUSTED,
    typical_ms=50,
)
_LIST = ToolSpec(
    name="list_events",
    description="Show what is in the user's calendar.",
    parameters={
        "type": "object",
        "properties": {"day": {"type": "string", "description": "only this day"}},
    },
    effect=EffectClass.READ,
    idempotent=True,
    typical_ms=20,
)


@dataclass(frozen=True, slots=True)
class _Plan:
    title: str
    start: datetime
    all_day: bool
    length: timedelta

    def say(self) -> str:
        when = f"{say_day(self.start)}, all day"
        if not self.all_day:
            when = f"{say_moment(self.start)}, for {say_duration(self.length)}"
        return f"{self.title} on {when}"


class AddEvent(Builtin):
    """Writes an event and sets its alarm.

    Args:
        folder: the data folder.
        local: the present, here.
        alarms: rings shortly before.
    """

    SPEC = _ADD
    QUESTIONS: ClassVar[Mapping[str, str]] = {
        "title": "What shall the event be called?",
        "when": "When is it?",
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
        return f"Add to your calendar: {self._read(arguments).say()}"

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        plan = self._read(arguments)
        event = _event(plan, self._local.now(), context)
        await asyncio.to_thread(append_entry, self._path, event)
        warning = plan.start - _WARNING
        if not plan.all_day and warning > self._local.now():
            text = f"{plan.title} at {plan.start:%H:%M}"
            self._alarms.add(Alarm(context.call_id, AlarmKind.EVENT, text, warning.timestamp()))
        return ToolOutput(
            content=f"Added: {plan.say()}.",
            say=f"It is in your calendar: {plan.say()}.",
            source=FILE,
        )

    def _read(self, arguments: JsonObject) -> _Plan:
        title = text_argument(arguments, "title")
        now = self._local.now()
        when = text_argument(arguments, "when")
        if find_duration(when) is not None:
            msg = "that is how long it takes, not when it is"
            raise AskPersonError(msg, "When is it?")
        moment = parse_when(when, now)
        words = optional_text(arguments, "duration")
        length = parse_duration(words, _LONGEST) if words else _USUAL_LENGTH
        passed = moment.at <= now if moment.has_time else moment.at.date() < now.date()
        if passed:
            said = say_moment(moment.at) if moment.has_time else say_day(moment.at)
            msg = f"{said} has passed"
            raise AskPersonError(msg, "Which time do you mean?")
        if not moment.has_time and words:
            msg = "a length needs a time of day"
            raise InvalidDataError(msg, "Say the time as well, like: friday at 3pm.")
        return _Plan(title, moment.at, not moment.has_time, length)


class ListEvents(Builtin):
    """Shows the events of one day, or the next ones.

    Args:
        folder: the data folder.
        local: the present, here.
    """

    SPEC = _LIST

    def __init__(self, folder: Path, local: LocalTime) -> None:
        """Keep them."""
        self._path = folder / FILE
        self._local = local

    def complete(self, arguments: JsonObject, request: str) -> JsonObject:
        """As in `homing_agent.completing.Completing`."""
        now = self._local.now()
        return with_completed(arguments, "day", request, lambda words: understood(words, now))

    def preview(self, arguments: JsonObject) -> str:
        """As in `Tool`."""
        self._first_day(arguments)
        return ""

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        del context
        first, one_day = self._first_day(arguments)
        last = first + timedelta(days=1) if one_day else datetime.max.replace(tzinfo=UTC)
        events = await asyncio.to_thread(read_entries, self._path, "VEVENT")
        found: list[tuple[datetime, str]] = []
        for event in events:
            start, has_time = entry_time(event, "DTSTART", self._local.zone)
            if start is None or start >= last:
                continue
            if entry_repeats(event):
                found.append((start, f"{entry_title(event)} (repeats, first on {say_day(start)})"))
            elif _end(event, start, self._local) > first:
                when = say_moment(start) if has_time else say_day(start)
                found.append((start, f"{when}: {entry_title(event)}"))
        lines = [line for _, line in sorted(found)]
        day = f" on {say_day(first)}" if one_day else ""
        return listing(f"Your events{day}:", lines, f"You have no events{day}.", FILE)

    def _first_day(self, arguments: JsonObject) -> tuple[datetime, bool]:
        words = optional_text(arguments, "day")
        now = self._local.now()
        if not words:
            return now, False
        day = parse_when(words, now).at
        return day.replace(hour=0, minute=0, second=0, microsecond=0), True


def _end(event: Component, start: datetime, local: LocalTime) -> datetime:
    end, _ = entry_time(event, "DTEND", local.zone)
    if end is not None:
        return end
    return start + timedelta(days=1) if start.time() == time() else start + _USUAL_LENGTH


def _event(plan: _Plan, now: datetime, context: ToolContext) -> Event:
    event = Event()
    put(event, "uid", f"{context.call_id}@homing")
    put(event, "dtstamp", now.astimezone(UTC).replace(microsecond=0))
    put(event, "summary", plan.title)
    if plan.all_day:
        put(event, "dtstart", plan.start.date())
        put(event, "dtend", plan.start.date() + timedelta(days=1))
        return event
    # In UTC, so that no time zone definition need stand in the file.
    start = plan.start.astimezone(UTC).replace(microsecond=0)
    put(event, "dtstart", start)
    put(event, "dtend", start + plan.length)
    alarm = IcalAlarm()
    put(alarm, "action", "DISPLAY")
    put(alarm, "description", plan.title)
    put(alarm, "trigger", -_WARNING)
    event.add_component(alarm)
    return event
