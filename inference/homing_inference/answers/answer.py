"""One answer in the making: tokens in, events out. It does not touch the model's context."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Final, Protocol

from homing_core.generation import (
    FinishReason,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
    ToolNamed,
)

from homing_inference.answers.signals import SIGNAL_TOKENS, TokenLog
from homing_inference.answers.stops import StopWatch
from homing_inference.formats.base import (
    CallNamed,
    CallOpened,
    CallParsed,
    ParsedText,
    ParsedThinking,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.generation import NameProbability, SampleEvent

    from homing_inference.answers.choosing import Choice
    from homing_inference.formats.base import Parsed, Parser

_NAME_CHARS: Final = 200
"""No tool's name is longer; what the model writes may be."""


class SeenNames(Protocol):
    """How likely each tool was where a call's name was written; see `NameWatch`."""

    def take(self, start: int) -> tuple[NameProbability, ...]:
        """The names at a call whose name begins at this offset of the answer."""
        ...


class Answer:
    """Turns chosen tokens into events.

    Args:
        parser: reads the answer's text.
        turn_stops: strings that end the model's turn.
        stops: strings at which the caller wants it to end.
        names: knows how likely each tool's name was; None where nobody watches.
        early_names: whether to tell of a call's name before its arguments are written.
    """

    def __init__(
        self,
        parser: Parser,
        turn_stops: Sequence[str] = (),
        stops: Sequence[str] = (),
        names: SeenNames | None = None,
        *,
        early_names: bool = False,
    ) -> None:
        """Nothing is written yet."""
        self._early_names = early_names
        self._seen: tuple[NameProbability, ...] = ()
        self._names = names
        self._parser = parser
        self._turn_stops = frozenset(turn_stops)
        self._stop_watch = StopWatch((*turn_stops, *stops))
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._log = TokenLog()
        self._characters = 0
        self._signals_from = 0
        self._signals_sent = False
        self._opened: CallOpened | None = None
        self._in_call = False
        self._named: CallNamed | None = None
        self._calls = 0

    @property
    def in_call(self) -> bool:
        """Whether a call has been opened that is not whole, and may still become one."""
        return self._in_call

    @property
    def tokens(self) -> int:
        """Tokens so far."""
        return len(self._log)

    def take(self, choice: Choice, piece: bytes) -> tuple[list[SampleEvent], bool]:
        """One more token.

        Args:
            choice: the token.
            piece: its bytes, which may be part of a character.

        Returns:
            What became certain with it, and whether the answer ends here by a stop string; then
            `finish` must not be called.
        """
        text = self._decoder.decode(piece)
        start = self._characters
        self._characters += len(text)
        # A token that only begins a character covers the one that it begins.
        self._log.add(start, max(self._characters, start + 1), choice)
        passed, stop = self._stop_watch.feed(text)
        events = self._events(self._parser.feed(passed) if passed else [])
        if stop is not None:
            return events + self._end(end_of_turn=stop in self._turn_stops), True
        if not self._signals_sent and self.tokens - self._signals_from >= SIGNAL_TOKENS:
            events = self._start_signals() + events
        return events, False

    def finish(self, *, end_of_turn: bool) -> list[SampleEvent]:
        """The rest, once no token follows.

        Args:
            end_of_turn: whether the model ended its turn; otherwise it was cut off.
        """
        rest = self._stop_watch.finish() + self._decoder.decode(b"", final=True)
        events = self._events(self._parser.feed(rest) if rest else [])
        return events + self._end(end_of_turn=end_of_turn)

    def ending(self) -> FinishReason:
        """Why a turn that the model ended is over."""
        return FinishReason.TOOL_CALLS if self._calls else FinishReason.STOP

    def _end(self, *, end_of_turn: bool) -> list[SampleEvent]:
        events = self._events(self._parser.finish(end_of_turn=end_of_turn))
        return events if self._signals_sent else self._start_signals() + events

    def _start_signals(self) -> list[SampleEvent]:
        signals = self._log.start_signals(self._signals_from)
        self._signals_sent = True
        return [] if signals is None else [signals]

    def _events(self, parsed: Sequence[Parsed]) -> list[SampleEvent]:
        events: list[SampleEvent] = []
        for item in parsed:
            match item:
                case ParsedText():
                    self._in_call = False
                    events.append(TextDelta(item.text))
                case ParsedThinking():
                    events.append(ThinkingDelta(item.text))
                    if not self._signals_sent:
                        self._signals_from = self.tokens
                case CallOpened():
                    self._opened, self._named, self._seen = item, None, ()
                    self._in_call = True
                case CallNamed():
                    self._named = item
                    self._seen = () if self._names is None else self._names.take(item.start)
                    if self._early_names and len(item.name) <= _NAME_CHARS:
                        signals = self._log.name_signals(self._opened, item, self._seen)
                        events.append(ToolNamed(item.name, signals))
                case CallParsed():
                    signals = self._log.call_signals(self._opened, self._named, item, self._seen)
                    events.append(ToolCallEvent(item.call, signals))
                    self._opened = self._named = None
                    self._in_call = False
                    self._calls += 1
        return events
