"""The engine over an OpenAI-compatible server."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, Self

import structlog
from homing_core.canonical import canonical_json
from homing_core.errors import ConflictError, HomingError, InternalError, TooLongError, UsageError
from homing_core.generation import Done, Failed, Priority, Usage

from homing_inference.engine import EngineInfo, EngineState, WarmedPrefix
from homing_inference.upstream.body import warm_body
from homing_inference.upstream.chunks import read_counts
from homing_inference.upstream.connecting import ask_what_it_serves
from homing_inference.upstream.exchange import Exchange
from homing_inference.upstream.faults import AnsweredError, closed
from homing_inference.upstream.gate import Gate
from homing_inference.upstream.generation import Generation
from homing_inference.upstream.patience import Patience
from homing_inference.upstream.served import UNKNOWN_CONTEXT, Kind
from homing_inference.upstream.tally import estimated_tokens
from homing_inference.upstream.transport import Transport
from homing_inference.upstream.vectors import embed
from homing_inference.upstream.wire import object_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from homing_core.generation import GenerateRequest, GenerationEvent, Thinking
    from homing_core.ids import GenerationId
    from homing_core.messages import Message
    from homing_core.scoring import ScoreRequest, ToolScores
    from homing_core.tools import ToolSpec

    from homing_inference.upstream.served import Served
    from homing_inference.upstream.server import UpstreamServer

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

_REMEMBERED_PREFIXES: Final = 8


class UpstreamEngine:
    """`Engine` over a server. Made by `connect`; belongs to one event loop.

    The server renders, schedules, batches and caches; here is what it is asked and what it answers.
    A server that is gone fails each request retryably until it is back; nothing needs a restart,
    unless it serves another model then: `connect` again.
    """

    def __init__(self, transport: Transport, server: UpstreamServer, served: Served) -> None:
        """Use `connect` instead."""
        self._transport: Final = transport
        self._served: Final = served
        self._exchange: Final = Exchange(transport, served.kind)
        places = server.max_sequences or served.places
        self._gate: Final = Gate(places)
        known = served.context_tokens or UNKNOWN_CONTEXT
        context = min(server.context_tokens or known, served.context_tokens or 2**31)
        # Ollama cuts a prompt that is too long without a word; the others refuse it by themselves.
        lower = server.context_tokens > 0 and context != served.context_tokens
        self._limit: Final = context if lower or served.kind is Kind.OLLAMA else 0
        self.info: Final = EngineInfo(
            model=server.name or served.shown_name,
            quantization=served.quantization,
            context_tokens=context,
            chat_format=served.chat_format,
            can_think=served.can_think,
            max_sequences=places,
            adapters=served.adapters,
        )
        self._running: set[GenerationId] = set()
        self._warm: OrderedDict[str, WarmedPrefix] = OrderedDict()
        self._decode_speed = 0.0
        self._prefill_speed = 0.0
        self._closed = False

    @classmethod
    async def connect(cls, server: UpstreamServer) -> Self:
        """Ask a server what it serves.

        Raises:
            UsageError: its address cannot be read, or prompts would travel unencrypted.
            ConfigError: no OpenAI-compatible API there, or no such model, or several.
            RefusedError: the key is refused.
            UnavailableError: it cannot be reached, or still loads its model.
            IntegrityError: its certificate is not trusted.
            InvalidDataError: what it says cannot be read.
        """
        transport = Transport(server)
        try:
            return cls(transport, server, await ask_what_it_serves(transport, server))
        except BaseException:
            await transport.close()
            raise

    @property
    def kind(self) -> Kind:
        """Which program the server is."""
        return self._served.kind

    @property
    def state(self) -> EngineState:
        """How busy it is with our own requests; speeds are those of the last answer."""
        return EngineState(
            running=self._gate.running,
            waiting=self._gate.waiting,
            decode_tokens_per_second=self._decode_speed,
            prefill_tokens_per_second=self._prefill_speed,
            warm=tuple(self._warm.values()),
        )

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[GenerationEvent]:
        """See `Engine.generate`; closing the generator closes the connection.

        Where a server does not count tokens, `Usage` holds estimates.
        """
        if self._closed:
            yield Failed.from_error(closed())
            return
        if request.id in self._running:
            msg = "a generation with this id is already running"
            yield Failed.from_error(ConflictError(msg, "Use a fresh id."))
            return
        self._running.add(request.id)
        try:
            async with aclosing(self._generate(request)) as events:
                async for event in events:
                    yield event
        except Exception:  # noqa: BLE001  # logged; the reader must always get a last event
            _log.exception("upstream.generation_failed", generation=request.id)
            msg = "the model server's answer led to an unforeseen fault"
            yield Failed.from_error(InternalError(msg, "Try again."))
        finally:
            self._running.discard(request.id)

    async def warm(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], thinking: Thinking
    ) -> WarmedPrefix:
        """Let the server compute the prefix, so that its own cache holds it; see `Engine.warm`.

        Servers do not pin: other requests may push it out. The count is that of the shortest
        conversation with this prefix, the hash that of what was sent.

        Raises:
            RefusedError, InvalidDataError, OverloadedError: what the server answered.
        """
        if self._closed:
            raise closed()
        body = warm_body(messages, tools, thinking, self._served)
        digest = hashlib.sha256(canonical_json(body)).hexdigest()
        await self._gate.enter(Priority.INTERACTIVE)
        try:
            answer = object_of(await self._exchange.once(body, Patience()))
        except AnsweredError as refusal:
            raise refusal.error from None
        finally:
            self._gate.leave()
        counts = read_counts(answer, whole=True)
        tokens = (counts.prompt if counts else 0) or estimated_tokens(body)
        if tokens >= self.info.context_tokens:
            msg = f"the tools would take {tokens} tokens, but the model holds "
            msg += f"{self.info.context_tokens}, answer included"
            raise TooLongError(msg, "Offer fewer tools.")
        prefix = self._warm[digest] = self._warm.get(digest) or WarmedPrefix(tokens, digest)
        self._warm.move_to_end(digest)
        while len(self._warm) > _REMEMBERED_PREFIXES:
            self._warm.popitem(last=False)
        return prefix

    async def score(self, request: ScoreRequest) -> ToolScores:
        """No server shows the probabilities of words that it did not write.

        Raises:
            UsageError: always.
        """
        del request
        msg = "this model server cannot show how it leans to each tool"
        raise UsageError(msg, "Ask a node that runs the model itself.")

    async def embed(self, texts: Sequence[str]) -> tuple[tuple[float, ...], ...]:
        """See `Engine.embed`.

        Raises:
            UsageError: the server cannot do it.
            TooLongError: a text does not fit.
            InvalidDataError: what it sent are no vectors.
            UnavailableError: it cannot be reached, or the engine was closed.
        """
        if self._closed:
            raise closed()
        if not texts:
            return ()
        await self._gate.enter(Priority.INTERACTIVE)
        try:
            return await embed(self._transport, self._served.model, texts)
        finally:
            self._gate.leave()

    def forget(self, owner: str) -> None:
        """Nothing: what the server keeps, and for whom, is its own affair."""

    async def close(self) -> None:
        """End everything in flight; the server goes on. Harmless when repeated."""
        self._closed = True
        await self._transport.close()

    async def _generate(self, request: GenerateRequest) -> AsyncGenerator[GenerationEvent]:
        limits = [limit for limit in (self._limit, request.max_context_tokens) if limit]
        generation = Generation(
            request,
            self._served,
            self._exchange,
            limit=min(limits, default=0),
            context_tokens=self.info.context_tokens,
        )
        try:
            async with generation.patience.within(None, ""):
                await self._gate.enter(request.priority)
        except HomingError as error:
            yield Failed.from_error(error)
            return
        try:
            async with aclosing(generation.events()) as events:
                async for event in events:
                    if isinstance(event, Usage):
                        self._note(event)
                    if isinstance(event, Done | Failed):
                        self._running.discard(request.id)
                    yield event
        finally:
            self._gate.leave()

    def _note(self, usage: Usage) -> None:
        if usage.decode_ms > 0 and usage.completion_tokens > 1:
            self._decode_speed = (usage.completion_tokens - 1) * 1000 / usage.decode_ms
        if usage.prefill_ms > 0:
            computed = usage.prompt_tokens - usage.cached_tokens
            self._prefill_speed = computed * 1000 / usage.prefill_ms
