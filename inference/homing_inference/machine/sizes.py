"""How large an engine makes itself where nobody says otherwise. Pure; also of use beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DEFAULT_CONTEXT: Final = 8192
"""Tokens, where nobody says more."""
DEFAULT_SEQUENCES: Final = 8
"""Answers that are written at once, where nobody says otherwise."""
DEFAULT_CHECKPOINT_BYTES: Final = 256 << 20
"""Main memory for checkpoints, where nobody says otherwise."""
PINNED_PREFIXES: Final = 3
"""Prefixes kept at once; each costs its tokens' memory, and on hybrid models one state."""
_SHORTEST_CONTEXT: Final = 256
_FULL_CONTEXTS: Final = 4
_FOR_SCORING: Final = 1
"""Sequences beyond those of answers and pins, so that scoring can always look at one branch."""


@dataclass(frozen=True, slots=True)
class EngineSizes:
    """What an engine reserves.

    Attributes:
        context_tokens: prompt and answer together, of one answer.
        max_sequences: answers that are written at once.
        cells: tokens that all sequences hold together.
        sequences: those of answers, of pinned prefixes, and one to look ahead with.
        checkpoint_bytes: of main memory for conversations to go on with.
    """

    context_tokens: int
    max_sequences: int
    cells: int
    sequences: int
    checkpoint_bytes: int


def engine_sizes(
    *,
    context_tokens: int,
    max_sequences: int,
    cache_tokens: int,
    checkpoint_bytes: int,
    trained_context: int,
) -> EngineSizes:
    """The sizes for what is wished; 0 leaves a choice to the engine.

    Args:
        context_tokens: prompt and answer together; cut to what the model was trained on.
        max_sequences: answers at once.
        cache_tokens: that all sequences hold together.
        checkpoint_bytes: for conversations.
        trained_context: tokens that the model was trained on at once; 0 if unknown.
    """
    wanted = context_tokens or DEFAULT_CONTEXT
    context = max(_SHORTEST_CONTEXT, min(wanted, trained_context or DEFAULT_CONTEXT))
    answers = max_sequences or DEFAULT_SEQUENCES
    cells = cache_tokens or min(_FULL_CONTEXTS, answers) * context
    return EngineSizes(
        context_tokens=context,
        max_sequences=answers,
        cells=max(cells, context),
        sequences=answers + PINNED_PREFIXES + _FOR_SCORING,
        checkpoint_bytes=checkpoint_bytes or DEFAULT_CHECKPOINT_BYTES,
    )
