"""One generation from end to end."""

from __future__ import annotations

import contextlib
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from homing_core.errors import HomingError
from homing_core.generation import Done, Failed, FinishReason, Thinking

from homing_inference.upstream.body import chat_body, thinking_fields
from homing_inference.upstream.faults import AnsweredError, too_long
from homing_inference.upstream.patience import Patience
from homing_inference.upstream.refusals import refuses_many
from homing_inference.upstream.samples import Samples
from homing_inference.upstream.tally import Tally

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_core.generation import GenerateRequest, GenerationEvent

    from homing_inference.upstream.body import Body
    from homing_inference.upstream.chunks import Chunk
    from homing_inference.upstream.exchange import Exchange
    from homing_inference.upstream.served import Served

_BUDGET_SLACK: Final = 64
"""Pieces beyond the budget that a server may need for closing the thoughts by itself."""
_COUNTS_S: Final = 1.0
"""Seconds for a server's counts, when the answer itself is whole."""


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
        self._context_tokens: Final = context_tokens
        self._tally: Final = Tally()
        self.patience: Final = Patience(request.deadline_ms)

    async def events(self) -> AsyncGenerator[GenerationEvent]:
        """All events; the last is `Done` or `Failed`. Raises nothing of ours."""
        samples: Samples | None = None
        try:
            body = await self._fitted(chat_body(self._request, self._served))
            samples = Samples(
                self._request,
                self._tally,
                room=body.get("max_tokens", 0) or self._context_tokens,
                max_thoughts=self._max_thoughts(),
            )
            async with aclosing(self._answers(body, samples)) as events:
                async for event in events:
                    yield event
        except (HomingError, AnsweredError) as error:
            if samples is not None:
                for event in samples.cut():
                    yield event
                yield self._tally.usage()
            yield Failed.from_error(error.error if isinstance(error, AnsweredError) else error)
            return
        yield self._tally.usage()
        several = self._request.samples > 1
        yield Done(FinishReason.STOP if several else samples.reason)

    def _max_thoughts(self) -> int | None:
        """Pieces of thinking to wait for; a server that keeps a budget by itself gets more."""
        if self._request.thinking is Thinking.OFF or not self._request.thinking_budget:
            return None
        slack = _BUDGET_SLACK if self._served.kind.thinking_budget else 0
        return self._request.thinking_budget + slack

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
        room = self._limit - prompt
        return body | {"max_tokens": min(body.get("max_tokens", room), room)}

    async def _answers(self, body: Body, samples: Samples) -> AsyncGenerator[GenerationEvent]:
        count = len(samples.left)
        # One answer of several cannot be asked for again, so a budget needs a request for each.
        if count > 1 and self._served.kind.samples and self._max_thoughts() is None:
            samples.begin(range(count), thinks=True)
            try:
                async with aclosing(self._run(body | {"n": count}, samples)) as events:
                    async for event in events:
                        yield event
            except AnsweredError as refusal:
                if not refuses_many(refusal):
                    raise
        for number in sorted(samples.left):  # all of them, or those that came of no `n`
            async with aclosing(self._single(body, number, samples)) as events:
                async for event in events:
                    yield event

    async def _single(
        self, body: Body, number: int, samples: Samples
    ) -> AsyncGenerator[GenerationEvent]:
        if number and "seed" in body:
            body = body | {"seed": body["seed"] + number}
        samples.begin([number], thinks=True)
        async with aclosing(self._run(body, samples)) as events:
            async for event in events:
                yield event
        if not samples.over_budget:
            return
        # The thoughts are long enough: now an answer without any.
        body = {name: value for name, value in body.items() if "budget" not in name}
        body |= thinking_fields(Thinking.OFF, self._served.kind)
        samples.begin([number], thinks=False)
        async with aclosing(self._run(body, samples)) as events:
            async for event in events:
                yield event

    async def _run(self, body: Body, samples: Samples) -> AsyncGenerator[GenerationEvent]:
        """One HTTP request."""
        self.patience.hurry(None)
        chunks = self._exchange.stream(body, self.patience, self._tally)
        async with aclosing(chunks):
            while not samples.enough and (chunk := await self._next(chunks, samples)) is not None:
                for event in samples.take(chunk):
                    yield event
        self._tally.received()
        for event in samples.finish():
            yield event

    async def _next(self, chunks: AsyncGenerator[Chunk], samples: Samples) -> Chunk | None:
        """The next chunk; when all answers are whole, only counts may come, and nothing must."""
        if samples.open:
            return await anext(chunks, None)
        self.patience.hurry(_COUNTS_S)
        with contextlib.suppress(HomingError, AnsweredError):
            return await anext(chunks, None)
        return None
