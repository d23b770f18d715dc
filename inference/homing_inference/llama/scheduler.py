"""What runs when. Owns the context, so all of it belongs to one thread.

At present one answer is written after the other. Everything about one answer that is not the
context lives in `answer` and `choosing`, so that several can be stepped through one batch.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import structlog
from homing_core.errors import HomingError, InternalError, TooLongError, UnavailableError
from homing_core.generation import Done, Failed, FinishReason, Usage

from homing_inference.engine import WarmedPrefix
from homing_inference.llama.answer import Answer
from homing_inference.llama.choosing import Chooser, check_sampling
from homing_inference.llama.prompts import PromptWriter
from homing_inference.llama.old_sequences import Sequences
from homing_inference.llama.threads import default_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from homing_core.generation import GenerateRequest, GenerationEvent, Thinking
    from homing_core.messages import Message
    from homing_core.tools import ToolSpec

    from homing_inference.formats.base import ChatFormat
    from homing_inference.llama.model import LoadedModel
    from homing_inference.llama.prompts import TokenizedPrompt

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

DEFAULT_CONTEXT: Final = 8192
"""Tokens, where nobody says more; 96 MiB for the 0.5B stand-in."""
_SHORTEST_CONTEXT: Final = 256


class _CancelledError(Exception):
    """Somebody wants this generation to end."""


class _Run:
    """The clock and the cancel flag of one generation."""

    def __init__(
        self, request: GenerateRequest, taken_at: float, cancelled: Callable[[], bool]
    ) -> None:
        self._deadline_ms = request.deadline_ms
        self._taken_at = taken_at
        self._cancelled = cancelled
        self.started_at = time.monotonic()
        self.first_token_at = 0.0
        self.last_token_at = 0.0

    def check(self) -> None:
        """Called between any two steps; raises if there shall be no further one."""
        if self._cancelled():
            raise _CancelledError
        spent_ms = (time.monotonic() - self._taken_at) * 1000
        if 0 < self._deadline_ms <= spent_ms:
            msg = f"the answer was not complete after {self._deadline_ms} ms"
            raise UnavailableError(msg, "Allow more time, or ask for a shorter answer.")

    def token(self) -> None:
        """A token was chosen now."""
        self.last_token_at = time.monotonic()
        self.first_token_at = self.first_token_at or self.last_token_at

    def usage(self, prompt: TokenizedPrompt, cached: int, completion: int) -> Usage:
        """Counts and durations so far."""
        first = self.first_token_at or time.monotonic()
        return Usage(
            prompt_tokens=len(prompt.tokens),
            cached_tokens=cached,
            completion_tokens=completion,
            prefill_ms=(first - self.started_at) * 1000,
            decode_ms=max(self.last_token_at - first, 0.0) * 1000,
        )


class Scheduler:
    """Runs a loaded model, one generation after the other, on the thread that calls it.

    Args:
        model: closed by `close`.
        chat: the model's chat format.
        context_tokens: prompt and answer together; 0 is 8,192, or less if the model was trained on
            less. More than the model was trained on is cut to that.
        threads: that compute; 0 is what suits the machine.

    Raises:
        OverloadedError: there is not enough memory for the context.
    """

    def __init__(
        self, model: LoadedModel, chat: ChatFormat, *, context_tokens: int = 0, threads: int = 0
    ) -> None:
        """Reserve the context."""
        self._model: Final = model
        self._chat: Final = chat
        trained = model.facts.trained_context or DEFAULT_CONTEXT
        wanted = context_tokens or DEFAULT_CONTEXT
        self.context_tokens: Final = max(_SHORTEST_CONTEXT, min(wanted, trained))
        self._sequences: Final = Sequences(
            model,
            context_tokens=self.context_tokens,
            threads=threads or default_threads(),
        )
        controls = model.vocabulary.control_texts(model.facts.template)
        self._writer: Final = PromptWriter(chat, model.vocabulary, controls)

    def generate(
        self,
        request: GenerateRequest,
        *,
        taken_at: float | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Iterator[GenerationEvent]:
        """The events of one generation; the last is `Done` or `Failed`. Never raises.

        Args:
            request: what is asked.
            taken_at: `time.monotonic()` when the request came in; its deadline counts from there.
            cancelled: asked between any two steps.
        """
        run = _Run(request, time.monotonic() if taken_at is None else taken_at, cancelled)
        try:
            yield from self._generate(request, run)
        except _CancelledError:
            yield Done(FinishReason.CANCELLED)
        except HomingError as error:
            yield Failed.from_error(error)
        except Exception:  # noqa: BLE001  # logged; the reader must always get a last event
            _log.exception("engine.generation_failed", generation=request.id)
            yield Failed.from_error(_broken())

    def warm(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], thinking: Thinking
    ) -> WarmedPrefix:
        """See `Engine.warm`.

        Raises:
            TooLongError: the prefix does not fit.
            InvalidDataError: the template refuses it.
            InternalError: the computation failed.
        """
        prefix = self._writer.prefix(messages, tools, thinking)
        count = len(prefix.tokens)
        if count >= self.context_tokens:
            raise _too_long(count, self.context_tokens, what="the tools")
        if count > 0 and not self._sequences.renew_pin(prefix.tokens):
            self._sequences.start(prefix.tokens)
            while not self._sequences.advance(prefix.tokens, pin_at=count):
                pass
        return WarmedPrefix(count, prefix.sha256)

    def close(self) -> None:
        """Free context and model; harmless when repeated."""
        self._sequences.close()
        self._model.close()

    def _generate(self, request: GenerateRequest, run: _Run) -> Iterator[GenerationEvent]:
        run.check()
        check_sampling(request.sampling)
        prompt = self._writer.prompt(request)
        room = self._room(request, prompt)
        cached = self._sequences.start(prompt.tokens)
        while not self._sequences.advance(prompt.tokens, pin_at=prompt.prefix_tokens):
            run.check()
        answer = Answer(
            self._chat.parser(
                request.tools,
                starts_in_thinking=prompt.starts_in_thinking,
                continues_text=prompt.continues_text,
            ),
            self._chat.stop,
            request.sampling.stop,
        )
        try:
            reason = yield from self._write(request, answer, room, run)
        except (_CancelledError, UnavailableError):
            yield from answer.finish(end_of_turn=False)
            yield run.usage(prompt, cached, answer.tokens)
            raise
        yield run.usage(prompt, cached, answer.tokens)
        yield Done(reason)

    def _write(
        self, request: GenerateRequest, answer: Answer, room: int, run: _Run
    ) -> Generator[GenerationEvent, None, FinishReason]:
        chooser = Chooser(request.sampling)
        vocabulary = self._model.vocabulary
        while True:
            run.check()
            choice = chooser.choose(self._sequences.scores())
            run.token()
            if vocabulary.ends_turn(choice.token):
                yield from answer.finish(end_of_turn=True)
                return answer.ending()
            events, stopped = answer.take(choice, vocabulary.piece(choice.token))
            yield from events
            if stopped:
                return answer.ending()
            if answer.tokens >= room:
                yield from answer.finish(end_of_turn=False)
                return FinishReason.LENGTH
            self._sequences.append([choice.token])

    def _room(self, request: GenerateRequest, prompt: TokenizedPrompt) -> int:
        """New tokens that the answer may have; at least 1.

        Raises:
            TooLongError: the prompt leaves no room for any.
        """
        limit = self.context_tokens
        if request.max_context_tokens:
            limit = min(limit, request.max_context_tokens)
        room = limit - len(prompt.tokens)
        if room < 1:
            raise _too_long(len(prompt.tokens), limit)
        return min(room, request.sampling.max_tokens or room)


def _too_long(count: int, limit: int, what: str = "the request") -> TooLongError:
    msg = f"{what} would take {count} tokens, but the model holds {limit}, answer included"
    return TooLongError(msg, "Shorten it, offer fewer tools, or start a new conversation.")


def _broken() -> HomingError:
    msg = "the model stopped on an unforeseen fault"
    return InternalError(msg, "Try again; the log at level debug says more.")
