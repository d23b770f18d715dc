"""The answers of one generation: which are open, and when each has an end. No I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_core.errors import RefusedError
from homing_core.generation import Done, Failed, FinishReason, Sampled

from homing_inference.upstream.answer import SampleAnswer
from homing_inference.upstream.faults import cut_off

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from homing_core.errors import HomingError
    from homing_core.generation import GenerateRequest, GenerationEvent, SampleEvent

    from homing_inference.upstream.chunks import ChoicePiece, Chunk
    from homing_inference.upstream.tally import Tally

_MAX_IDLE: Final = 10_000
"""Chunks in a row in which nothing was written."""
_OVERRUN: Final = 2
"""A server that sends more than so many pieces for each token that was asked for has no end."""
_OVERRUN_LEAST: Final = 64
_CUT: Final = frozenset({"length", "max_tokens"})


class Samples:
    """Turns chunks into the events of one or several answers.

    Args:
        request: what was asked.
        tally: told of every piece and count.
        room: tokens that an answer may have.
        max_thoughts: pieces of thinking after which an answer is to be asked for again, without
            thinking; None for no limit.

    Attributes:
        left: answers without an end, from 0.
        open: those that the present request is for.
        over_budget: whether the one that it is for has thought enough.
        enough: whether the request is of no use any more.
        reason: why the last answer ended.
    """

    def __init__(
        self, request: GenerateRequest, tally: Tally, *, room: int, max_thoughts: int | None
    ) -> None:
        """Nothing was asked for."""
        self._request: Final = request
        self._tally: Final = tally
        self._room: Final = room
        self._max_thoughts: Final = max_thoughts
        self._numbers: Sequence[int] = ()
        self._thinks = True
        self._idle = 0
        self._last = False
        self.left = set(range(max(1, request.samples)))
        self.open: dict[int, SampleAnswer] = {}
        self.over_budget = False
        self.enough = False
        self.reason = FinishReason.STOP

    def begin(self, numbers: Sequence[int], *, thinks: bool) -> None:
        """A request goes out for these answers.

        Args:
            numbers: which; a server counts those of one request from 0.
            thinks: whether thoughts are passed on.
        """
        self._numbers = numbers
        self._thinks = thinks
        self._last = False
        self.open = {number: SampleAnswer(self._request, thinking=thinks) for number in numbers}
        self.over_budget = self.enough = False

    def take(self, chunk: Chunk) -> Iterator[GenerationEvent]:
        """The events of a chunk.

        Raises:
            RefusedError: the server's filter ended the only answer.
            UnavailableError: the server gave the only answer up, or goes on without writing.
            InvalidDataError: the calls in it have no end.
        """
        self._last |= chunk.last
        if chunk.counts is not None:
            self._tally.counted(chunk.counts)
        self._idle = 0 if any(piece.written for piece in chunk.choices) else self._idle + 1
        if self._idle > _MAX_IDLE:
            raise cut_off()
        for piece in chunk.choices:
            several = len(self._numbers) > 1
            yield from self._take(
                piece.sample if several else self._numbers[0] + piece.sample, piece
            )

    def finish(self) -> Iterator[GenerationEvent]:
        """The rest, when the request is over.

        Raises:
            UnavailableError: the server broke off.
        """
        for number, answer in list(self.open.items()):
            if self.over_budget or (answer.pieces == 0 and len(self._numbers) > 1):
                del self.open[number]  # to be asked for again; some servers overlook `n`
            elif not self._last:
                raise cut_off()
            else:
                yield from self._ended(number, "stop")

    def cut(self) -> Iterator[GenerationEvent]:
        """What open answers hold back, when nothing can follow."""
        for number, answer in self.open.items():
            yield from self._numbered(number, answer.finish(end_of_turn=False))
        self.open = {}

    def _take(self, number: int, piece: ChoicePiece) -> Iterator[GenerationEvent]:
        answer = self.open.get(number)
        if answer is None:
            return
        if piece.written:
            self._tally.piece()
        yield from self._numbered(number, answer.take(piece))
        thought_enough = self._max_thoughts is not None and answer.thoughts > self._max_thoughts
        if piece.reason:
            yield from self._ended(number, piece.reason)
        elif thought_enough and self._thinks:
            self.over_budget = self.enough = True
        elif thought_enough or answer.pieces > self._room * _OVERRUN + _OVERRUN_LEAST:
            yield from self._ended(number, "length")
            self.enough = not self.open

    def _ended(self, number: int, reason: str) -> Iterator[GenerationEvent]:
        answer = self.open.pop(number)
        self.left.discard(number)
        yield from self._numbered(number, answer.finish(end_of_turn=reason not in _CUT))
        several = self._request.samples > 1
        error = _failure(reason)
        if error is None:
            self.reason = FinishReason.LENGTH if reason in _CUT else answer.ending()
            if several:
                yield Sampled(number + 1, Done(self.reason))
        elif several:
            yield Sampled(number + 1, Failed.from_error(error))
        else:
            raise error

    def _numbered(self, number: int, events: Iterable[SampleEvent]) -> Iterator[GenerationEvent]:
        several = self._request.samples > 1
        for event in events:
            yield Sampled(number + 1, event) if several else event


def _failure(reason: str) -> HomingError | None:
    if reason == "content_filter":
        msg = "the model server's filter ended the answer"
        return RefusedError(msg, "Ask in other words, or ask another model.")
    return cut_off() if reason in {"error", "abort", "cancelled"} else None
