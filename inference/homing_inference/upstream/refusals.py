"""What to leave out when a server refuses a field, so that it can be asked again. No I/O."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from homing_inference.upstream.body import Body
    from homing_inference.upstream.faults import AnsweredError

_OPTIONAL: Final = (
    ("stream_options",),
    ("chat_template_kwargs",),
    ("reasoning_effort",),
    ("thinking_budget_tokens",),
    ("thinking_token_budget",),
    ("top_k",),
    ("min_p",),
    ("seed",),
    ("top_logprobs", "logprobs"),
)
"""Fields without which an answer is still an answer; those in one line stand or fall together."""
_LENGTH: Final = "max_tokens"
_REFUSALS: Final = frozenset({400, 404, 422, 500, 501})
_MANY: Final = re.compile(r"(?<![\w.])n(?![\w.])|multiple (?:choices|completions)", re.IGNORECASE)


def adapted(body: Body, refusal: AnsweredError) -> Body | None:
    """The request without what the server does not take; None if nothing can be left out.

    The length of the answer is shortened where it alone makes the request too long.
    """
    if refusal.status not in _REFUSALS:
        return None
    if refusal.context_tokens:
        return _shorter(body, refusal)
    said = refusal.said
    if "max_completion_tokens" in said and _LENGTH in body:
        renamed = _without(body, (_LENGTH,))
        return renamed | {"max_completion_tokens": body[_LENGTH]}
    if body.get("logprobs") and body.get("stream") and _names(said, "logprobs", "stream"):
        # llama-server gives probabilities beside tools, but not piece by piece.
        return _without(body, ("stream_options",)) | {"stream": False}
    for group in _OPTIONAL:
        if any(name in body and _names(said, name) for name in group):
            return _without(body, group)
    return _with_other_choice(body, said)


def refuses_many(refusal: AnsweredError) -> bool:
    """Whether it is `n` that the server does not take."""
    return refusal.status in _REFUSALS and _MANY.search(refusal.said) is not None


def _with_other_choice(body: Body, said: str) -> Body | None:
    choice = body.get("tool_choice", "none")
    if choice == "none" or not _names(said, "tool", "choice"):
        return None
    # Without a parser of its own, vLLM offers tools only so; the model writes calls as text then.
    return body | {"tool_choice": "none" if choice == "auto" else "auto"}


def _shorter(body: Body, refusal: AnsweredError) -> Body | None:
    room = refusal.context_tokens - refusal.prompt_tokens
    if refusal.prompt_tokens and 0 < room < body.get(_LENGTH, 0):
        return body | {_LENGTH: room}
    return None


def _names(said: str, *words: str) -> bool:
    return all(
        re.search(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])", said, re.IGNORECASE)
        for word in words
    )


def _without(body: Body, names: tuple[str, ...]) -> Body:
    return {name: value for name, value in body.items() if name not in names}
