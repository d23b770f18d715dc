"""The list of built-in tools, in the order in which the model sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tzlocal

from homing_agent.tools.calendar import AddEvent, ListEvents
from homing_agent.tools.contacts import AddContact, FindContact
from homing_agent.tools.notes import SaveNote, SearchNotes
from homing_agent.tools.present import CurrentTime
from homing_agent.tools.reminders import ListReminders, SetReminder
from homing_agent.tools.termux import BatteryLevel, SendMessage, SetTorch, SetVolume, SetWifi
from homing_agent.tools.timers import ListTimers, StartTimer
from homing_agent.tools.when import LocalTime

if TYPE_CHECKING:
    from datetime import tzinfo
    from pathlib import Path

    from homing_core.clock import Clock

    from homing_agent.alarms.base import Alarms
    from homing_agent.tool import Tool


def builtin_tools(
    folder: Path, clock: Clock, alarms: Alarms, zone: tzinfo | None = None
) -> tuple[Tool, ...]:
    """Every built-in tool; the registry leaves out those that cannot act here.

    Args:
        folder: where reminders, events, notes and contacts lie; made when first written to.
        clock: where time comes from.
        alarms: rings timers, reminders and events.
        zone: the local time zone; None takes the system's.
    """
    local = LocalTime(clock, local_zone() if zone is None else zone)
    return (
        SetReminder(folder, local, alarms),
        StartTimer(local, alarms),
        AddEvent(folder, local, alarms),
        SaveNote(folder),
        AddContact(folder),
        ListReminders(folder, local),
        ListTimers(local, alarms),
        ListEvents(folder, local),
        SearchNotes(folder),
        FindContact(folder),
        CurrentTime(local),
        SendMessage(),
        SetTorch(),
        SetWifi(),
        SetVolume(),
        BatteryLevel(),
    )


def local_zone() -> tzinfo:
    """The system's time zone, with its rules for summer time."""
    return tzlocal.get_localzone()
