"""How much main memory a model will take, before it is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

# Pure arithmetic: the one module of that package that is of use outside an engine's process.
from homing_inference.machine.memory_room import context_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

_MIB: Final = 1 << 20
_OVERHEAD_BYTES: Final = 150 * _MIB
"""Of an engine's process besides weights, cache and checkpoints."""
_CONTEXT_TOKENS: Final = 8192
_SEQUENCES: Final = 8
_FULL_CONTEXTS: Final = 4
_FURTHER_SEQUENCES: Final = 4
"""Beyond those of answers: pinned prefixes, and one to look ahead with."""
_CHECKPOINT_BYTES: Final = 256 * _MIB


def memory_need(  # noqa: PLR0913, PLR0917  # each is a size of its own
    size: int,
    architecture: str,
    numbers: Mapping[str, int],
    context_tokens: int,
    max_sequences: int,
    cache_tokens: int,
    checkpoint_bytes: int,
) -> int:
    """About how many bytes of main memory a model takes. 0 is what the engine would choose.

    Args:
        size: of its file, bytes.
        architecture: its name, with which the metadata's keys begin.
        numbers: the whole numbers of its metadata, by key.
        context_tokens: prompt and answer together, of one request.
        max_sequences: answers that are written at once.
        cache_tokens: that all of them hold together.
        checkpoint_bytes: for conversations to go on with.
    """
    context = context_tokens or _CONTEXT_TOKENS
    trained = numbers.get(f"{architecture}.context_length", context)
    sequences = max_sequences or _SEQUENCES
    cells = cache_tokens or min(_FULL_CONTEXTS, sequences) * min(context, trained or context)
    cache = context_bytes(
        lambda key: numbers.get(f"{architecture}.{key}", 0), cells, sequences + _FURTHER_SEQUENCES
    )
    return size + cache + (checkpoint_bytes or _CHECKPOINT_BYTES) + _OVERHEAD_BYTES
