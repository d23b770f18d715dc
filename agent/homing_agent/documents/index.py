"""The index in one SQLite file. It can always be made anew from the documents.

All statements run in one thread of its own, so they are in order and the event loop never waits for
the disk. Each file is one transaction: a killed process has a file whole or not at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

import structlog
from homing_core.errors import IntegrityError, InternalError

from homing_agent.database import open_database
from homing_agent.documents.chunks import Chunk, Unit
from homing_agent.documents.messages import Status
from homing_agent.documents.rows import (
    FILE_COLUMNS,
    SCHEMA,
    VERSION,
    Hit,
    KnownFile,
    shown_path,
    to_known,
    words_of_path,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from homing_agent.documents.messages import Extract
    from homing_agent.documents.query import Query
    from homing_agent.documents.roots import Place
    from homing_agent.documents.scan import FoundFile

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

T = TypeVar("T")
_SNIPPET_TOKENS: Final = 64
_MOST_SNIPPET: Final = 700
_SEARCH: Final = (
    "SELECT file.root, file.path, chunk.unit, chunk.number, chunk.label, "  # noqa: S608  # constants
    f"snippet(found, 1, '', '', '…', {_SNIPPET_TOKENS}) FROM found "
    "JOIN chunk ON chunk.id = found.rowid JOIN file ON file.id = chunk.file_id "
    "WHERE found MATCH ? AND ({scope}) ORDER BY bm25(found, 3.0, 1.0), found.rowid LIMIT ?"
)


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
        return await self._do(lambda db: _known(db, place))

    async def put(self, place: Place, found: FoundFile, extract: Extract) -> None:
        """Keep what a file holds, in place of what was known of it."""
        await self._do(lambda db: _put(db, place, found, extract))

    async def forget(self, files: Sequence[KnownFile]) -> None:
        """Drop files that are gone."""
        if files:
            await self._do(lambda db: _forget(db, files))

    async def search(self, places: Sequence[Place], query: Query, most: int) -> list[Hit]:
        """The best places, the best first; what holds every word before what holds some."""
        return await self._do(lambda db: _search(db, places, query, most))

    async def text(self, file: KnownFile) -> tuple[Chunk, ...]:
        """A file's text."""
        return await self._do(lambda db: _text(db, file))

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


def _below(place: Place) -> tuple[str, list[object]]:
    """A condition on `file` for all that lies in a folder; `0` is the character after `/`."""
    if not place.parts:
        return "file.root = ?", [str(place.root.path)]
    prefix = place.relative
    return (
        "file.root = ? AND file.path >= ? AND file.path < ?",
        [str(place.root.path), prefix + b"/", prefix + b"0"],
    )


def _known(db: sqlite3.Connection, place: Place) -> dict[bytes, KnownFile]:
    scope, values = _below(place)
    rows = db.execute(f"SELECT {FILE_COLUMNS} FROM file WHERE {scope}", values)  # noqa: S608
    return {known.path: known for known in map(to_known, rows)}


def _put(db: sqlite3.Connection, place: Place, found: FoundFile, extract: Extract) -> None:
    root = str(place.root.path)
    with db:
        db.execute("BEGIN IMMEDIATE")
        row = db.execute(
            "SELECT id FROM file WHERE root = ? AND path = ?", (root, found.path)
        ).fetchone()
        if row and extract.status is Status.SAME:
            db.execute(
                "UPDATE file SET size = ?, mtime_ns = ? WHERE id = ?",
                (found.size, found.mtime_ns, row[0]),
            )
            return
        if row:
            _delete(db, row[0])
        chars = sum(len(chunk.text) for chunk in extract.chunks)
        added = db.execute(
            "INSERT INTO file (root, path, size, mtime_ns, sha256, status, problem, pages, chars) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                root,
                found.path,
                found.size,
                found.mtime_ns,
                extract.sha256,
                extract.status.value,
                extract.problem,
                extract.pages,
                chars,
            ),
        ).lastrowid
        name = words_of_path(found.path)
        db.executemany(
            "INSERT INTO chunk (file_id, name, text, unit, number, label) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [
                (added, name, chunk.text, chunk.unit.value, chunk.number, chunk.label)
                for chunk in extract.chunks
            ],
        )


def _forget(db: sqlite3.Connection, files: Sequence[KnownFile]) -> None:
    with db:
        db.execute("BEGIN IMMEDIATE")
        for file in files:
            _delete(db, file.id)


def _delete(db: sqlite3.Connection, number: int) -> None:
    db.execute("DELETE FROM chunk WHERE file_id = ?", (number,))
    db.execute("DELETE FROM file WHERE id = ?", (number,))


def _search(db: sqlite3.Connection, places: Sequence[Place], query: Query, most: int) -> list[Hit]:
    scopes = [_below(place) for place in places]
    if not query.strict or not scopes:
        return []
    statement = _SEARCH.format(scope=" OR ".join(f"({scope})" for scope, _ in scopes))
    values = [value for _, each in scopes for value in each]
    names = {str(place.root.path): place.root.name for place in places}
    hits: dict[tuple[str, str, int, str], Hit] = {}
    for match in (query.strict, query.loose):
        if len(hits) < most:
            for row in db.execute(statement, (match, *values, most)):
                root, path, unit, number, label, text = row
                file = shown_path(names[root], path)
                hit = Hit(file, Unit(unit), number, label, text[:_MOST_SNIPPET].strip())
                hits.setdefault((file, unit, number, label), hit)
    return list(hits.values())[:most]


def _text(db: sqlite3.Connection, file: KnownFile) -> tuple[Chunk, ...]:
    rows = db.execute(
        "SELECT text, unit, number, label FROM chunk WHERE file_id = ? ORDER BY id", (file.id,)
    )
    return tuple(Chunk(text, Unit(unit), number, label) for text, unit, number, label in rows)
