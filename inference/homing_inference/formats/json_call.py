"""Reads one call written as a JSON object, character by character.

A pushdown automaton over JSON's grammar follows the text as it grows, so that the name is known
when its closing quote is there and the object's end is known at its last brace. What small models
get wrong is noted on the way and mended before `json` reads the whole: words from Python, a comma
too many, missing braces at the end.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from homing_core.ids import new_tool_call_id
from homing_core.tools import ToolCall

from homing_inference.formats.base import CallNamed, CallParsed
from homing_inference.formats.marks import WHITE, skip_white
from homing_inference.formats.outcome import FAILED, MORE, Outcome, done
from homing_inference.formats.values import as_arguments, load_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.canonical import JsonObject, JsonValue

    from homing_inference.formats.base import Parsed

_MAX_WORD = 1024
_STRUCTURAL = frozenset('"{}[]:,')
_STRING_STOP = re.compile(r'["\\]')
_WORD = re.compile(r"[A-Za-z0-9+.\-]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORDS = {"true": "true", "false": "false", "null": "null"} | {
    "True": "true",
    "False": "false",
    "None": "null",
}
_NAME_PATHS = (("name",), ("function",), ("function", "name"))
_ARGUMENT_PATHS = tuple(
    (*head, key) for head in ((), ("function",)) for key in ("arguments", "parameters")
)
_FIRST_KEY = re.compile(r'\{\s*"([A-Za-z]*)("?)')
_FIRST_KEYS = frozenset({"name", "function", "type", "id", "arguments", "parameters"})


class _Expect(Enum):
    KEY_OR_END = "key or }"
    KEY = "key"
    COLON = ":"
    VALUE = "value"
    VALUE_OR_END = "value or ]"
    COMMA_OR_END = ", or end"


class JsonCallReader:
    """Reads `{"name": …, "arguments": {…}}` that starts at `start`.

    Also `parameters` for `arguments`, and both inside a `function` object, as OpenAI's API writes.

    Args:
        start: index of the opening brace in the text.
        base: offset in the model's output of the text's first character.
    """

    def __init__(self, start: int, base: int) -> None:
        """Stand before the opening brace."""
        self.events: list[Parsed] = []
        self._start = start
        self._base = base
        self._cursor: int = start
        self._expect = _Expect.VALUE
        self._closers: list[str] = []
        self._path: list[str] = []
        self._string_start: int = -1
        self._comma: int = -1
        self._patches: list[tuple[int, int, str]] = []
        self._named = False
        self._arguments_start: int = -1

    def read(self, text: str, *, ended: bool) -> Outcome:
        """Go on as far as the text allows.

        Args:
            text: everything from the text's first character on; it only grows between calls.
            ended: whether nothing follows and the model ended its turn by itself.
        """
        while self._cursor < len(text):
            outcome = self._step(text, ended=ended)
            if outcome is not None:
                return outcome
        return self._mend(text) if ended else MORE

    def _step(self, text: str, *, ended: bool) -> Outcome | None:
        if self._string_start >= 0:
            if self._read_string(text):
                return None
            return FAILED if ended else MORE
        char = text[self._cursor]
        outcome: Outcome | None = None
        if char in WHITE:
            self._cursor += 1
        elif char.isalnum() or char == "-":
            outcome = self._read_word(text, ended=ended)
        elif not self._take(char):
            outcome = FAILED if char in _STRUCTURAL else self._mend(text)
        if outcome is None and not self._closers and self._expect is _Expect.COMMA_OR_END:
            return self._complete(text, "")
        return outcome

    def _read_word(self, text: str, *, ended: bool) -> Outcome | None:
        if self._expect not in {_Expect.VALUE, _Expect.VALUE_OR_END}:
            whole = len(self._closers) == 1 and self._arguments_start >= 0
            return self._mend(text) if whole else FAILED
        word = _WORD.match(text, self._cursor)
        if word is None or len(word[0]) > _MAX_WORD:
            return FAILED
        if word.end() == len(text) and not ended:
            return MORE
        return None if self._take_word(word[0]) else FAILED

    def _read_string(self, text: str) -> bool:
        """Go to the end of the open string; False if the text ends before."""
        while True:
            stop = _STRING_STOP.search(text, self._cursor)
            if stop is None:
                self._cursor = len(text)
                return False
            if stop[0] == "\\":
                if stop.end() == len(text):
                    self._cursor = stop.start()
                    return False
                self._cursor = stop.end() + 1
                continue
            self._cursor = stop.end()
            self._take_string(text, self._string_start, stop.start())
            self._string_start = -1
            return True

    def _take_string(self, text: str, start: int, end: int) -> None:
        if self._expect in {_Expect.KEY, _Expect.KEY_OR_END}:
            self._path[-1] = _decode(text[start:end])
            self._expect = _Expect.COLON
            return
        if tuple(self._path) in _NAME_PATHS and not self._named and start < end:
            self._named = True
            name = _decode(text[start:end])
            self.events.append(CallNamed(name, self._base + start, self._base + end))
        self._expect = _Expect.COMMA_OR_END

    def _take_word(self, word: str) -> bool:
        plain = _WORDS.get(word, "")
        if not plain and not _NUMBER.fullmatch(word):
            return False
        if plain and plain != word:
            self._patches.append((self._cursor, self._cursor + len(word), plain))
        self._note_arguments()
        self._cursor += len(word)
        self._expect = _Expect.COMMA_OR_END
        return True

    def _take(self, char: str) -> bool:
        """Take one structural character; False if it cannot stand here."""
        match char:
            case '"' if self._expect not in {_Expect.COLON, _Expect.COMMA_OR_END}:
                if self._expect in {_Expect.VALUE, _Expect.VALUE_OR_END}:
                    self._note_arguments()
                self._string_start = self._cursor + 1
            case "{" | "[" if self._expect in {_Expect.VALUE, _Expect.VALUE_OR_END}:
                self._note_arguments()
                self._path.append("")
                self._closers.append("}" if char == "{" else "]")
                self._expect = _Expect.KEY_OR_END if char == "{" else _Expect.VALUE_OR_END
            case ":" if self._expect is _Expect.COLON:
                self._expect = _Expect.VALUE
            case "," if self._expect is _Expect.COMMA_OR_END and self._closers:
                self._comma = self._cursor
                self._expect = _Expect.KEY if self._closers[-1] == "}" else _Expect.VALUE
            case "}" | "]" if self._closers and char == self._closers[-1]:
                return self._close()
            case _:
                return False
        self._cursor += 1
        return True

    def _close(self) -> bool:
        after_comma = self._comma >= 0 and (
            self._expect is _Expect.KEY
            or (self._expect is _Expect.VALUE and self._closers[-1] == "]")
        )
        if after_comma:
            self._patches.append((self._comma, self._comma + 1, ""))
        elif self._expect in {_Expect.KEY, _Expect.COLON, _Expect.VALUE}:
            return False
        self._closers.pop()
        self._path.pop()
        self._expect = _Expect.COMMA_OR_END
        self._cursor += 1
        return True

    def _note_arguments(self) -> None:
        if self._arguments_start < 0 and tuple(self._path) in _ARGUMENT_PATHS:
            self._arguments_start = self._cursor

    def _mend(self, text: str) -> Outcome:
        """The object ends here although brackets are open: close them if that gives JSON."""
        if self._string_start >= 0 or self._expect is not _Expect.COMMA_OR_END:
            return FAILED
        return self._complete(text, "".join(reversed(self._closers)))

    def _complete(self, text: str, missing: str) -> Outcome:
        end = len(text[: self._cursor].rstrip(WHITE))
        try:
            value = load_json(self._patched(text, end) + missing)
        except ValueError:
            return FAILED
        call = _as_call(value)
        if call is None or not self._named:
            return FAILED
        name, arguments = call
        start = self._arguments_start if self._arguments_start >= 0 else end
        self.events.append(
            CallParsed(
                ToolCall(new_tool_call_id(), name, arguments), self._base + start, self._base + end
            )
        )
        return done(end)

    def _patched(self, text: str, end: int) -> str:
        pieces: list[str] = []
        here = self._start
        for start, stop, replacement in sorted(self._patches):
            pieces += [text[here:start], replacement]
            here = stop
        pieces.append(text[here:end])
        return "".join(pieces)


def could_start_call(text: str, start: int) -> bool | None:
    """Whether the object at `start` begins as a call does; None while that is undecided."""
    first = _FIRST_KEY.match(text, start)
    if first is None:
        return None if skip_white(text, start + 1) == len(text) else False
    if first[2]:
        return first[1] in _FIRST_KEYS
    if first.end() < len(text):
        return False
    return None if any(key.startswith(first[1]) for key in _FIRST_KEYS) else False


def _decode(inside: str) -> str:
    try:
        value = load_json(f'"{inside}"')
    except ValueError:
        return inside
    return value if isinstance(value, str) else inside


def _as_call(value: JsonValue) -> tuple[str, JsonObject] | None:
    if not isinstance(value, dict):
        return None
    inner: Mapping[str, JsonValue] = value
    function = value.get("function")
    name = value.get("name")
    if isinstance(function, dict) and not isinstance(name, str):
        inner, name = function, function.get("name")
    elif isinstance(function, str) and not isinstance(name, str):
        name = function
    if not isinstance(name, str) or not name:
        return None
    arguments = as_arguments(inner.get("arguments", inner.get("parameters")))
    return None if arguments is None else (name, arguments)
