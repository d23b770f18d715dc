"""What an engine is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_WAITING: Final = 64
"""Requests that may wait, where nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How to run a model. 0 and empty let the engine choose.

    Attributes:
        context_tokens: prompt and answer together, of one request.
        threads: that compute.
        max_sequences: answers that are written at once; 0 is 8.
        cache_tokens: tokens that all requests and pinned prefixes hold together; 0 is what four
            full contexts take.
        file_sha256: of the model file, hex; without it no state is written to disk.
        state_folder: where states of pinned prefixes are kept; None keeps them in memory only.
        state_bytes: that they may take there.
        checkpoint_bytes: of main memory that checkpoints of conversations may take.
        max_waiting: requests that may wait; 0 is 64.
        adapters: names of LoRA adapters and their files.
        cores: to share with the other engines of the machine.
    """

    context_tokens: int = 0
    threads: int = 0
    max_sequences: int = 0
    cache_tokens: int = 0
    file_sha256: str = ""
    state_folder: Path | None = None
    state_bytes: int = 0
    checkpoint_bytes: int = 0
    max_waiting: int = 0
    adapters: tuple[tuple[str, Path], ...] = ()
    cores: int = 0
