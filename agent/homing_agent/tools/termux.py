"""Android through Termux:API's commands. Each is offered only where its command is installed.

The commands hang when the Termux:API app is missing, print `API_ERROR` with status 0 when Android
denies a permission, and print their usage with status 0 when they do not understand. So every run
has a time limit and every output is read strictly.
"""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, ClassVar, cast

from homing_core.errors import InvalidDataError, UnavailableError
from homing_core.provenance import Trust
from homing_core.tools import EffectClass, ToolSpec, Topic

from homing_agent.tool import AskPersonError, ToolContext, ToolOutput, UnknownOutcomeError
from homing_agent.tools.arguments import text_argument
from homing_agent.tools.base import Builtin
from homing_agent.tools.command import run_command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.canonical import JsonObject, JsonValue

TIMEOUT_S = 10.0
_MOST_MESSAGE = 1000
_NUMBER = re.compile(r"\+?[0-9]{2,20}")
_SPACING = re.compile(r"[ ()./-]")
_USAGE = re.compile(r"^usage\b|illegal|invalid|^error\b|api_error", re.IGNORECASE | re.MULTILINE)


class TermuxTool(Builtin):
    """A tool that is one command.

    Args:
        timeout_s: give up after this many seconds.
    """

    COMMAND: ClassVar[str]

    def __init__(self, timeout_s: float = TIMEOUT_S) -> None:
        """Keep it."""
        self._timeout_s = timeout_s

    def unavailable(self) -> str | None:
        """As in `Tool`."""
        if shutil.which(self.COMMAND) is None:
            return f"it needs {self.COMMAND} from the termux-api package"
        return None

    async def command(self, *arguments: str, stdin: str = "") -> str:
        """Run the command and give what it printed.

        Raises:
            UnavailableError: it failed, or Android refused it.
        """
        output = await run_command(self.COMMAND, arguments, stdin=stdin, timeout_s=self._timeout_s)
        if _USAGE.search(output):
            msg = f"{self.COMMAND} was refused"
            raise UnavailableError(msg, "Allow it for Termux:API in Android's settings.")
        return output.strip()

    async def quiet_command(self, *arguments: str, stdin: str = "") -> None:
        """Run a command that prints nothing when it works.

        Raises:
            UnavailableError: it failed.
            UnknownOutcomeError: it printed something that it does not document.
        """
        if await self.command(*arguments, stdin=stdin):
            msg = f"{self.COMMAND} answered something unexpected"
            raise UnknownOutcomeError(msg, "Run it by hand to see why.")

    async def json_command(self, *arguments: str) -> JsonValue:
        """Run a command that prints JSON.

        Raises:
            UnavailableError: it failed, or printed something else.
        """
        output = await self.command(*arguments)
        try:
            return cast("JsonValue", json.loads(output))
        except (ValueError, RecursionError) as error:
            raise self.unreadable() from error

    def unreadable(self) -> UnavailableError:
        """The error for output that is not what the command documents."""
        msg = f"{self.COMMAND} answered something unexpected"
        return UnavailableError(msg, "Update the termux-api package and the Termux:API app.")


class SendMessage(TermuxTool):
    """Sends a text message (SMS) through `termux-sms-send -n NUMBER`, the text on its input."""

    COMMAND = "termux-sms-send"
    SPEC = ToolSpec(
        name="send_message",
        description="Send a text message (SMS) to a phone number.",
        parameters={
            "type": "object",
            "properties": {
                "number": {"type": "string"},
                "text": {"type": "string", "minLength": 1},
            },
            "required": ["number", "text"],
        },
        effect=EffectClass.SEND,
        output_trust=Trust.TRUSTED,
        topics=frozenset({Topic.OTHER_PEOPLE}),
        typical_ms=1000,
    )
    QUESTIONS: ClassVar[Mapping[str, str]] = {
        "number": "Which number shall I send it to?",
        "text": "What shall I write?",
    }

    def preview(self, arguments: JsonObject) -> str:
        """As in `Tool`."""
        number, text = _message(arguments)
        return f"Send to {number}: {text}"

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        del context
        number, text = _message(arguments)
        # The script splits its arguments at spaces; the number has none, and the text goes apart.
        await self.quiet_command("-n", number, stdin=text)
        return ToolOutput(f"Sent to {number}.", f"I sent the message to {number}.")


class SetTorch(TermuxTool):
    """Switches the torch with `termux-torch on|off`."""

    COMMAND = "termux-torch"
    SPEC = ToolSpec(
        name="set_torch",
        description="Switch the phone's flashlight (torch, lamp) on or off.",
        parameters={
            "type": "object",
            "properties": {"state": {"type": "string", "enum": ["on", "off"]}},
            "required": ["state"],
        },
        effect=EffectClass.SETTINGS,
        idempotent=True,
        output_trust=Trust.TRUSTED,
        typical_ms=500,
    )

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        del context
        state = _state(arguments)
        await self.quiet_command(state)
        return ToolOutput(f"The flashlight is {state}.", f"The flashlight is {state}.")


class SetWifi(TermuxTool):
    """Switches Wi-Fi with `termux-wifi-enable true|false`."""

    COMMAND = "termux-wifi-enable"
    SPEC = ToolSpec(
        name="set_wifi",
        description="Switch Wi-Fi (wlan, wireless internet) on or off.",
        parameters={
            "type": "object",
            "properties": {"state": {"type": "string", "enum": ["on", "off"]}},
            "required": ["state"],
        },
        effect=EffectClass.SETTINGS,
        idempotent=True,
        output_trust=Trust.TRUSTED,
        typical_ms=500,
    )

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        del context
        state = _state(arguments)
        await self.quiet_command("true" if state == "on" else "false")
        return ToolOutput(f"Wi-Fi is {state}.", f"Wi-Fi is {state}.")


_STREAMS = {
    "music": re.compile(r"\b(?:music|songs?|media|podcasts?|videos?)\b", re.IGNORECASE),
    "ring": re.compile(r"\bring(?:er|tone|ing)?\b", re.IGNORECASE),
    "alarm": re.compile(r"\balarms?\b", re.IGNORECASE),
    "notification": re.compile(r"\bnotif\w*", re.IGNORECASE),
    "call": re.compile(r"\bcalls?\b", re.IGNORECASE),
}
"""How people name what can be loud."""


class SetVolume(TermuxTool):
    """Sets a stream's volume with `termux-volume STREAM LEVEL`, whose range the command tells."""

    COMMAND = "termux-volume"
    SPEC = ToolSpec(
        name="set_volume",
        description="Set how loud music, ringtone, alarm, calls or notifications are.",
        parameters={
            "type": "object",
            "properties": {
                "percent": {"type": "integer", "minimum": 0, "maximum": 100},
                "stream": {
                    "type": "string",
                    "enum": ["music", "ring", "alarm", "notification", "call", "system"],
                },
            },
            "required": ["percent"],
        },
        effect=EffectClass.SETTINGS,
        idempotent=True,
        output_trust=Trust.TRUSTED,
        typical_ms=800,
    )
    QUESTIONS: ClassVar[Mapping[str, str]] = {"percent": "How loud, in percent?"}

    def complete(self, arguments: JsonObject, request: str) -> JsonObject:
        """As in `homing_agent.completing.Completing`: the stream that is named, if only one is."""
        named = [stream for stream, words in _STREAMS.items() if words.search(request)]
        return {**arguments, "stream": named[0]} if len(named) == 1 else arguments

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        del context
        percent = int(cast("float", arguments["percent"]))
        stream = str(arguments.get("stream", "music"))
        highest = self._highest(await self.json_command(), stream)
        await self.quiet_command(stream, str(round(highest * percent / 100)))
        said = f"The {stream} volume is {percent} percent."
        return ToolOutput(said, said)

    def _highest(self, streams: JsonValue, wanted: str) -> int:
        for entry in streams if isinstance(streams, list) else ():
            if isinstance(entry, dict) and entry.get("stream") == wanted:
                highest = entry.get("max_volume")
                if isinstance(highest, int) and not isinstance(highest, bool) and highest > 0:
                    return highest
        raise self.unreadable()


class BatteryLevel(TermuxTool):
    """Reads the battery with `termux-battery-status`."""

    COMMAND = "termux-battery-status"
    SPEC = ToolSpec(
        name="battery_level",
        description="Tell how full the phone's battery is.",
        parameters={"type": "object", "properties": {}},
        effect=EffectClass.READ,
        idempotent=True,
        output_trust=Trust.TRUSTED,
        typical_ms=800,
    )

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        del arguments, context
        status = await self.json_command()
        percent = status.get("percentage") if isinstance(status, dict) else None
        state = status.get("status") if isinstance(status, dict) else None
        if not isinstance(percent, int | float) or isinstance(percent, bool):
            raise self.unreadable()
        if not 0 <= percent <= 100 or not isinstance(state, str):  # noqa: PLR2004  # percent
            raise self.unreadable()
        charging = {"CHARGING": ", charging", "FULL": ", full"}.get(state, "")
        said = f"The battery is at {percent:.0f} percent{charging}."
        return ToolOutput(said, said)


def _state(arguments: JsonObject) -> str:
    return text_argument(arguments, "state")


def _message(arguments: JsonObject) -> tuple[str, str]:
    number = _SPACING.sub("", text_argument(arguments, "number"))
    text = text_argument(arguments, "text", most=_MOST_MESSAGE, lines=True)
    if any(char.isalpha() for char in number):
        msg = "that is a name, not a phone number"
        raise AskPersonError(msg, "Which number shall I send it to?")
    if not _NUMBER.fullmatch(number):
        msg = "that is not a phone number"
        raise InvalidDataError(msg, "It has digits, and perhaps a leading +.")
    return number, text
