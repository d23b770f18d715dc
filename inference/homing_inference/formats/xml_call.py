"""Reads one call written with marks: `<function=NAME>`, `<parameter=KEY>` and their ends.

Values stand raw, so a value may hold what looks like a mark. An ending mark counts only if what
follows it continues the call; `</parameter>` inside a sentence is part of the sentence.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from homing_core.ids import new_tool_call_id
from homing_core.tools import ToolCall

from homing_inference.formats.base import CallNamed, CallParsed
from homing_inference.formats.marks import (
    CALL,
    CALL_END,
    FUNCTION,
    FUNCTION_END,
    PARAMETER,
    PARAMETER_END,
    could_become,
    held_back,
    skip_white,
)
from homing_inference.formats.outcome import FAILED, MORE, Outcome, Status, done
from homing_inference.formats.values import (
    as_arguments,
    load_json,
    parameter_types,
    read_key,
    read_value,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from homing_core.canonical import JsonObject, JsonValue
    from homing_core.tools import ToolSpec

    from homing_inference.formats.base import Parsed

_MAX_NAME = 1024
_MAX_BLANK = 256
_NAME_STOP = re.compile(r"[>\n<]")
_VALUE_STOP = re.compile(r"</parameter>|</function>|</tool_call>|\n<parameter=")
_VALUE_MARKS = (PARAMETER_END, FUNCTION_END, CALL_END, PARAMETER)
_OUTER = (CALL_END, CALL, FUNCTION)
_FOLLOWERS: Mapping[str, Sequence[str]] = {
    PARAMETER_END: (PARAMETER, PARAMETER_END, FUNCTION_END, *_OUTER),
    FUNCTION_END: _OUTER,
}


class _At(Enum):
    NAME = "behind <function="
    BETWEEN = "between parameters"
    KEY = "behind <parameter="
    VALUE = "in a value"
    LOOSE = "in a JSON object where parameters should be"


class XmlCallReader:
    """Reads from `<function=` at `start` to behind `</function>`, or where that is missing.

    Args:
        start: index of `<function=` in the text.
        base: offset in the model's output of the text's first character.
        tools: what is known about the tools, by name; types the values.
    """

    def __init__(self, start: int, base: int, tools: Mapping[str, ToolSpec]) -> None:
        """Stand before the name."""
        self.events: list[Parsed] = []
        self._base = base
        self._tools = tools
        self._at = _At.NAME
        self._token: int = start + len(FUNCTION)
        self._cursor: int = self._token
        self._last_mark: int = self._token
        self._arguments_start: int = self._token
        self._name = ""
        self._key = ""
        self._schema: JsonObject = {}
        self._arguments: dict[str, JsonValue] = {}

    def read(self, text: str, *, ended: bool) -> Outcome:
        """Go on as far as the text allows; arguments as in `JsonCallReader.read`."""
        steps = {
            _At.NAME: self._read_name,
            _At.BETWEEN: self._read_between,
            _At.KEY: self._read_key,
            _At.VALUE: self._read_value,
            _At.LOOSE: self._read_loose,
        }
        while True:
            at = self._at
            outcome = steps[at](text, ended)
            if outcome is not None:
                return outcome

    def _read_word(self, text: str) -> tuple[int, Outcome | None]:
        """The end of a name that starts at the token; an outcome if it has none yet."""
        stop = _NAME_STOP.search(text, self._cursor)
        if (len(text) if stop is None else stop.start()) - self._token > _MAX_NAME:
            return 0, FAILED
        if stop is None:
            self._cursor = len(text)
            return 0, MORE
        end = stop.start()
        if stop[0] == "<" or not text[self._token : end].strip():
            return end, FAILED
        self._cursor = end + (1 if stop[0] == ">" else 0)
        return end, None

    def _read_name(self, text: str, _ended: bool) -> Outcome | None:  # noqa: FBT001  # step
        end, outcome = self._read_word(text)
        if outcome is not None:
            return outcome
        raw = text[self._token : end]
        self._name = read_key(raw)
        start = self._token + len(raw) - len(raw.lstrip())
        stop = start + len(raw.strip())
        if raw.strip()[:1] == raw.strip()[-1:] == '"' and stop - start > 1:
            start, stop = start + 1, stop - 1
        self.events.append(CallNamed(self._name, self._base + start, self._base + stop))
        if self._name in self._tools:
            self._schema = self._tools[self._name].parameters
        self._arguments_start = self._last_mark = self._cursor
        self._at = _At.BETWEEN
        return None

    def _read_between(self, text: str, ended: bool) -> Outcome | None:  # noqa: FBT001  # step
        self._cursor = skip_white(text, self._cursor)
        if self._cursor == len(text):
            return self._complete(self._last_mark) if ended else MORE
        for mark in _VALUE_MARKS:
            if text.startswith(mark, self._cursor):
                return self._take_mark(mark)
        if any(text.startswith(mark, self._cursor) for mark in _OUTER):
            return self._complete(self._last_mark)
        if not ended and could_become(text, self._cursor, (*_VALUE_MARKS, *_OUTER)):
            return MORE
        if text[self._cursor] == "{" and not self._arguments:
            self._token = self._cursor
            self._at = _At.LOOSE
            return None
        # Words where a mark should be: after a parameter they end the call, before one this
        # was never a call but a sentence about calls.
        return self._complete(self._last_mark) if self._arguments else FAILED

    def _take_mark(self, mark: str) -> Outcome | None:
        if mark == CALL_END:
            return self._complete(self._last_mark)
        self._cursor += len(mark)
        if mark == FUNCTION_END:
            return self._complete(self._cursor)
        if mark == PARAMETER_END:  # once too often: models do this
            self._last_mark = self._cursor
            return None
        self._token = self._cursor
        self._at = _At.KEY
        return None

    def _read_key(self, text: str, _ended: bool) -> Outcome | None:  # noqa: FBT001  # step
        end, outcome = self._read_word(text)
        if outcome is not None:
            return outcome
        self._key = read_key(text[self._token : end])
        self._token = self._cursor
        self._at = _At.VALUE
        return None

    def _read_value(self, text: str, ended: bool) -> Outcome | None:  # noqa: FBT001  # step
        while True:
            stop = _VALUE_STOP.search(text, self._cursor)
            if stop is None:
                if ended:
                    self._take_value(text, len(text))
                    return self._complete(len(text))
                self._cursor = self._safe_cursor(text)
                return MORE
            verdict = self._ends_value(text, stop, ended=ended)
            if verdict is Status.MORE:
                self._cursor = stop.start()
                return MORE
            if verdict is Status.DONE:
                self._take_value(text, stop.start())
                # A parameter's own end belongs to it; other marks are read again in between.
                self._cursor = stop.end() if stop[0] == PARAMETER_END else stop.start()
                self._last_mark = self._cursor
                self._at = _At.BETWEEN
                return None
            self._cursor = stop.start() + 1

    def _ends_value(self, text: str, stop: re.Match[str], *, ended: bool) -> Status:
        followers = _FOLLOWERS.get(stop[0])
        if followers is None:  # `</tool_call>`, or the next parameter on a line of its own
            return Status.DONE
        after = skip_white(text, stop.end())
        if after - stop.end() > _MAX_BLANK:
            return Status.FAILED
        if any(text.startswith(mark, after) for mark in followers):
            return Status.DONE
        if after == len(text) or could_become(text, after, followers):
            return Status.DONE if ended else Status.MORE
        return Status.FAILED

    def _safe_cursor(self, text: str) -> int:
        """From where a stop may still begin: an unfinished mark, and a line break before it."""
        start = held_back(text, _VALUE_MARKS)
        if start > self._cursor and text[start - 1] == "\n":
            start -= 1
        return max(self._cursor, start)

    def _take_value(self, text: str, end: int) -> None:
        types = parameter_types(self._schema, self._key)
        self._arguments[self._key] = read_value(text[self._token : end], types)

    def _read_loose(self, text: str, ended: bool) -> Outcome | None:  # noqa: FBT001  # step
        """`<function=f>{"a": 1}</function>`: arguments as JSON, as other model families write."""
        ends = [text.find(mark, self._cursor) for mark in (FUNCTION_END, CALL_END)]
        end = min((found for found in ends if found >= 0), default=len(text) if ended else -1)
        if end < 0:
            self._cursor = max(self._cursor, held_back(text, (FUNCTION_END, CALL_END)))
            return MORE
        try:
            arguments = as_arguments(load_json(text[self._token : end]))
        except ValueError:
            arguments = None
        if arguments is None:
            return FAILED
        self._arguments.update(arguments)
        closed = text.startswith(FUNCTION_END, end)
        return self._complete(end + len(FUNCTION_END) if closed else end)

    def _complete(self, end: int) -> Outcome:
        call = ToolCall(new_tool_call_id(), self._name, self._arguments)
        start = self._base + self._arguments_start if self._arguments else self._base + end
        self.events.append(CallParsed(call, start, self._base + end))
        return done(end)
