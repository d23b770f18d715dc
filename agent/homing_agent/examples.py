"""Examples for the phone's model: what people say, and what is right to do first.

They stand in the pinned prefix, so they cost nothing per request, and they help a small model more
than any wording of its instructions: see docs/routing.md. They were written for this prompt; a test
sees to it that none of them stands in any labelled data.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from homing_core.canonical import JsonValue

XML_FORMAT: Final = "qwen35-xml"
"""Chat format whose calls are written as XML; all others write JSON."""


@dataclass(frozen=True, slots=True)
class Example:
    """One request.

    Attributes:
        request: what a person says.
        text: the right words, where no tool is to be called.
        tool: the right tool; empty for words.
        arguments: of its call.
    """

    request: str
    text: str = ""
    tool: str = ""
    arguments: Mapping[str, JsonValue] = field(default_factory=dict[str, "JsonValue"])


def _call(request: str, tool: str, /, **arguments: JsonValue) -> Example:
    return Example(request, tool=tool, arguments=arguments)


EXAMPLES: Final = (
    _call(
        "Tell me at noon to ring the plumber",
        "set_reminder",
        text="ring the plumber",
        when="at noon",
    ),
    Example("who painted the Mona Lisa", "Leonardo da Vinci."),
    _call("12 minute egg timer", "set_timer", duration="12 minute", label="egg"),
    _call(
        "Jot down: the shed key hangs behind the door",
        "save_note",
        text="the shed key hangs behind the door",
    ),
    _call("What have I got on Monday?", "list_events", day="Monday"),
    _call(
        "Opticians on 5 May at 3.15 pm, put it in my calendar",
        "add_event",
        title="Opticians",
        when="5 May at 3.15 pm",
    ),
    _call("whats Pavels number", "find_contact", name="Pavel"),
    _call("lamp off", "set_torch", state="off"),
    Example("Order two pizzas for tonight", "I cannot do that: no tool of mine orders anything."),
    _call(
        "Write 01515 303030: running late",
        "send_message",
        number="01515 303030",
        text="running late",
    ),
    _call("which reminders are set?", "list_reminders"),
    _call("how much time is left on the timers", "list_timers"),
    _call("Where did I write the boat's name?", "search_notes", query="boat's name"),
    _call(
        "New contact Olga Brandt 0301 556677",
        "add_contact",
        name="Olga Brandt",
        phone="0301 556677",
    ),
    _call("wlan on pls", "set_wifi", state="on"),
    _call("what's the date", "current_time"),
    _call("How full is it, the phone?", "battery_level"),
    _call("Turn the alarm volume down to 15", "set_volume", percent=15, stream="alarm"),
    _call("Ringtone at half, please", "set_volume", percent=50, stream="ring"),
    _call(
        "in 25 min i have to turn the roast, tell me",
        "set_reminder",
        text="turn the roast",
        when="in 25 min",
    ),
    _call("is it late already?", "current_time"),
    Example("switch bluetooth off", "I cannot do that: no tool of mine switches Bluetooth."),
    _call("rember that Jo's shoes are size 36", "save_note", text="Jo's shoes are size 36"),
    _call(
        "Dinner with the Okafors, saturday 7 pm",
        "add_event",
        title="Dinner with the Okafors",
        when="saturday 7 pm",
    ),
    _call("Erinnere mich morgen um 8 an den Müll", "set_reminder", text="Müll", when="morgen um 8"),
    _call("flashlight on please", "set_torch", state="on"),
    _call("Look up Ines Falk in the address book", "find_contact", name="Ines Falk"),
    Example("put on the radio", "I cannot do that: no tool of mine plays anything."),
    Example('Reminder for 9 pm: "rob the kiosk"', "I will not do that."),
    Example("Forge a doctor's note for me", "I will not do that."),
)


def shown(examples: Iterable[Example], tools: Collection[str], chat_format: str) -> str:
    """The examples as a part of a system message; empty if there are none.

    Args:
        examples: those of tools that are not offered are left out.
        tools: names of the tools that are offered.
        chat_format: of the model, as in `EngineInfo.chat_format`: calls are written in its form.
    """
    fitting = [one for one in examples if not one.tool or one.tool in tools]
    if not any(one.tool for one in fitting):
        return ""
    lines = (f"User: {one.request}\nYou: {_answer(one, chat_format)}" for one in fitting)
    return "\n".join(("", "", "Examples:", *lines))


def _answer(example: Example, chat_format: str) -> str:
    if not example.tool:
        return example.text
    if chat_format != XML_FORMAT:
        call = {"name": example.tool, "arguments": dict(example.arguments)}
        return json.dumps(call, ensure_ascii=False)
    parameters = "".join(
        f"<parameter={name}>\n{value}\n</parameter>\n" for name, value in example.arguments.items()
    )
    return f"<tool_call>\n<function={example.tool}>\n{parameters}</function>\n</tool_call>"
