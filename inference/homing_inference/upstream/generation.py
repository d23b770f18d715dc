"""One generation from end to end."""

from __future__ import annotations

import contextlib
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from homing_core.errors import HomingError, RefusedError
from homing_core.generation import Done, Failed, FinishReason, Sampled, Thinking, Usage

from homing_inference.upstream.answer import SampleAnswer
from homing_inference.upstream.body import chat_body, thinking_fields
from homing_inference.upstream.faults import AnsweredError, cut_off, too_long
from homing_inference.upstream.patience import Patience
from homing_inference.upstream.refusals import refuses_many
from homing_inference.upstream.tally import Tally

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Iterator

    from homing_core.generation import GenerateRequest, GenerationEvent, SampleEvent

    from homing_inference.upstream.body import Body
    from homing_inference.upstream.chunks import ChoicePiece, Chunk
    from homing_inference.upstream.exchange import Exchange
    from homing_inference.upstream.served import Served

_BUDGET_SLACK: Final = 64
"""Pieces beyond the budget that a server may need for closing the thoughts by itself."""
_COUNTS_S: Final = 1.0
"""Seconds for a server's counts, when the answer itself is whole."""
_MAX_IDLE: Final = 10_000
"""Chunks in a row in which nothing was written."""
_OVERRUN: Final = 8
"""A server that sends more than so many pieces for each token that was asked for has no end."""
_CUT: Final = frozenset({"length", "max_tokens"})


class Generation:
    """Turns one request into HTTP requests and their answers into events.

    Args:
        request: what is asked.
        served: by what.
        exchange: the way there.
        limit: tokens of prompt and answer that are to be kept to here, because the server does not
            do it by itself; 0 for none.
        context_tokens: that the model holds.
    """

    def __init__(
        self,
        request: GenerateRequest,
        served: Served,
        exchange: Exchange,
        *,
        limit: int,
        context_tokens: int,
    ) -> None:
        """Its deadline counts from now on."""
        self._request: Final = request
        self._served: Final = served
        self._exchange: Final = exchange
        self._limit: Final = limit
        self._room = request.sampling.max_tokens or context_tokens
        self.patience: Final = Patience(request.deadline_ms)
        self._tally: Final = Tally()
        self._open: dict[int, SampleAnswer] = {}
        self._left = set(range(max(1, request.samples)))
        self._reason = FinishReason.STOP
        self._started = False
        self._idle = 0
        self._over_budget = False
        self._thinks = True
        self._enough = False

    async def events(self) -> AsyncGenerator[GenerationEvent]:
        """All events; the last is `Done` or `Failed`. Raises nothing of ours."""
        try:
            body = await self._fitted(chat_body(self._request, self._served))
            async with aclosing(self._answers(body)) as events:
                async for event in events:
                    yield event
        except (HomingError, AnsweredError) as error:
            for event in self._flushed():
                yield event
            if self._started:
                yield self.usage
            yield Failed.from_error(error.error if isinstance(error, AnsweredError) else error)
            return
        yield self.usage
        several = self._request.samples > 1
        yield Done(FinishReason.STOP if several else self._reason)

    @property
    def usage(self) -> Usage:
        """What it took so far."""
        return self._tally.usage()

    async def _fitted(self, body: Body) -> Body:
        """Hold prompt and answer to the limit.

        Raises:
            TooLongError: the prompt leaves no room.
        """
        if not self._limit:
            return body
        prompt = await self._exchange.count_prompt(body, self.patience)
        if prompt >= self._limit:
            raise too_long(prompt, self._limit)
        self._room = min(self._room, self._limit - prompt)
        return body | {"max_tokens": self._room}

    async def _answers(self, body: Body) -> AsyncGenerator[GenerationEvent]:
        count = len(self._left)
        if count > 1 and self._served.kind.samples and not self._counts_thoughts:
            try:
                async with aclosing(self._run(body | {"n": count}, sorted(self._left))) as events:
                    async for event in events:
                        yield event
            except AnsweredError as refusal:
                if not refuses_many(refusal):
                    raise
        for sample in sorted(self._left):  # one by one: all, or those that came of no `n`
            async with aclosing(self._single(body, sample)) as events:
                async for event in events:
                    yield event

    async def _single(self, body: Body, sample: int) -> AsyncGenerator[GenerationEvent]:
        if sample and "seed" in body:
            body = body | {"seed": body["seed"] + sample}
        self._thinks = True
        async with aclosing(self._run(body, [sample])) as events:
            async for event in events:
                yield event
        if not self._over_budget:
            return
        self._thinks = False
        # The thoughts are long enough: the rest of the tokens go to an answer without any.
        body = {name: value for name, value in body.items() if "budget" not in name}
        body |= thinking_fields(Thinking.OFF, self._served.kind)
        async with aclosing(self._run(body, [sample])) as events:
            async for event in events:
                yield event

    async def _run(self, body: Body, samples: list[int]) -> AsyncGenerator[GenerationEvent]:
        """One HTTP request for these answers."""
        self._started = True
        self._open = {
            sample: SampleAnswer(self._request, thinking=self._thinks) for sample in samples
        }
        self._over_budget = self._enough = False
        self.patience.hurry(None)
        last = False
        chunks = self._exchange.stream(body, self.patience, self._tally)
        async with aclosing(chunks):
            while (chunk := await self._next(chunks)) is not None:
                last |= chunk.last
                for event in self._received(chunk, samples):
                    yield event
                if self._over_budget or self._enough:
                    break
        self._tally.received()
        for sample, answer in list(self._open.items()):
            if self._over_budget or (answer.pieces == 0 and len(samples) > 1):
                del self._open[sample]  # to be asked again; some servers overlook `n`
                continue
            if not last:
                raise cut_off()
            for event in self._ended(sample, "stop"):
                yield event

    async def _next(self, chunks: AsyncGenerator[Chunk]) -> Chunk | None:
        """The next chunk; when all answers are whole, only counts may come, and nothing must."""
        if self._open:
            return await anext(chunks, None)
        self.patience.hurry(_COUNTS_S)
        with contextlib.suppress(HomingError, AnsweredError):
            return await anext(chunks, None)
        return None

    def _received(self, chunk: Chunk, samples: list[int]) -> Iterator[GenerationEvent]:
        """The events of a chunk.

        Raises:
            UnavailableError: the server goes on without writing anything.
        """
        if chunk.counts is not None:
            self._tally.counted(chunk.counts)
        self._idle = 0 if any(piece.written for piece in chunk.choices) else self._idle + 1
        if self._idle > _MAX_IDLE:
            raise cut_off()
        for piece in chunk.choices:
            sample = piece.sample if len(samples) > 1 else samples[0] + piece.sample
            yield from self._take(sample, piece)

    def _take(self, sample: int, piece: ChoicePiece) -> Iterator[GenerationEvent]:
        answer = self._open.get(sample)
        if answer is None:
            return
        if piece.written:
            self._tally.piece()
        yield from self._wrapped(sample, answer.take(piece))
        if piece.reason:
            yield from self._ended(sample, piece.reason)
        elif self._counts_thoughts and answer.thoughts > self._allowed_thoughts and self._thinks:
            self._over_budget = True
        elif self._is_endless(answer):
            yield from self._ended(sample, "length")
            self._enough = not self._open

    def _is_endless(self, answer: SampleAnswer) -> bool:
        """Whether a server writes more than it was asked for, or thinks where it must not."""
        over = self._counts_thoughts and answer.thoughts > self._allowed_thoughts
        return over or answer.pieces > self._room * _OVERRUN + _BUDGET_SLACK

    def _ended(self, sample: int, reason: str) -> Iterator[GenerationEvent]:
        """The end of one answer.

        Raises:
            RefusedError: the server's filter ended the only one.
            UnavailableError: the server gave the only one up.
        """
        answer = self._open.pop(sample, None)
        self._left.discard(sample)
        if answer is None:
            return
        yield from self._wrapped(sample, answer.finish(end_of_turn=reason not in _CUT))
        error = _failure(reason)
        if error is None:
            self._reason = FinishReason.LENGTH if reason in _CUT else answer.ending()
            if self._request.samples > 1:
                yield Sampled(sample + 1, Done(self._reason))
        elif self._request.samples > 1:
            yield Sampled(sample + 1, Failed.from_error(error))
        else:
            raise error

    def _flushed(self) -> Iterator[GenerationEvent]:
        """What open answers hold back, when nothing can follow."""
        for sample, answer in self._open.items():
            yield from self._wrapped(sample, answer.finish(end_of_turn=False))
        self._open = {}

    def _wrapped(self, sample: int, events: Iterable[SampleEvent]) -> Iterator[GenerationEvent]:
        several = self._request.samples > 1
        for event in events:
            yield Sampled(sample + 1, event) if several else event

    @property
    def _counts_thoughts(self) -> bool:
        return self._request.thinking is Thinking.ON and self._request.thinking_budget > 0

    @property
    def _allowed_thoughts(self) -> int:
        slack = _BUDGET_SLACK if self._served.kind.thinking_budget else 0
        return self._request.thinking_budget + slack


def _failure(reason: str) -> HomingError | None:
    if reason == "content_filter":
        msg = "the model server's filter ended the answer"
        return RefusedError(msg, "Ask in other words, or ask another model.")
    return cut_off() if reason in {"error", "abort", "cancelled"} else None
