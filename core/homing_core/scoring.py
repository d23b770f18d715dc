"""How much a model leans to each tool, without letting it write a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.generation import Priority, Thinking

if TYPE_CHECKING:
    from homing_core.messages import Message
    from homing_core.tools import ToolSpec

CONTENT_FREE: Final = "N/A"
"""A request that asks for nothing; what is scored after it is a model's own leaning."""


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """What to score.

    Attributes:
        messages: the conversation so far; the model would write next.
        tools: what it may call; names are unique.
        model: catalog name or served name; empty for the default.
        thinking: on or off, as in the prompt whose state shall be used.
        priority: what runs first when several wait.
        adapter: name of a LoRA adapter that the engine has; empty for none.
        owner: see `GenerateRequest.owner`.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    model: str = ""
    thinking: Thinking = Thinking.OFF
    priority: Priority = Priority.INTERACTIVE
    adapter: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True)
class NameScore:
    """One tool. Logarithms are natural.

    Attributes:
        name: the tool.
        logprob: of this name among all offered names, given that a call is written.
        baseline: the same where the person said nothing of content; None if it was not computed.
        exact: False for a name in a branch that was too unlikely to be looked at; then `logprob` is
            an upper bound.
    """

    name: str
    logprob: float
    baseline: float | None = None
    exact: bool = True


@dataclass(frozen=True, slots=True)
class ToolScores:
    """How a model leans. Logarithms are natural.

    Attributes:
        names: every offered tool, the most likely first.
        call_logprob: that the answer begins with a call.
        call_baseline: the same where the person said nothing of content; None if not computed.
        prompt_tokens: in the rendered prompt.
        cached_tokens: of these, how many were not computed again.
        scored_tokens: computed beyond the prompt.
    """

    names: tuple[NameScore, ...]
    call_logprob: float
    call_baseline: float | None = None
    prompt_tokens: int = 0
    cached_tokens: int = 0
    scored_tokens: int = 0
