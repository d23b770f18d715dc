"""Where the model comes from: a verified file of the catalog, run in a child process."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from homing_core.errors import HomingError
from homing_inference.catalog.gguf_header import check_gguf
from homing_inference.catalog.local import absolute_path, looks_like_path
from homing_inference.catalog.models import default_model, find_model
from homing_inference.catalog.resolve import ensure
from homing_inference.host import ChildEngine, ModelFile
from homing_inference.machine.threads import default_threads

from homing_agent.runtime.model_host import ModelStatus, Phase, at_once
from homing_agent.runtime.model_memory import memory_need

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from homing_inference.catalog.models import ModelRole
    from homing_inference.catalog.resolve import ModelFile as StoredFile
    from homing_inference.catalog.store import Store
    from homing_inference.engine import Engine

    from homing_agent.runtime.model_host import Admission


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which model, and how to run it.

    Attributes:
        role: `phone` or `node`; chooses the default model.
        name: catalog name or path; empty takes the role's default.
        stand_in: allow a stand-in.
        context_tokens: prompt and answer together; 0 lets the engine choose.
        threads: 0 shares the cores with the other engines of this machine.
        gpu_layers: layers on an accelerator; 0 for none, -1 for all.
        max_sequences: answers that are written at once; 0 lets the engine choose.
        cache_tokens: tokens of all conversations that are held; 0 lets the engine choose.
        state_folder: where beginnings are kept that many requests share; None keeps none.
        state_bytes: of them at most.
        checkpoint_bytes: of memory for conversations to go on with; 0 lets the engine choose.
        adapters: LoRA adapters by the name to ask for.
        cpu_share: fraction of the cores for all engines of this process together, above 0 to 1.
    """

    role: ModelRole
    name: str = ""
    stand_in: bool = False
    context_tokens: int = 0
    threads: int = 0
    gpu_layers: int = 0
    max_sequences: int = 0
    cache_tokens: int = 0
    state_folder: Path | None = None
    state_bytes: int = 0
    checkpoint_bytes: int = 0
    adapters: tuple[tuple[str, Path], ...] = ()
    cpu_share: float = 1.0


def expected_status(wanted: Wanted) -> ModelStatus:
    """What is known of a model that was not loaded yet.

    Raises:
        NotFoundError: the catalog has no such model.
    """
    if looks_like_path(wanted.name):
        return ModelStatus(absolute_path(Path(wanted.name)).stem, Phase.UNLOADED)
    entry = (
        find_model(wanted.name, wanted.role)
        if wanted.name
        else default_model(wanted.role, stand_in=wanted.stand_in)
    )
    return ModelStatus(
        entry.name,
        Phase.UNLOADED,
        stand_in=entry.stand_in,
        quantization=entry.quantization,
        sha256=entry.sha256,
    )


class CatalogSource:
    """The `ModelSource` of a real process.

    Args:
        wanted: which model, and how to run it.
        store: the models folder.
    """

    def __init__(self, wanted: Wanted, store: Store) -> None:
        """Touch nothing yet."""
        self._wanted = wanted
        self._store = store

    async def load(
        self, report: Callable[[ModelStatus], None], admit: Admission = at_once
    ) -> Engine:
        """Fetch the file if it is not here, check it, and start the child.

        Raises:
            HomingError: as `ensure`, `admit` and `ChildEngine.start` say.
        """
        wanted = self._wanted
        status = ModelStatus(wanted.name or "default", stand_in=wanted.stand_in)

        def fetching(done: int, total: int, label: str) -> None:
            report(replace(status, step=label, done=done, total=total))

        file = await ensure(
            wanted.name or None,
            store=self._store,
            allow_stand_in=wanted.stand_in,
            role=wanted.role,
            progress=fetching,
        )
        loading = ModelStatus(
            file.name,
            Phase.LOADING,
            step=f"loading {file.name}",
            total=file.size,
            stand_in=file.stand_in,
            quantization=file.quantization,
            sha256=file.sha256,
        )
        report(loading)
        threads, cores = compute_with(wanted.threads, wanted.cpu_share)
        async with admit(await asyncio.to_thread(_need_of, file, wanted)):
            return await ChildEngine.start(
                ModelFile(file.path, file.name, file.stand_in, file.sha256),
                context_tokens=wanted.context_tokens,
                threads=threads,
                gpu_layers=wanted.gpu_layers,
                max_sequences=wanted.max_sequences,
                cache_tokens=wanted.cache_tokens,
                state_folder=wanted.state_folder if wanted.state_bytes else None,
                state_bytes=wanted.state_bytes,
                checkpoint_bytes=wanted.checkpoint_bytes,
                adapters=wanted.adapters,
                cores=cores,
                on_progress=lambda share: report(replace(loading, done=int(share * file.size))),
            )


def compute_with(threads: int, cpu_share: float, cores: int = 0) -> tuple[int, int]:
    """With how many threads an engine computes, and how many cores it shares with the others.

    Args:
        threads: as configured; 0 shares the cores.
        cpu_share: fraction of the cores that may be used, above 0 to 1.
        cores: of the machine; 0 is what suits it.

    Returns:
        Both as `ChildEngine.start` takes them: 0 lets the engine choose.
    """
    if cpu_share >= 1:
        return threads, 0
    most = max(1, int((cores or default_threads()) * cpu_share))
    return min(threads, most), most


def _need_of(file: StoredFile, wanted: Wanted) -> int:
    architecture: str = ""
    numbers: Mapping[str, int] = {}
    # Whatever is wrong with the file, the engine says.
    with contextlib.suppress(OSError, HomingError):
        header = check_gguf(file.path)
        architecture, numbers = header.architecture, header.numbers
    return memory_need(
        file.size,
        architecture,
        numbers,
        wanted.context_tokens,
        wanted.max_sequences,
        wanted.cache_tokens,
        wanted.checkpoint_bytes,
    )
