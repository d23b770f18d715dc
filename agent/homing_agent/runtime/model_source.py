"""Where the model comes from: a verified file of the catalog, run in a child process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from homing_inference.catalog.resolve import ensure
from homing_inference.host import ChildEngine, ModelFile

from homing_agent.runtime.model_host import ModelStatus, Phase

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_inference.catalog.models import ModelRole
    from homing_inference.catalog.store import Store
    from homing_inference.engine import Engine


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which model, and how to run it.

    Attributes:
        role: `phone` or `node`; chooses the default model.
        name: catalog name or path; empty takes the role's default.
        stand_in: allow a stand-in.
        context_tokens: prompt and answer together; 0 lets the engine choose.
        threads: 0 lets the engine choose.
        gpu_layers: layers on an accelerator; 0 for none, -1 for all.
    """

    role: ModelRole
    name: str = ""
    stand_in: bool = False
    context_tokens: int = 0
    threads: int = 0
    gpu_layers: int = 0


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

    async def load(self, report: Callable[[ModelStatus], None]) -> Engine:
        """Fetch the file if it is not here, check it, and start the child.

        Raises:
            HomingError: as `ensure` and `ChildEngine.start` say.
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
        return await ChildEngine.start(
            ModelFile(file.path, file.name, file.stand_in),
            context_tokens=wanted.context_tokens,
            threads=wanted.threads,
            gpu_layers=wanted.gpu_layers,
            on_progress=lambda share: report(replace(loading, done=int(share * file.size))),
        )
