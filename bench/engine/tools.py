"""Thirty tools of the size that people connect: about 3,000 tokens in a prompt."""

from __future__ import annotations

from typing import Any

from homing_core.tools import EffectClass, ToolSpec

_Table = tuple[str, str, dict[str, tuple[str, str]]]

_TOOLS: tuple[_Table, ...] = (
    (
        "set_reminder",
        "Sets a reminder that shows a notification at a given moment, with a text of its own.",
        {"text": ("string", "What to be reminded of."), "when": ("string", "Moment, ISO 8601.")},
    ),
    (
        "set_timer",
        "Starts a countdown that rings when it ends. Use it for durations, not for clock times.",
        {"minutes": ("integer", "Length in minutes."), "label": ("string", "What it is for.")},
    ),
    (
        "set_alarm",
        "Sets an alarm clock for a time of day, once or on several days of the week.",
        {"time": ("string", "Time of day, HH:MM."), "days": ("string", "Days of the week.")},
    ),
    (
        "send_message",
        "Sends a text message to one of the person's contacts through the phone's own network.",
        {"to": ("string", "Name of the contact."), "text": ("string", "What to send.")},
    ),
    (
        "send_email",
        "Writes an electronic mail and puts it into the outbox of the person's main account.",
        {
            "to": ("string", "Address of the receiver."),
            "subject": ("string", "Subject line."),
            "body": ("string", "Plain text of the mail."),
        },
    ),
    (
        "call_contact",
        "Starts a telephone call to a contact. The person has to confirm it on the screen.",
        {"name": ("string", "Name of the contact.")},
    ),
    (
        "find_contact",
        "Looks a contact up by a part of the name and gives its numbers and addresses.",
        {"query": ("string", "Part of the name.")},
    ),
    (
        "add_event",
        "Adds an event to the calendar, with a start, a length and optionally a place.",
        {
            "title": ("string", "What it is."),
            "start": ("string", "Moment, ISO 8601."),
            "minutes": ("integer", "Length in minutes."),
            "place": ("string", "Where it is."),
        },
    ),
    (
        "list_events",
        "Lists the events of the calendar between two days, both of them included.",
        {"first": ("string", "First day, ISO 8601."), "last": ("string", "Last day, ISO 8601.")},
    ),
    (
        "take_note",
        "Stores a note on the phone. Notes can be found again with a search for their words.",
        {"text": ("string", "The note."), "tags": ("string", "Words that sort it, by commas.")},
    ),
    (
        "search_notes",
        "Searches all notes on this phone for words and gives the ones that fit best.",
        {"query": ("string", "Words to look for."), "limit": ("integer", "Most results.")},
    ),
    (
        "get_location",
        "Gives the present position of the phone as latitude, longitude and accuracy in metres.",
        {"accuracy": ("string", "Either coarse or fine; fine takes longer.")},
    ),
    (
        "navigate_to",
        "Opens the map with a route from the present position to an address or a place.",
        {"destination": ("string", "Address or name."), "mode": ("string", "walk, car or bus.")},
    ),
    (
        "get_weather",
        "Gives the weather forecast of one day for a place, with rain, wind and temperatures.",
        {"place": ("string", "Town."), "day": ("string", "Day, ISO 8601; today if left out.")},
    ),
    (
        "play_music",
        "Plays music from the library of the phone: a song, an album, an artist or a list.",
        {"query": ("string", "What to play."), "shuffle": ("boolean", "In random order.")},
    ),
    (
        "pause_music",
        "Pauses whatever is playing now; it can be taken up again where it was paused.",
        {"fade_seconds": ("integer", "Seconds over which it becomes silent.")},
    ),
    (
        "set_volume",
        "Sets the loudness of one of the phone's sound channels in percent of the loudest.",
        {"channel": ("string", "music, ring or alarm."), "percent": ("integer", "0 to 100.")},
    ),
    (
        "set_brightness",
        "Sets the brightness of the screen in percent, or lets the light sensor decide.",
        {"percent": ("integer", "0 to 100."), "automatic": ("boolean", "Let the sensor decide.")},
    ),
    (
        "toggle_flashlight",
        "Switches the light beside the camera on or off. It switches itself off after a while.",
        {"on": ("boolean", "True for on.")},
    ),
    (
        "take_photo",
        "Takes a picture with one of the cameras and stores it in the gallery.",
        {"camera": ("string", "front or back."), "delay": ("integer", "Seconds to wait before.")},
    ),
    (
        "read_battery",
        "Gives the charge of the battery in percent, its temperature and whether it is charging.",
        {"detail": ("boolean", "Whether to give temperature and health as well.")},
    ),
    (
        "search_web",
        "Searches the web and gives titles, addresses and a few lines of the best results.",
        {"query": ("string", "What to look for."), "limit": ("integer", "Most results.")},
    ),
    (
        "fetch_page",
        "Fetches a page of the web and gives its readable text without menus and advertisements.",
        {"url": ("string", "Its address."), "characters": ("integer", "Most characters to give.")},
    ),
    (
        "translate_text",
        "Translates a text into another language and keeps names and numbers as they are.",
        {"text": ("string", "What to translate."), "language": ("string", "Language to write.")},
    ),
    (
        "convert_units",
        "Converts an amount from one unit into another: lengths, weights, volumes, temperatures.",
        {
            "amount": ("number", "How much."),
            "source": ("string", "Unit it is given in."),
            "target": ("string", "Unit that is wanted."),
        },
    ),
    (
        "calculate",
        "Works out an arithmetic expression exactly. Use it for every sum that is not trivial.",
        {"expression": ("string", "Such as (17 + 4) * 2.")},
    ),
    (
        "summarise_folder",
        "Reads all documents of a folder on the home computer and writes a summary with sources.",
        {"folder": ("string", "Path of the folder."), "focus": ("string", "What matters most.")},
    ),
    (
        "search_documents",
        "Searches the indexed documents on the home computer and gives passages with their files.",
        {"query": ("string", "Words to look for."), "limit": ("integer", "Most passages.")},
    ),
    (
        "run_recipe",
        "Runs one of the named recipes that the owner of the home computer has set up.",
        {"name": ("string", "Name of the recipe."), "target": ("string", "What it is to work on.")},
    ),
    (
        "control_light",
        "Switches a lamp at home on or off, or dims it, through the home's own controller.",
        {
            "room": ("string", "Room in which the lamp is."),
            "on": ("boolean", "True for on."),
            "percent": ("integer", "Brightness from 1 to 100."),
        },
    ),
)


def _spec(name: str, description: str, parameters: dict[str, tuple[str, str]]) -> ToolSpec:
    properties: dict[str, Any] = {
        key: {"type": kind, "description": text} for key, (kind, text) in parameters.items()
    }
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": [next(iter(parameters))],
    }
    return ToolSpec(name, description, schema, effect=EffectClass.READ)


THIRTY: tuple[ToolSpec, ...] = tuple(_spec(*row) for row in _TOOLS)
