"""From a name or a path to a verified file on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from homing_core.errors import NotFoundError, UnavailableError, UsageError

from homing_inference.catalog.convert import ConvertSource
from homing_inference.catalog.hub import HubSource
from homing_inference.catalog.local import absolute_path, looks_like_path, open_local
from homing_inference.catalog.models import (
    CATALOG,
    Converted,
    HubFile,
    ModelEntry,
    ModelRole,
    WheelParts,
    default_model,
    find_model,
)
from homing_inference.catalog.progress import silent
from homing_inference.catalog.wheels import WheelSource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_inference.catalog.models import Catalog, Origin
    from homing_inference.catalog.progress import Progress
    from homing_inference.catalog.source import Source
    from homing_inference.catalog.store import Store, StoredModel

Sources: TypeAlias = "Mapping[type[Origin], Source]"

STAND_IN_HINT = "or add --stand-in to use a small stand-in model instead"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A whole, verified model file.

    Attributes:
        path: where it lies.
        name: catalog name, or the file's own name without `.gguf`.
        quantization: such as `Q4_K_M`; `unknown` if a user's own file does not say.
        stand_in: whether it stands in for the product's own model.
        sha256: lower-case hex.
        size: bytes.
    """

    path: Path
    name: str
    quantization: str
    stand_in: bool
    sha256: str
    size: int


class Resolver:
    """Turns names into files. `ensure` is the short way to one.

    Args:
        store: the models folder.
        catalog: what there is.
        sources: where each kind of origin comes from; missing ones are the real ones.
        offline: whether to use only what is here.
    """

    def __init__(
        self,
        store: Store,
        *,
        catalog: Catalog = CATALOG,
        sources: Sources | None = None,
        offline: bool = False,
    ) -> None:
        """Touch nothing yet."""
        self._store = store
        self._catalog = catalog
        self._offline = offline
        self._sources: dict[type[Origin], Source] = {
            HubFile: HubSource(),
            WheelParts: WheelSource(),
            Converted: ConvertSource(self._obtain_by_name),
            **(sources or {}),
        }

    def find(self, name: str | None, *, allow_stand_in: bool, role: ModelRole) -> ModelEntry:
        """The catalog entry that is meant.

        Raises:
            NotFoundError: there is no such model.
            UsageError: it is a stand-in and nobody allowed one.
        """
        if name is None:
            return default_model(role, stand_in=allow_stand_in, catalog=self._catalog)
        entry = find_model(name, role, catalog=self._catalog)
        if entry.stand_in and not allow_stand_in:
            msg = f"{entry.name} is a stand-in for demos and tests, not the product's own model"
            raise UsageError(msg, "Add --stand-in to use it all the same.")
        return entry

    async def ensure(
        self,
        name_or_path: str | Path | None,
        *,
        allow_stand_in: bool,
        role: ModelRole,
        progress: Progress = silent,
    ) -> ModelFile:
        """See the function `ensure`."""
        path = _as_path(name_or_path)
        if path is not None:
            seen = await open_local(path, self._store, progress)
            absolute = absolute_path(path)
            return ModelFile(
                path=absolute,
                name=absolute.stem,
                quantization=seen.quantization,
                stand_in=False,
                sha256=seen.sha256,
                size=seen.size,
            )
        name = None if name_or_path is None else str(name_or_path)
        entry = self.find(name, allow_stand_in=allow_stand_in, role=role)
        stored = await self.obtain(entry, progress)
        return ModelFile(
            path=stored.path,
            name=entry.name,
            quantization=entry.quantization,
            stand_in=entry.stand_in,
            sha256=stored.sha256,
            size=stored.size,
        )

    async def obtain(self, entry: ModelEntry, progress: Progress = silent) -> StoredModel:
        """The entry's file: from the store if it is there and whole, else from its origin.

        Raises:
            UnavailableError: it is not here and cannot be fetched now.
            HomingError: as `Source.fetch` and `Store.verified` say.
        """
        if present := self._store.installed((entry,)):
            return present[0]
        async with self._store.locked(entry, progress):
            stored = await self._store.verified(entry, progress)
            if stored is not None:
                return stored
            if self._offline and not isinstance(entry.origin, Converted):
                msg = f"{entry.title} ({entry.name}) is not on this machine, and offline is set"
                raise UnavailableError(msg, _hint("Fetch it while online", entry))
            source = self._sources[type(entry.origin)]
            try:
                return await source.fetch(entry, self._store, progress)
            except (UnavailableError, NotFoundError) as error:
                if isinstance(entry.origin, Converted):
                    raise
                msg = f"{entry.title} ({entry.name}) is not on this machine. {error.what}"
                raise type(error)(msg, _hint(error.hint, entry)) from error

    async def _obtain_by_name(self, name: str, store: Store, progress: Progress) -> StoredModel:
        del store  # the resolver's own
        return await self.obtain(find_model(name, catalog=self._catalog), progress)


async def ensure(  # noqa: PLR0913  # each is one independent choice of the caller
    name_or_path: str | Path | None,
    *,
    store: Store,
    allow_stand_in: bool,
    role: ModelRole,
    progress: Progress = silent,
    offline: bool = False,
) -> ModelFile:
    """Make sure that a model is on this machine, whole and verified.

    Args:
        name_or_path: a catalog name (`botpsy-0.8b:q4_k_m`, or `botpsy-0.8b` for the format that
            suits the role), a path to a .gguf, or None for the role's default.
        store: the models folder.
        allow_stand_in: with no name, take the stand-in; with a name, whether it may be one. A
            named model is never replaced by another.
        role: `phone` or `node`.
        progress: told how far it is.
        offline: use only what is here.

    Raises:
        NotFoundError: there is no such model or file; the hint names close ones.
        UsageError: it is a stand-in and `allow_stand_in` is not set.
        UnavailableError: it is not here and cannot be fetched now; the hint names `--stand-in`.
        IntegrityError: the file is damaged or not the expected one.
        InvalidDataError: a file or an answer cannot be read.
        RefusedError: the hub wants a licence accepted or a token.
        OverloadedError: the disk is too full; says how much is needed and free.
    """
    return await Resolver(store, offline=offline).ensure(
        name_or_path, allow_stand_in=allow_stand_in, role=role, progress=progress
    )


def _as_path(name_or_path: str | Path | None) -> Path | None:
    if isinstance(name_or_path, Path):
        return name_or_path
    if name_or_path is not None and looks_like_path(name_or_path):
        return Path(name_or_path)
    return None


def _hint(hint: str, entry: ModelEntry) -> str:
    """Name the option, but never take it: another model is the user's word."""
    if entry.stand_in:
        return hint
    return f"{hint.rstrip('.')}, {STAND_IN_HINT}."
