"""One piece of a streamed answer, or a whole answer that came at once. No I/O.

Whatever is missing or of the wrong type is passed over: servers differ, and some are odd.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_core.generation import TokenLogprob

from homing_inference.upstream.faults import answered
from homing_inference.upstream.wire import (
    count_of,
    list_of,
    number_of,
    object_of,
    read_json,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

DONE = "[DONE]"
"""What ends a stream in place of JSON."""
_MAX_TOP = 20
_LOWEST = -9999.0
"""Natural-log probability of what a server calls impossible (vLLM's own value)."""


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A part of a structured call.

    Attributes:
        slot: the server's number of the call within the answer.
        id: the server's id of the call; empty if it is not said here.
        name: of the tool, or the next part of it; empty if it is not said here.
        arguments: the next part of the JSON text.
    """

    slot: int
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChoicePiece:
    """What one answer gained.

    Attributes:
        sample: which answer, from 0.
        text: more of it.
        thinking: more of its thinking.
        calls: more of its calls.
        logprobs: of the tokens in this piece, where they were asked for.
        reason: why it ended, in OpenAI's words; empty if it did not.
    """

    sample: int
    text: str = ""
    thinking: str = ""
    calls: tuple[CallPiece, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()
    reason: str = ""

    @property
    def written(self) -> bool:
        """Whether the model wrote something."""
        return bool(self.text or self.thinking or self.calls)


@dataclass(frozen=True, slots=True)
class Counts:
    """Tokens, as the server counts them.

    Attributes:
        prompt: in the prompt.
        cached: of these, how many were not computed again.
        completion: newly written.
        whole: whether it stands alone at the end, rather than beside a piece of the answer.
    """

    prompt: int
    cached: int
    completion: int
    whole: bool


@dataclass(frozen=True, slots=True)
class Chunk:
    """One event of the stream.

    Attributes:
        choices: what the answers gained.
        counts: tokens, if it says so.
        last: whether the server said that nothing follows.
    """

    choices: tuple[ChoicePiece, ...] = ()
    counts: Counts | None = None
    last: bool = False


def read_chunk(data: str, place: str) -> Chunk:
    """Read one event.

    Args:
        data: of the event.
        place: host and port, for errors.

    Raises:
        AnsweredError: it is an error object.
        InvalidDataError: it is no JSON.
    """
    if data.strip() == DONE:
        return Chunk(last=True)
    body = object_of(read_json(data))
    error = body.get("error")
    if error is not None and error != "" and "choices" not in body:
        raise answered(0, body, {}, place)
    choices = tuple(_choice(object_of(choice)) for choice in list_of(body.get("choices")))
    whole = any("message" in object_of(choice) for choice in list_of(body.get("choices")))
    return Chunk(choices, read_counts(body, whole=whole or not choices), last=whole)


def read_counts(body: Mapping[str, object], *, whole: bool) -> Counts | None:
    """The `usage` of an answer; None if it holds none."""
    usage = object_of(body.get("usage"))
    if not usage:
        return None
    prompt = count_of(usage.get("prompt_tokens"))
    details = object_of(usage.get("prompt_tokens_details"))
    cached = min(count_of(details.get("cached_tokens")), prompt)
    return Counts(prompt, cached, count_of(usage.get("completion_tokens")), whole)


def _choice(choice: Mapping[str, object]) -> ChoicePiece:
    delta = object_of(choice.get("delta")) or object_of(choice.get("message"))
    calls = [
        _call(place, object_of(call)) for place, call in enumerate(list_of(delta.get("tool_calls")))
    ]
    listed = list_of(object_of(choice.get("logprobs")).get("content"))
    return ChoicePiece(
        sample=count_of(choice.get("index")),
        text=text_of(delta.get("content")) or text_of(delta.get("refusal")),
        thinking=text_of(delta.get("reasoning_content")) or text_of(delta.get("reasoning")),
        calls=tuple(calls),
        logprobs=tuple(_logprob(object_of(token)) for token in listed),
        reason=text_of(choice.get("finish_reason")),
    )


def _call(place: int, call: Mapping[str, object]) -> CallPiece:
    function = object_of(call.get("function"))
    slot = count_of(call["index"]) if isinstance(call.get("index"), int) else place
    known = text_of(call.get("id"))
    arguments = function.get("arguments")
    if isinstance(arguments, dict):  # some servers forget to write it as a text
        return CallPiece(slot, known, text_of(function.get("name")), json.dumps(arguments))
    return CallPiece(slot, known, text_of(function.get("name")), text_of(arguments))


def _logprob(token: Mapping[str, object]) -> TokenLogprob:
    top = [object_of(other) for other in list_of(token.get("top_logprobs"))[:_MAX_TOP]]
    pairs = [(text_of(other.get("token")), _log_of(other.get("logprob"))) for other in top]
    pairs.sort(key=lambda pair: -pair[1])
    return TokenLogprob(text_of(token.get("token")), _log_of(token.get("logprob")), tuple(pairs))


def _log_of(value: object) -> float:
    number = number_of(value)
    return _LOWEST if number is None else min(max(number, _LOWEST), 0.0)
