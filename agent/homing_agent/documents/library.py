"""The one door for tools: folders are brought up to date, searched and read."""

from __future__ import annotations

import asyncio
import os
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from homing_core.clock import SystemClock
from homing_core.jobs import JobProgress

from homing_agent.documents.extractor import Extractor
from homing_agent.documents.index import Index
from homing_agent.documents.limits import FolderLimits
from homing_agent.documents.messages import Extract, Status
from homing_agent.documents.opening import open_file
from homing_agent.documents.query import build_query
from homing_agent.documents.scan import scan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from homing_core.clock import Clock

    from homing_agent.documents.chunks import Chunk
    from homing_agent.documents.extractor import Reader
    from homing_agent.documents.roots import Place, Roots
    from homing_agent.documents.rows import Hit, KnownFile
    from homing_agent.documents.scan import FoundFile, Scan

UNIT: Final = "files"
_READING: Final = "reading documents"


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What bringing a folder up to date came to.

    Attributes:
        files: documents in it.
        read: of these, how many were read now.
        left: how many are still to be read; above 0 where time ran out.
        complete: whether all names in it were looked at; False where it holds too much.
        closed: folders in it that the node may not look into.
        rebuilt: the index was damaged and is made anew.
    """

    files: int
    read: int
    left: int
    complete: bool = True
    closed: int = 0
    rebuilt: bool = False


class Library:
    """Documents in the folders that the operator has opened. Belongs to one event loop.

    Args:
        database: the index's file.
        roots: the folders.
        reader: reads files; by default a worker process, which starts with the first one.
        limits: on what a folder may hold.
        clock: monotonic time.
    """

    def __init__(
        self,
        database: Path,
        roots: Roots,
        *,
        reader: Reader | None = None,
        limits: FolderLimits | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Nothing is opened or started yet."""
        self.roots = roots
        self._index = Index(database)
        self._reader: Reader = reader or Extractor()
        self._limits = limits or FolderLimits()
        self._clock = clock or SystemClock()
        self._turn = asyncio.Lock()
        self._tidied = False

    async def refresh(
        self,
        place: Place,
        report: Callable[[JobProgress], None],
        seconds: float = 0.0,
    ) -> Refreshed:
        """Read what is new or changed in a folder, the latest first, and forget what is gone.

        Args:
            place: the folder.
            report: told how far it is, in files.
            seconds: stop reading after that long; 0 for no limit.

        Raises:
            NotFoundError: the folder is gone.
            UnavailableError: nothing can be read now.
            InternalError: the index cannot be written.
        """
        until = self._clock.monotonic() + seconds if seconds else None
        async with self._turn:
            await self._tidy()
            found = await self._scan(place)
            known = await self._index.known(place)
            await self._index.forget(_gone(found, known))
        changed = [
            file
            for file in found.files
            if file.path not in known or not known[file.path].is_current(file)
        ]
        total, read = len(found.files), 0
        for file in changed:
            if until is not None and self._clock.monotonic() >= until:
                break
            report(JobProgress(total - len(changed) + read, total, UNIT, _READING))
            # One file a turn, so that a search need not wait for a folder that takes hours.
            async with self._turn:
                await self._read(place, file)
            read += 1
        report(JobProgress(total - len(changed) + read, total, UNIT, _READING))
        rebuilt, self._index.rebuilt = self._index.rebuilt, False
        left = len(changed) - read
        return Refreshed(total, read, left, found.complete, len(found.closed), rebuilt)

    async def search(self, places: Sequence[Place], query: str, most: int) -> list[Hit]:
        """The best places for a query in anybody's words; see `query`."""
        return await self._index.search(places, build_query(query), most)

    async def files(self, place: Place) -> tuple[KnownFile, ...]:
        """What the index knows of a folder, by name."""
        known = await self._index.known(place)
        return tuple(known[path] for path in sorted(known))

    async def text(self, file: KnownFile) -> tuple[Chunk, ...]:
        """A file's text, as it was read."""
        return await self._index.text(file)

    async def close(self) -> None:
        """End the worker and close the index; harmless when repeated."""
        await self._reader.close()
        await self._index.close()

    async def _scan(self, place: Place) -> Scan:
        stop = threading.Event()
        try:
            return await asyncio.to_thread(scan, place, self._limits, self.roots.never, stop)
        finally:
            stop.set()

    async def _tidy(self) -> None:
        """Forget folders that the operator has closed since."""
        if not self._tidied:
            await self._index.keep_only(self.roots.all())
            self._tidied = True

    async def _read(self, place: Place, file: FoundFile) -> None:
        known = await self._index.one(place, file.path)
        if known is not None and known.is_current(file):
            return  # somebody else has read it meanwhile
        try:
            descriptor = await _opened(place, file)
        except OSError:
            extract = Extract(0, Status.UNREADABLE, "the node may not open it")
            await self._index.put(place, file, extract)
            return
        try:
            # As it is now: a change while it is read shows at the next look.
            now = os.fstat(descriptor)
            file = replace(file, size=now.st_size, mtime_ns=now.st_mtime_ns)
            same = known.reusable_sha256 if known else ""
            extract = await self._reader.read(descriptor, file.kind, same)
        finally:
            os.close(descriptor)
        await self._index.put(place, file, extract)


async def _opened(place: Place, file: FoundFile) -> int:
    """A descriptor of the file, opened in a thread: a disk of the network may keep it waiting."""
    opening = asyncio.ensure_future(asyncio.to_thread(open_file, place.root.path, file.path))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close)
        raise


def _close(opening: asyncio.Future[int]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        os.close(opening.result())


def _gone(found: Scan, known: dict[bytes, KnownFile]) -> list[KnownFile]:
    """Files that are not there any more; nobody knows that of what could not be looked at."""
    if not found.complete:
        return []
    there = {file.path for file in found.files}
    closed = tuple(path + b"/" if path else b"" for path in found.closed)
    return [
        file for path, file in known.items() if path not in there and not path.startswith(closed)
    ]
