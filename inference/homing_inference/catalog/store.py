"""The models folder: which files are there, whether they are whole, and how a new one gets in.

    <root>/<family>-<quantization>.gguf         a whole, verified model
    <root>/<family>-<quantization>.gguf.json    its sidecar
    <root>/<family>-<quantization>.gguf.damaged one that failed its check, moved aside
    <root>/.incoming/                           parts, their state, and locks

A file gets its final name only when it is whole: part, sync, check, rename.
"""

from __future__ import annotations

import os
import shutil
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import filelock
import platformdirs
from homing_core.errors import HomingError, IntegrityError, OverloadedError

from homing_inference.catalog.files import os_errors, replace_durably, sha256_file, sync_file
from homing_inference.catalog.gguf_header import GgufHeader, check_gguf
from homing_inference.catalog.models import CATALOG, ModelEntry
from homing_inference.catalog.partial import Partial
from homing_inference.catalog.progress import silent
from homing_inference.catalog.sidecar import Sidecar, read_sidecar, write_sidecar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from homing_inference.catalog.progress import Progress

SPACE_MARGIN = 64 << 20
"""Bytes that a fetch leaves free on the disk."""


def default_models_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """`HOMING_MODELS_DIR`, or a folder in the user's cache."""
    given = environ.get("HOMING_MODELS_DIR")
    return Path(given) if given else Path(platformdirs.user_cache_dir("homing")) / "models"


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A verified file in the store.

    Attributes:
        entry: the catalog's word on it.
        path: where it lies.
        size: bytes.
        sha256: as verified, lower-case hex.
        origin: where it came from, for people.
    """

    entry: ModelEntry
    path: Path
    size: int
    sha256: str
    origin: str


def _free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


class Store:
    """The models folder of one user. Safe for several processes at once, by a lock a model.

    Args:
        root: the folder; made when needed. None means `default_models_dir()`.
        free_bytes: asks how much room a folder's disk has.
    """

    def __init__(
        self, root: Path | None = None, *, free_bytes: Callable[[Path], int] = _free_bytes
    ) -> None:
        """Touch nothing yet."""
        self.root = (root or default_models_dir()).expanduser().absolute()
        self.incoming = self.root / ".incoming"
        self._free_bytes = free_bytes

    def path(self, entry: ModelEntry) -> Path:
        """Where the model lies, or would."""
        return self.root / entry.file_name

    def partial(self, entry: ModelEntry) -> Partial:
        """The model's incoming part. For whoever holds the lock."""
        return Partial(self.incoming / f"{entry.file_name}.part")

    def installed(self, catalog: tuple[ModelEntry, ...] = CATALOG) -> tuple[StoredModel, ...]:
        """The catalog's models that are here and unchanged since they were verified."""
        return tuple(stored for entry in catalog if (stored := self._unchanged(entry)) is not None)

    async def verified(self, entry: ModelEntry, progress: Progress = silent) -> StoredModel | None:
        """The model if it is here; hashed anew only if its size or time has changed.

        Raises:
            IntegrityError: it is damaged; it has been moved aside, so the next fetch is fresh.
        """
        with os_errors(self.root):
            if (stored := self._unchanged(entry)) is not None:
                return stored
            path = self.path(entry)
            if not path.is_file():
                return None
            known = read_sidecar(_sidecar_path(path))
            expected = entry.sha256 or (known.sha256 if known else "")
            try:
                header = check_gguf(path)
                sha256 = await sha256_file(path, progress, f"checking {entry.name}")
                _compare(path.name, sha256, expected)
            except HomingError as error:
                aside = self._move_aside(path)
                msg = f"{error.what}; it was moved to {aside}"
                raise IntegrityError(msg, "Run the command again to fetch a fresh copy.") from error
            return self._record(
                entry, path, sha256, header, known.origin if known else "found here"
            )

    async def adopt(
        self,
        entry: ModelEntry,
        partial: Partial,
        origin: str,
        progress: Progress,
        *,
        sha256: str = "",
    ) -> StoredModel:
        """Check what has arrived and give it its final name.

        Args:
            entry: what it shall be.
            partial: the bytes; gone afterwards, whatever comes of it.
            origin: where it came from, for people.
            progress: told while hashing.
            sha256: the expected hash, if the entry itself has none; empty accepts any.

        Raises:
            IntegrityError: it is not what was expected; nothing of it stays.
        """
        with os_errors(self.root):
            try:
                header = check_gguf(partial.path)
                actual = await sha256_file(partial.path, progress, f"checking {entry.name}")
                _compare(entry.file_name, actual, entry.sha256 or sha256)
            except HomingError as error:
                partial.discard()
                msg = f"What arrived from {origin} is not {entry.name}: {error.what}"
                hint = "Try again; if it repeats, that source no longer holds the right file."
                raise IntegrityError(msg, hint) from error
            sync_file(partial.path)
            # The sidecar first: a crash in between leaves a sidecar without a file, which says
            # nothing; the other way round would leave a file that must be hashed again.
            stored = self._record(entry, partial.path, actual, header, origin)
            replace_durably(partial.path, stored.path)
            partial.discard()
            return stored

    def require_space(self, needed: int, what: str) -> None:
        """Make sure before a fetch that it will fit.

        Raises:
            OverloadedError: it will not; names the bytes needed and free.
        """
        with os_errors(self.root):
            self.incoming.mkdir(parents=True, exist_ok=True)
            free = self._free_bytes(self.root)
        if free < needed + SPACE_MARGIN:
            msg = (
                f"{what} needs {needed + SPACE_MARGIN:,} bytes, "
                f"and the disk of {self.root} has {free:,} bytes free"
            )
            hint = "Free some space, or set HOMING_MODELS_DIR to a folder on another disk."
            raise OverloadedError(msg, hint)

    def remove(self, entry: ModelEntry) -> int:
        """Delete a model, its parts and its sidecar.

        Returns:
            Bytes freed.
        """
        path, part = self.path(entry), self.partial(entry)
        with os_errors(self.root):
            freed = part.size + (path.stat().st_size if path.is_file() else 0)
            path.unlink(missing_ok=True)
            _sidecar_path(path).unlink(missing_ok=True)
            part.discard()
        return freed

    @asynccontextmanager
    async def locked(self, entry: ModelEntry, progress: Progress) -> AsyncGenerator[None, None]:
        """Hold the model's lock, so that two processes that want it fetch it once."""
        with os_errors(self.root):
            self.incoming.mkdir(parents=True, exist_ok=True)
            lock = filelock.AsyncFileLock(self.incoming / f"{entry.file_name}.lock")
            try:
                await lock.acquire(timeout=0)
            except filelock.Timeout:
                progress(0, 0, f"waiting for another process that fetches {entry.name}")
                await lock.acquire()
        try:
            yield
        finally:
            await lock.release()

    def _unchanged(self, entry: ModelEntry) -> StoredModel | None:
        path = self.path(entry)
        known = read_sidecar(_sidecar_path(path))
        if known is None or (entry.sha256 and known.sha256 != entry.sha256):
            return None
        try:
            if not path.is_file() or not known.fits(path.stat()):
                return None
        except OSError:
            return None
        return StoredModel(entry, path, known.size, known.sha256, known.origin)

    def _record(
        self, entry: ModelEntry, path: Path, sha256: str, header: GgufHeader, origin: str
    ) -> StoredModel:
        stat = path.stat()
        final = self.path(entry)
        sidecar = Sidecar(sha256, stat.st_size, stat.st_mtime_ns, header.quantization, origin)
        write_sidecar(_sidecar_path(final), sidecar)
        return StoredModel(entry, final, stat.st_size, sha256, origin)

    @staticmethod
    def _move_aside(path: Path) -> Path:
        aside = path.with_name(f"{path.name}.damaged")
        path.replace(aside)
        _sidecar_path(path).unlink(missing_ok=True)
        return aside


def _sidecar_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _compare(name: str, actual: str, expected: str) -> None:
    if expected and actual != expected:
        msg = f"{name} has SHA-256 {actual[:16]}… instead of {expected[:16]}…"
        raise IntegrityError(msg)
