"""Ties a saved state to what it belongs to: build, model, adapter and tokens."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from homing_inference.llama.library import build_facts
from homing_inference.llama.state_layout import plausible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_inference.llama.adapters import Adapters
    from homing_inference.llama.model import LoadedModel

SEAL_BYTES: Final = 32
"""In front of each state."""


class StateSeal:
    """The seal of a context's states.

    Args:
        model: that computes them.
        flags: of the context; see `Context.flags`.
        adapters: that may take part.

    Attributes:
        fingerprint: of build, context and layout, hex.
    """

    def __init__(self, model: LoadedModel, flags: Sequence[int], adapters: Adapters) -> None:
        """See the class."""
        self._model: Final = model
        self._adapters: Final = adapters
        parts = (build_facts(), tuple(flags), model.state_layout)
        self.fingerprint: Final = hashlib.sha256(repr(parts).encode()).hexdigest()

    def of(self, tokens: Sequence[int], adapter: str) -> bytes:
        """The seal of what holds these tokens, computed with this adapter."""
        parts = (self.fingerprint, self._model.tag, self._adapters.digest(adapter), list(tokens))
        return hashlib.sha256(repr(parts).encode()).digest()

    def fits(self, state: bytes, tokens: Sequence[int], adapter: str) -> bool:
        """Whether a sealed state is of exactly this, and one that llama.cpp's reader survives."""
        body = memoryview(state)[SEAL_BYTES:]
        return state[:SEAL_BYTES] == self.of(tokens, adapter) and plausible(
            body, len(tokens), self._model.state_layout
        )
