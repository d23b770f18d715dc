"""One answer in the making: pieces in, events out. No I/O."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from homing_core.generation import (
    FinishReason,
    TextDelta,
    ThinkingDelta,
    TokenLogprobs,
    TokenSignals,
    ToolCallEvent,
    ToolChoice,
)

from homing_inference.formats.base import CallParsed, ParsedText, ParsedThinking
from homing_inference.formats.parser import AnswerParser
from homing_inference.upstream.body import continued_text
from homing_inference.upstream.calls import CallPieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.generation import GenerateRequest, SampleEvent

    from homing_inference.formats.base import Parsed
    from homing_inference.upstream.chunks import ChoicePiece

_SIGNAL_TOKENS: Final = 16
"""Tokens at the start of an answer that `TokenSignals` looks at."""


class SampleAnswer:
    """Turns pieces into events.

    A server may give thinking and calls apart, or leave them in the text as the model wrote them;
    both are read.

    Args:
        request: what was asked.
        thinking: whether thoughts are passed on; otherwise they are dropped.
    """

    def __init__(self, request: GenerateRequest, *, thinking: bool = True) -> None:
        """Nothing is written yet."""
        before = continued_text(request)
        self._calls_allowed = bool(request.tools) and request.tool_choice is not ToolChoice.NONE
        self._parser = AnswerParser(
            request.tools, continues_text=bool(before), calls=self._calls_allowed
        )
        self._echo = before
        self._shows_thinking = thinking
        self._wants_logprobs = request.logprobs > 0
        self._calls = CallPieces()
        self._made_calls = False
        self._signal_logs: list[float] = []
        self._signals_sent = False
        self.pieces = 0
        """Pieces so far: about as many as tokens."""
        self.thoughts = 0
        """Of these, how many were thinking."""

    def take(self, piece: ChoicePiece) -> list[SampleEvent]:
        """What became certain with one more piece.

        Raises:
            InvalidDataError: the calls in it have no end.
        """
        events: list[SampleEvent] = []
        self.pieces += piece.written
        if piece.thinking:
            self.thoughts += 1
            events += self._thought(piece.thinking)
        self._calls.add(piece.calls)
        text = self._without_echo(piece.text)
        if text:
            events += self._events(self._parser.feed(text))
        if piece.logprobs and self._wants_logprobs:
            events.append(TokenLogprobs(piece.logprobs))
            if not piece.thinking:
                self._signal_logs += [token.logprob for token in piece.logprobs]
        if len(self._signal_logs) >= _SIGNAL_TOKENS:
            events = self._signals() + events
        return events

    def finish(self, *, end_of_turn: bool) -> list[SampleEvent]:
        """The rest, once nothing follows.

        Args:
            end_of_turn: whether the model ended its turn; otherwise it was cut off.
        """
        events: list[SampleEvent] = self._signals()
        events += self._events(self._parser.finish(end_of_turn=end_of_turn))
        for event in self._calls.finish(allowed=self._calls_allowed, complete=end_of_turn):
            self._made_calls |= isinstance(event, ToolCallEvent)
            events.append(event)
        return events

    def ending(self) -> FinishReason:
        """Why a turn that the model ended is over."""
        return FinishReason.TOOL_CALLS if self._made_calls else FinishReason.STOP

    def _without_echo(self, text: str) -> str:
        """Some servers begin a continued answer with the words that it continues."""
        if not self._echo:
            return text
        if text and self._echo.startswith(text):
            self._echo = self._echo[len(text) :]
            return ""
        echo, self._echo = self._echo, ""
        return text.removeprefix(echo)

    def _events(self, parsed: Sequence[Parsed]) -> list[SampleEvent]:
        events: list[SampleEvent] = []
        for item in parsed:
            match item:
                case ParsedText():
                    events.append(TextDelta(item.text))
                case ParsedThinking():
                    self.thoughts += 1
                    events += self._thought(item.text)
                case CallParsed():
                    self._made_calls = True
                    events.append(ToolCallEvent(item.call))
                case _:  # a call that has begun says nothing to a reader yet
                    pass
        return events

    def _thought(self, text: str) -> list[SampleEvent]:
        return [ThinkingDelta(text)] if self._shows_thinking else []

    def _signals(self) -> list[SampleEvent]:
        logs = self._signal_logs[:_SIGNAL_TOKENS]
        if self._signals_sent or not logs:
            return []
        self._signals_sent = True
        return [TokenSignals(math.exp(logs[0]), sum(logs) / len(logs), len(logs))]
