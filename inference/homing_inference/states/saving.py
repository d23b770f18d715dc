"""Saving and restoring a sequence where a failure only means that it is computed anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from homing_core.errors import HomingError

if TYPE_CHECKING:
    from homing_inference.states.sequence_pool import SequencePool

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)


def saved(sequences: SequencePool, sequence: int) -> bytes | None:
    """The state of a sequence; None if it cannot be had."""
    try:
        return sequences.save(sequence)
    except (HomingError, MemoryError) as error:
        _log.warning("engine.state_not_saved", why=str(error))
        return None


def restored(
    sequences: SequencePool,
    tokens: tuple[int, ...],
    state: bytes,
    adapter: str,
    *,
    pinned: bool = False,
) -> int | None:
    """A sequence with a saved state; None if there is anything wrong with it.

    The adapter that computes is the same afterwards as before.
    """
    before = sequences.adapter
    try:
        sequences.use_adapter(adapter)
        try:
            return sequences.restore(tokens, state, pinned=pinned)
        finally:
            sequences.use_adapter(before)
    except HomingError as error:
        # Whatever is wrong with a saved state, the prompt can be computed anew.
        _log.warning("engine.state_not_restored", why=error.what)
        return None
