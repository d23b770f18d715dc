"""What the measurements share: models, engines, and where results go."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homing_inference.catalog.resolve import ensure
from homing_inference.catalog.store import Store
from homing_inference.host import ChildEngine, ModelFile
from homing_inference.machine.threads import default_threads
from homing_inference.synthetic import QWEN35_0_8B, write_qwen35
from support.qwen35 import cache_dir, qwen35_template

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

CONTEXT = 4096
SEQUENCES = 8
_CHUNK = 1 << 24


@dataclass
class Results:
    """What was measured: raw samples by name, ratios by the issue's keys, and remarks."""

    samples: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    figures: dict[str, float] = field(default_factory=dict[str, float])
    facts: dict[str, Any] = field(default_factory=dict[str, Any])

    def add(self, name: str, value: float) -> None:
        """One more sample."""
        self.samples.setdefault(name, []).append(value)


@dataclass(frozen=True)
class Models:
    """The files.

    Attributes:
        bf16: the node's stand-in.
        q4: the phone's stand-in.
        hybrid: random weights in the shape of the product's own model.
    """

    bf16: ModelFile
    q4: ModelFile
    hybrid: ModelFile


async def models() -> Models:
    """Fetch, or write, what is not there yet."""
    hybrid = cache_dir() / "random-qwen35-0.8b.gguf"
    if not hybrid.exists():
        partial = hybrid.with_suffix(".partial")
        write_qwen35(partial, qwen35_template(), QWEN35_0_8B)
        partial.replace(hybrid)
    digest = await asyncio.to_thread(_sha256, hybrid)
    bf16 = await _stand_in("stand-in-0.5b:bf16")
    q4 = await _stand_in("stand-in-0.5b:q4_k_m")
    return Models(bf16, q4, ModelFile(hybrid, "random-qwen35-0.8b", stand_in=True, sha256=digest))


async def _stand_in(name: str) -> ModelFile:
    store = Store(Path(os.environ["HOMING_MODELS_DIR"]))
    file = await ensure(name, store=store, allow_stand_in=True, role="node")
    return ModelFile(file.path, file.name, file.stand_in, sha256=file.sha256)


def _sha256(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()


def threads() -> int:
    """As the engine itself would choose; said to every program, so that all use the same."""
    return default_threads()


@contextlib.asynccontextmanager
async def engine(
    model: ModelFile, *, states: Path | None = None, sequences: int = SEQUENCES
) -> AsyncGenerator[ChildEngine]:
    """A fresh engine in a child process."""
    opened = await ChildEngine.start(
        model,
        context_tokens=CONTEXT,
        threads=threads(),
        max_sequences=sequences,
        state_folder=states,
        state_bytes=1 << 30 if states else 0,
        checkpoint_bytes=1 << 29,
    )
    try:
        yield opened
    finally:
        await opened.close()
