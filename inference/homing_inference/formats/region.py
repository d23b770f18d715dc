"""Reads one stretch of an answer that holds calls: what opens it, one call or more, what closes it.

<tool_call> … </tool_call>      calls in either syntax, one or several
<function=NAME> … </function>   a call whose outer mark was left out
{"name": …} or ```json …        at the start of an answer only, and only for a known tool
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from homing_inference.formats.base import CallNamed, CallOpened
from homing_inference.formats.json_call import JsonCallReader, could_start_call
from homing_inference.formats.marks import (
    CALL,
    CALL_END,
    FENCE,
    FUNCTION,
    FUNCTION_END,
    could_become,
    skip_white,
)
from homing_inference.formats.outcome import FAILED, MORE, Outcome, Status, done
from homing_inference.formats.xml_call import XmlCallReader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.tools import ToolSpec

    from homing_inference.formats.base import Parsed

_FENCE_OPEN = re.compile(r"```[A-Za-z_]{0,16}\s")
_FENCE_PART = re.compile(r"`{1,2}|```[A-Za-z_]{0,16}")
_Reader: TypeAlias = JsonCallReader | XmlCallReader


class Opening(Enum):
    """What a stretch of calls begins with."""

    TAG = "<tool_call>"
    FUNCTION = "<function="
    BARE = "{"


class CallRegion:
    """Reads one stretch, which begins with the first character of the text it is given.

    Args:
        opening: what it begins with.
        base: offset of its first character in the model's output.
        tools: the known tools by name.
        known_only: whether only a known tool's name makes it a call; nothing is said before.
    """

    def __init__(
        self, opening: Opening, base: int, tools: Mapping[str, ToolSpec], *, known_only: bool
    ) -> None:
        """Stand before the opening mark."""
        self.events: list[Parsed] = []
        self._opening = opening
        self._base = base
        self._tools = tools
        self._known_only = known_only
        self._held: list[Parsed] = []
        self._reader: _Reader | None = None
        self._cursor = 0
        self._end = 0
        self._calls = 0
        self._listed = False
        self._fenced = False
        if opening is Opening.TAG:
            self._cursor = len(CALL)
            self._note(CallOpened(base))

    @property
    def mark(self) -> str:
        """What is text for certain once this is no call."""
        return "" if self._opening is Opening.BARE else self._opening.value

    def read(self, text: str, *, ended: bool) -> Outcome:
        """Go on as far as the text allows; arguments as in `JsonCallReader.read`.

        What is certain is added to `events`. When done, the outcome's end is behind the last call
        and what closes the stretch.
        """
        while True:
            if self._reader is None:
                outcome = self._read_between(text, ended=ended)
            else:
                outcome = self._read_call(self._reader, text, ended=ended)
            if outcome is not None:
                return outcome

    def give_up(self) -> Outcome:
        """What stands here is no call; what was read before stays read."""
        return done(self._end) if self._calls else FAILED

    def _read_call(self, reader: _Reader, text: str, *, ended: bool) -> Outcome | None:
        outcome = reader.read(text, ended=ended)
        new, reader.events = reader.events, []
        for event in new:
            if self._known_only and isinstance(event, CallNamed) and event.name not in self._tools:
                return self.give_up()
            self._note(event)
        if outcome.status is Status.DONE:
            self._reader = None
            self._calls += 1
            self._cursor = self._end = outcome.end
            return None
        if outcome.status is Status.FAILED or ended:
            return self.give_up()
        return MORE

    def _note(self, event: Parsed) -> None:
        self._held.append(event)
        if not self._known_only or not isinstance(event, CallOpened):
            self.events += self._held
            self._held = []

    def _read_between(self, text: str, *, ended: bool) -> Outcome | None:
        self._cursor = here = skip_white(text, self._cursor)
        if here == len(text):
            return self.give_up() if ended else MORE
        if text.startswith(CALL_END, here):
            return done(here + len(CALL_END)) if self._calls else FAILED
        starts = self._call_starts(text, here)
        if starts:
            self._start(text, here)
            return None
        length = self._closing(text, here) if self._calls else self._leading(text, here)
        if length and starts is not None:
            self._cursor += length
            self._end = self._cursor if self._calls else 0
            return None
        undecided = starts is None or could_become(
            text, here, (FUNCTION, FUNCTION_END, CALL_END, FENCE)
        )
        undecided = undecided or (not self._calls and bool(_FENCE_PART.fullmatch(text, here)))
        return MORE if undecided and not ended else self.give_up()

    def _call_starts(self, text: str, here: int) -> bool | None:
        """Whether a call begins here, in a syntax that this stretch may hold; None if undecided."""
        if text[here] == "{" and self._opening is not Opening.FUNCTION:
            return could_start_call(text, here) if self._opening is Opening.BARE else True
        return self._opening is not Opening.BARE and text.startswith(FUNCTION, here)

    def _start(self, text: str, here: int) -> None:
        if text[here] == "{":
            self._reader = JsonCallReader(here, self._base)
        else:
            self._reader = XmlCallReader(here, self._base, self._tools)
        if self._calls:
            self._note(CallOpened(self._base + here))
        elif self._opening is not Opening.TAG:
            self._note(CallOpened(self._base + skip_white(text, 0)))

    def _leading(self, text: str, here: int) -> int:
        """Length of what may stand before the first call: a fence, a list's bracket."""
        if self._opening is Opening.FUNCTION:
            return 0
        if text[here] == "[" and not self._listed:
            self._listed = True
            return 1
        fence = _FENCE_OPEN.match(text, here)
        if fence and not self._fenced:
            self._fenced = True
            return len(fence[0])
        return 0

    def _closing(self, text: str, here: int) -> int:
        """Length of what may stand behind a call: a comma, a list's end, a fence, a stray mark."""
        if text[here] == "}" and self._opening is not Opening.FUNCTION:  # a brace too many
            return 1
        if text[here] in ",]" and self._listed:
            return 1
        if text.startswith(FENCE, here) and self._fenced:
            self._fenced = False
            return len(FENCE)
        return len(FUNCTION_END) if text.startswith(FUNCTION_END, here) else 0
