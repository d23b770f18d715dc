"""How much main memory a model will take, before it is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_inference.machine.memory_room import context_bytes
from homing_inference.machine.sizes import engine_sizes

if TYPE_CHECKING:
    from collections.abc import Mapping

_MIB: Final = 1 << 20
_OVERHEAD_BYTES: Final = 150 * _MIB
"""Of an engine's process besides weights, cache and checkpoints."""


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
    sizes = engine_sizes(
        context_tokens=context_tokens,
        max_sequences=max_sequences,
        cache_tokens=cache_tokens,
        checkpoint_bytes=checkpoint_bytes,
        trained_context=numbers.get(f"{architecture}.context_length", 0),
    )
    cache = context_bytes(
        lambda key: numbers.get(f"{architecture}.{key}", 0), sizes.cells, sizes.sequences
    )
    return size + cache + sizes.checkpoint_bytes + _OVERHEAD_BYTES
