"""Where a node's model comes from: a verified file of the catalog, run in a child process."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from homing_inference.catalog.resolve import ensure
from homing_inference.host import ChildEngine, ModelFile

from homing_node.models import ModelStatus, Phase

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_inference.catalog.store import Store
    from homing_inference.engine import Engine

    from homing_node.config import ModelSection


class CatalogSource:
    """The `ModelSource` of a real node.

    Args:
        section: which model, and how to run it.
        store: the models folder.
    """

    def __init__(self, section: ModelSection, store: Store) -> None:
        """Touch nothing yet."""
        self._section = section
        self._store = store

    async def load(self, report: Callable[[ModelStatus], None]) -> Engine:
        """Fetch the file if it is not here, check it, and start the child.

        Raises:
            HomingError: as `ensure` and `ChildEngine.start` say.
        """
        section = self._section
        status = ModelStatus(section.name or "default", stand_in=section.stand_in)

        def fetching(done: int, total: int, label: str) -> None:
            report(replace(status, step=label, done=done, total=total))

        file = await ensure(
            section.name or None,
            store=self._store,
            allow_stand_in=section.stand_in,
            role="node",
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
            context_tokens=section.context_tokens,
            threads=section.threads,
            gpu_layers=section.gpu_layers,
            on_progress=lambda share: report(replace(loading, done=int(share * file.size))),
        )
