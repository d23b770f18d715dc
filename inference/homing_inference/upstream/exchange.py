"""One request to a server, asked again without what it does not take."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from homing_core.errors import InvalidDataError, UnavailableError

from homing_inference.upstream.chunks import Chunk, read_chunk
from homing_inference.upstream.faults import AnsweredError
from homing_inference.upstream.refusals import adapted
from homing_inference.upstream.served import Kind
from homing_inference.upstream.tally import estimated_tokens
from homing_inference.upstream.wire import count_of, list_of, object_of, text_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_inference.upstream.body import Body
    from homing_inference.upstream.patience import Patience
    from homing_inference.upstream.tally import Tally
    from homing_inference.upstream.transport import Transport

CHAT: Final = "/v1/chat/completions"
_TRIES: Final = 8
_SOMETIMES: Final = frozenset({"logprobs", "top_logprobs", "stream_options", "max_tokens"})
"""Refused in one request, taken in another."""


class Exchange:
    """Sends chat completions and remembers which fields the server never takes.

    Args:
        transport: the connections.
        kind: which program it is.
    """

    def __init__(self, transport: Transport, kind: Kind) -> None:
        """Nothing is known to be refused."""
        self._transport: Final = transport
        self._kind: Final = kind
        self._refused: set[str] = set()

    async def stream(self, body: Body, patience: Patience, tally: Tally) -> AsyncGenerator[Chunk]:
        """The pieces of an answer, as they come; closing the generator ends the request.

        Raises:
            AnsweredError: the server answers with an error, at once or amid the stream.
            HomingError: as `Transport.stream`.
        """
        body = self._known(body)
        for _ in range(_TRIES):
            tally.sending(body)
            heard = False
            try:
                async with aclosing(self._transport.stream(CHAT, body, patience)) as events:
                    async for data in events:
                        chunk = read_chunk(data, self._transport.place)
                        heard |= any(piece.written or piece.reason for piece in chunk.choices)
                        yield chunk
                        if chunk.last:
                            return
            except AnsweredError as refusal:
                body = self._adapted(body, refusal)
                continue
            if not heard:
                await self._explain(body, patience)
            return
        raise _stubborn()

    async def once(self, body: Body, patience: Patience) -> object:
        """A short answer all at once; the errors are those of `stream`."""
        body = self._known(body)
        for _ in range(_TRIES):
            try:
                return await self._transport.post(CHAT, body, patience)
            except AnsweredError as refusal:
                body = self._adapted(body, refusal)
        raise _stubborn()

    async def count_prompt(self, body: Body, patience: Patience) -> int:
        """Tokens in the request's prompt: the server's count where it counts, else an estimate."""
        try:
            count = await self._counted(body, patience)
        except (AnsweredError, InvalidDataError):
            count = 0
        return count or estimated_tokens(body)

    async def _counted(self, body: Body, patience: Patience) -> int:
        rendered: Body = {
            name: body[name]
            for name in (
                "model", "messages", "tools", "chat_template_kwargs",
                "continue_final_message", "add_generation_prompt",
            )
            if name in body
        }  # fmt: skip
        if self._kind is Kind.VLLM:
            counted = object_of(await self._transport.post("/tokenize", rendered, patience))
            return count_of(counted.get("count"))
        if self._kind is Kind.LLAMA_SERVER:
            found = object_of(await self._transport.post("/apply-template", rendered, patience))
            prompt: Body = {"content": text_of(found.get("prompt")), "parse_special": True}
            tokens = object_of(await self._transport.post("/tokenize", prompt, patience))
            return len(list_of(tokens.get("tokens")))
        return 0

    def _known(self, body: Body) -> Body:
        return {name: value for name, value in body.items() if name not in self._refused}

    def _adapted(self, body: Body, refusal: AnsweredError) -> Body:
        changed = adapted(body, refusal)
        if changed is None:
            raise refusal
        self._refused |= body.keys() - changed.keys() - _SOMETIMES
        return changed

    async def _explain(self, body: Body, patience: Patience) -> None:
        """An answer without anything in it: llama-cpp-python so hides an error.

        Raises:
            AnsweredError: the error that it gives without a stream.
            UnavailableError: it gives none.
        """
        short = {name: value for name, value in body.items() if name != "stream_options"}
        await self._transport.post(CHAT, short | {"stream": False, "max_tokens": 1}, patience)
        msg = "the model server ended the answer before it began"
        raise UnavailableError(msg, "Ask again.")


def _stubborn() -> InvalidDataError:
    msg = "the model server does not accept the request"
    return InvalidDataError(msg, "The server's own log says why.")
