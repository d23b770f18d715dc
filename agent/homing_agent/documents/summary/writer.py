"""One answer of the model, asked again where it failed or is of no use."""

from __future__ import annotations

import asyncio
import re
import zlib
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from homing_core.errors import HomingError, TooLongError, UnavailableError
from homing_core.generation import (
    Done,
    Failed,
    FinishReason,
    GenerateRequest,
    Priority,
    Sampling,
    TextDelta,
    Thinking,
    ToolChoice,
)
from homing_core.ids import new_generation_id

from homing_agent.documents.chunks import clean_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from homing_core.messages import Message
    from homing_inference.engine import Engine

_TEMPERATURES: Final = (0.0, 0.4, 0.8)
"""One try each: what came out of no use once does so again without some chance in it."""
_PATIENCE: Final = 8
_FIRST_WAIT_S: Final = 1.0
_LONGEST_WAIT_S: Final = 60.0
_DEADLINE_MS: Final = 15 * 60 * 1000
_CHARS_A_TOKEN: Final = 8
_LEAST_LETTERS: Final = 3
_LONG: Final = 200
_LEAST_RATIO: Final = 0.1
"""Bytes of prose shrink to a half or a third; of the same words over and over to a fiftieth."""
_SENTENCE: Final = re.compile(r".*[.!?…][\"')\]]*(?=\s|$)", re.DOTALL)
_WORD: Final = re.compile(r"\w+")
_LEAST_MORE: Final = 20
_CALL: Final = re.compile(r"<tool_call>|<function=|^\s*\{\s*\"name\"\s*:")


class Writer:
    """Asks a model for prose, at a job's priority: people who wait for an answer go first.

    Args:
        engine: the model.
        sleep: waits for seconds.
    """

    def __init__(
        self, engine: Engine, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        """Keep them."""
        self.context_tokens = engine.info.context_tokens
        self._engine = engine
        self._sleep = sleep

    async def write(
        self, messages: tuple[Message, ...], most_tokens: int, question: str = ""
    ) -> str:
        """What the model writes; empty if it writes nothing of use, however often it is asked.

        Args:
            messages: what it is asked.
            most_tokens: of its answer.
            question: of the owner; only to repeat it is of no use.

        Raises:
            TooLongError: the messages do not fit.
            HomingError: the model cannot be used.
        """
        for temperature in _TEMPERATURES:
            text = await self._patiently(messages, most_tokens, temperature)
            if is_sound(text) and not _repeats(text, question):
                return text
        return ""

    async def _patiently(
        self, messages: tuple[Message, ...], most_tokens: int, temperature: float
    ) -> str:
        """One answer; an engine that is busy or starts again is waited for."""
        wait = _FIRST_WAIT_S
        for left in reversed(range(_PATIENCE)):
            try:
                return await self._once(messages, most_tokens, temperature)
            except TooLongError:
                raise
            except HomingError as error:
                if not (error.retryable and left):
                    raise
                told = getattr(error, "retry_after_ms", 0) / 1000
                await self._sleep(min(max(told, wait), _LONGEST_WAIT_S))
                wait *= 2
        return ""  # never reached: the last try raises

    async def _once(
        self, messages: tuple[Message, ...], most_tokens: int, temperature: float
    ) -> str:
        request = GenerateRequest(
            id=new_generation_id(),
            messages=messages,
            thinking=Thinking.OFF,
            sampling=Sampling(temperature=temperature, max_tokens=most_tokens),
            priority=Priority.JOB,
            deadline_ms=_DEADLINE_MS,
            tool_choice=ToolChoice.NONE,
        )
        most_chars = most_tokens * _CHARS_A_TOKEN
        written: list[str] = []
        chars = 0
        async with aclosing(self._engine.generate(request)) as events:
            async for event in events:
                match event:
                    case TextDelta(text=text):
                        written.append(text)
                        chars += len(text)
                        if chars > most_chars:  # it does not keep to its limit
                            return _ended("".join(written)[:most_chars])
                    case Done(reason=reason):
                        return _finished("".join(written), reason)
                    case Failed():
                        raise event.to_error()
                    case _:
                        pass
        msg = "the model's answer broke off"
        raise UnavailableError(msg)


def is_sound(text: str) -> bool:
    """Whether a text may be prose: not empty, no call of a tool, not the same over and over."""
    if sum(char.isalpha() for char in text) < _LEAST_LETTERS or _CALL.search(text):
        return False
    data = text.encode()
    return len(data) < _LONG or len(zlib.compress(data)) >= _LEAST_RATIO * len(data)


def _repeats(text: str, question: str) -> bool:
    """Whether an answer is hardly more than the question."""
    said, asked = (" ".join(_WORD.findall(one.casefold())) for one in (text, question))
    return bool(asked) and asked in said and len(said) - len(asked) < _LEAST_MORE


def _finished(text: str, reason: FinishReason) -> str:
    if reason is FinishReason.CANCELLED:
        msg = "the model's answer broke off"
        raise UnavailableError(msg)
    cleaned = clean_text(text).strip()
    return _ended(cleaned) if reason is FinishReason.LENGTH else cleaned


def _ended(text: str) -> str:
    """A text that was cut, up to the end of its last whole sentence."""
    whole = _SENTENCE.match(clean_text(text))
    return whole.group().strip() if whole else f"{clean_text(text).strip()}…"
