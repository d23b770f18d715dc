"""The incremental parser of answers: text, thinking, and calls in either syntax.

    fresh ──<think>──► thinking ──</think>──► fresh
      │                   │
      │ a word            │ <tool_call> on a line of its own, for a known tool
      ▼                   ▼
     text ──<tool_call>──► calls ──► fresh, or back to thinking

Fresh is the start of an answer, or the place behind a call: only there may a think block begin, or
a call without marks. What turns out not to be a call is text again, so no word is lost.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from homing_inference.formats.base import ParsedText, ParsedThinking
from homing_inference.formats.marks import (
    CALL,
    CALL_END,
    FUNCTION,
    THINK,
    THINK_END,
    WHITE,
    could_become,
    held_back,
    skip_white,
)
from homing_inference.formats.outcome import Status
from homing_inference.formats.region import CallRegion, Opening

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.tools import ToolSpec

    from homing_inference.formats.base import Parsed

MAX_CALL_CHARS = 256 * 1024
"""An unfinished call longer than this is text."""
_MAX_FAILURES = 64
"""After so many openings that led to no call, an answer's marks are text: bounds the work."""
_MAX_BLANK = 4096
"""White space held back until it is known what follows it."""


class _Mode(Enum):
    FRESH = "fresh"
    TEXT = "text"
    THINKING = "thinking"


class AnswerParser:
    """Reads one answer; see `homing_inference.formats.base.Parser`.

    Args:
        tools: the tools that the model was offered; they type the values of calls.
        starts_in_thinking: whether the answer begins inside a think block.
        continues_text: whether it goes on behind words, so that nothing in it is fresh.
        calls: whether to look for calls at all.
    """

    def __init__(
        self,
        tools: Sequence[ToolSpec],
        *,
        starts_in_thinking: bool = False,
        continues_text: bool = False,
        calls: bool = True,
    ) -> None:
        """Stand before the first character."""
        self._tools = {tool.name: tool for tool in tools}
        start = _Mode.TEXT if continues_text else _Mode.FRESH
        self._mode = _Mode.THINKING if starts_in_thinking else start
        self._calls = calls
        self._region: CallRegion | None = None
        self._buffer = ""
        self._blank = ""
        self._offset = 0
        self._failures = 0
        self._drop_blank = False
        self._line_start = True
        self._after_call = False
        self._joins = True
        self._finished = False
        self._out: list[Parsed] = []

    def feed(self, piece: str) -> list[Parsed]:
        """Take the next piece; give what is certain by now, in order."""
        if not self._finished:
            self._buffer += piece
            self._run(ended=False, end_of_turn=False)
        return self._take_out()

    def finish(self, *, end_of_turn: bool = False) -> list[Parsed]:
        """Nothing follows: give what was held back."""
        if not self._finished:
            self._finished = True
            self._run(ended=True, end_of_turn=end_of_turn)
            if self._drop_blank and not self._buffer.strip(WHITE):
                self._consume(len(self._buffer))
            self._emit(len(self._buffer))
        return self._take_out()

    def _run(self, *, ended: bool, end_of_turn: bool) -> None:
        while self._buffer:
            if self._region is not None:
                going = self._read_region(self._region, ended=ended, end_of_turn=end_of_turn)
            elif self._mode is _Mode.THINKING:
                going = self._read_thinking(ended=ended)
            elif self._mode is _Mode.FRESH:
                going = self._read_fresh(ended=ended)
            else:
                going = self._read_text(ended=ended)
            if not going:
                return

    def _read_fresh(self, *, ended: bool) -> bool:
        start = skip_white(self._buffer, 0)
        if self._drop_blank and start:
            self._consume(start)
            return True
        if start == len(self._buffer):
            if start > _MAX_BLANK:
                self._mode = _Mode.TEXT
            return start > _MAX_BLANK
        for mark, mode in ((THINK, _Mode.THINKING), (THINK_END, _Mode.FRESH)):
            if self._buffer.startswith(mark, start):
                self._consume(start + len(mark))
                self._mode = mode
                self._drop_blank = self._line_start = True
                return True
        if not ended and could_become(self._buffer, start, (THINK, THINK_END)):
            return False
        self._drop_blank = False
        if self._seeks_calls and self._tools and self._buffer[start : start + 1] in ("{", "[", "`"):
            self._open(Opening.BARE, known_only=True)
        else:
            self._mode = _Mode.TEXT
        return True

    def _read_text(self, *, ended: bool) -> bool:
        marks: tuple[str, ...] = (CALL, FUNCTION) if self._seeks_calls else ()
        if self._after_call:
            marks += (CALL_END,)
        here, mark = self._first_of(marks)
        if not mark:
            return self._stream(marks, ended=ended)
        if mark == CALL_END:  # a closing mark too many, behind words that followed the call
            self._emit(here)
            self._consume(len(mark))
            self._joins = False
            return True
        self._emit_before(here)
        self._open(Opening.TAG if mark == CALL else Opening.FUNCTION, known_only=False)
        return True

    def _read_thinking(self, *, ended: bool) -> bool:
        if self._drop_blank:
            self._drop_blank = False
            self._consume(skip_white(self._buffer, 0))
            self._drop_blank = not self._buffer
            return bool(self._buffer)
        marks = (THINK_END, CALL) if self._seeks_calls else (THINK_END,)
        here, mark = self._first_of(marks)
        if not mark:
            return self._stream(marks, ended=ended)
        if mark == CALL and not (self._buffer[here - 1] == "\n" if here else self._line_start):
            self._emit(here + len(mark))
            return True
        self._emit_before(here)
        if mark == CALL:
            self._open(Opening.TAG, known_only=True)
            return True
        self._consume(len(mark))
        self._blank = ""
        self._mode = _Mode.FRESH
        self._drop_blank = self._line_start = True
        return True

    def _read_region(self, region: CallRegion, *, ended: bool, end_of_turn: bool) -> bool:
        outcome = region.read(self._buffer, ended=end_of_turn)
        self._out += region.events
        region.events = []
        overflow = len(self._buffer) > MAX_CALL_CHARS
        if outcome.status is Status.MORE:
            if not ended and not overflow:
                return False
            outcome = region.give_up()
        self._region = None
        if outcome.status is Status.DONE:
            self._blank = ""
            self._consume(outcome.end)
            self._after_call = self._drop_blank = self._line_start = True
            if self._mode is _Mode.TEXT:
                self._mode = _Mode.FRESH
        else:
            self._failures += 1
            self._say(self._blank)
            self._blank = ""
            if self._mode is _Mode.FRESH:
                self._mode = _Mode.TEXT
            self._emit(len(self._buffer) if overflow else len(region.mark))
        return True

    @property
    def _seeks_calls(self) -> bool:
        return self._calls and self._failures < _MAX_FAILURES

    def _open(self, opening: Opening, *, known_only: bool) -> None:
        self._region = CallRegion(opening, self._offset, self._tools, known_only=known_only)

    def _first_of(self, marks: Sequence[str]) -> tuple[int, str]:
        """Where the first of the marks stands, and which; an empty mark if none does."""
        found = [(here, mark) for mark in marks if (here := self._buffer.find(mark)) >= 0]
        return min(found, default=(0, ""))

    def _stream(self, marks: Sequence[str], *, ended: bool) -> bool:
        """Give all that can no longer be part of a mark, or blank space before one."""
        if not ended:
            certain = held_back(self._buffer, marks)
            words = len(self._buffer[:certain].rstrip(WHITE))
            self._emit(words if certain - words <= _MAX_BLANK else certain)
        return False

    def _emit_before(self, here: int) -> None:
        """Give the words before a mark, and keep the blank space between until all is clear."""
        words = len(self._buffer[:here].rstrip(WHITE))
        self._emit(words)
        self._blank = self._buffer[: here - words]
        self._consume(here - words)

    def _emit(self, length: int) -> None:
        if length:
            self._say(self._buffer[:length])
            self._line_start = self._buffer[length - 1] == "\n"
            self._consume(length)

    def _consume(self, length: int) -> None:
        self._buffer = self._buffer[length:]
        self._offset += length

    def _say(self, text: str) -> None:
        kind = ParsedThinking if self._mode is _Mode.THINKING else ParsedText
        last = self._out[-1] if self._out and self._joins else None
        if isinstance(last, kind):
            self._out[-1] = kind(last.text + text)
        elif text:
            self._out.append(kind(text))
            self._joins = True

    def _take_out(self) -> list[Parsed]:
        out, self._out = self._out, []
        return out
