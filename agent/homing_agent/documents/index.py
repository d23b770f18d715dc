"""The index in one SQLite file. It can always be made anew from the documents.

All statements run in one thread of its own, so they are in order and the event loop never waits for
the disk. Each file is one transaction: a killed process has a file whole or not at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import structlog
from homing_core.errors import IntegrityError, InternalError

from homing_agent.database import open_database
from homing_agent.documents import statements
from homing_agent.documents.rows import SCHEMA, VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from homing_agent.documents.chunks import Chunk
    from homing_agent.documents.messages import Extract
    from homing_agent.documents.query import Query
    from homing_agent.documents.roots import Place
    from homing_agent.documents.rows import Hit, KnownFile
    from homing_agent.documents.scan import FoundFile

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

T = TypeVar("T")


class Index:
    """What is known of documents. Opened with the first use; belongs to one event loop.

    Args:
        path: of the file; made if it is not there, readable by its user alone.

    Attributes:
        rebuilt: whether a damaged file was replaced, so that all is read again.
    """

    def __init__(self, path: Path) -> None:
        """Nothing is opened yet."""
        self._path = path
        self._thread: ThreadPoolExecutor | None = None
        self._db: sqlite3.Connection | None = None
        self.rebuilt = False

    async def known(self, place: Place) -> dict[bytes, KnownFile]:
        """Every file below a folder, by its path."""
        return await self._do(lambda db: statements.known(db, place))

    async def one(self, place: Place, path: bytes) -> KnownFile | None:
        """What is known of one file; None if nothing is."""
        return await self._do(lambda db: statements.one(db, place, path))

    async def keep_only(self, places: Sequence[Place]) -> None:
        """Drop all files of other roots than those of these places."""
        await self._do(
            lambda db: statements.keep_only(db, {str(place.root.path) for place in places})
        )

    async def put(self, place: Place, found: FoundFile, extract: Extract) -> None:
        """Keep what a file holds, in place of what was known of it."""
        await self._do(lambda db: statements.put(db, place, found, extract))

    async def forget(self, files: Sequence[KnownFile]) -> None:
        """Drop files that are gone."""
        if files:
            await self._do(lambda db: statements.forget(db, files))

    async def search(self, places: Sequence[Place], query: Query, most: int) -> list[Hit]:
        """The best places, the best first; what holds every word before what holds some."""
        return await self._do(lambda db: statements.search(db, places, query, most))

    async def text(self, file: KnownFile) -> tuple[Chunk, ...]:
        """A file's text."""
        return await self._do(lambda db: statements.text(db, file))

    async def close(self) -> None:
        """Close the file; harmless when repeated. A later use opens it again."""
        thread, self._thread = self._thread, None
        if thread is not None:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(thread, self._close)
            thread.shutdown(wait=False)

    async def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="documents")
        loop = asyncio.get_running_loop()
        # Cancelled, it goes on to the end of its transaction, and the next one waits in the queue.
        return await loop.run_in_executor(self._thread, self._run, work)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return work(self._opened())
        except (sqlite3.OperationalError, sqlite3.IntegrityError) as error:
            msg = "the index of documents cannot be used"
            raise InternalError(msg, "Is the disk full, or the file locked?") from error
        except sqlite3.DatabaseError:  # it is damaged, and was whole when it was opened
            self._replace()
        try:
            return work(self._opened())
        except sqlite3.Error as error:
            msg = "the index of documents cannot be made anew"
            raise InternalError(msg, "Check its folder's owner, mode and free space.") from error

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                self._db = open_database(self._path, SCHEMA, VERSION)
            except IntegrityError:
                self._replace()
                self._db = open_database(self._path, SCHEMA, VERSION)
            # A lost commit is a file that is read again; a damaged file there is never.
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute("PRAGMA secure_delete = ON")  # text that is gone is gone
        return self._db

    def _replace(self) -> None:
        """It can be made anew from the documents, so a damaged one is no loss."""
        _log.warning("documents.index_rebuilt")
        self._close()
        for ending in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + ending).unlink(missing_ok=True)
        self.rebuilt = True

    def _close(self) -> None:
        if self._db is not None:
            db, self._db = self._db, None
            with contextlib.suppress(sqlite3.Error):
                db.close()
