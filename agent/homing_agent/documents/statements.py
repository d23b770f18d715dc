"""The index's statements. Each is run in the index's own thread; see `index`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_agent.documents.chunks import Chunk, Unit
from homing_agent.documents.messages import Status
from homing_agent.documents.rows import (
    FILE_COLUMNS,
    Hit,
    KnownFile,
    shown_path,
    to_known,
    words_of_path,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from homing_agent.documents.messages import Extract
    from homing_agent.documents.query import Query
    from homing_agent.documents.roots import Place
    from homing_agent.documents.scan import FoundFile

_SNIPPET_TOKENS: Final = 64
_MOST_SNIPPET: Final = 700
_SEARCH: Final = (
    "SELECT file.root, file.path, chunk.unit, chunk.number, chunk.label, "  # noqa: S608  # constants
    f"snippet(found, 1, '', '', '…', {_SNIPPET_TOKENS}) FROM found "
    "JOIN chunk ON chunk.id = found.rowid JOIN file ON file.id = chunk.file_id "
    "WHERE found MATCH ? AND ({scope}) ORDER BY bm25(found, 3.0, 1.0), found.rowid LIMIT ?"
)


def _below(place: Place) -> tuple[str, list[object]]:
    """A condition on `file` for all that lies in a folder; `0` is the character after `/`."""
    if not place.parts:
        return "file.root = ?", [str(place.root.path)]
    prefix = place.relative
    return (
        "file.root = ? AND file.path >= ? AND file.path < ?",
        [str(place.root.path), prefix + b"/", prefix + b"0"],
    )


def known(db: sqlite3.Connection, place: Place) -> dict[bytes, KnownFile]:
    """Every file below a folder, by its path."""
    scope, values = _below(place)
    rows = db.execute(f"SELECT {FILE_COLUMNS} FROM file WHERE {scope}", values)  # noqa: S608
    return {known.path: known for known in map(to_known, rows)}


def one(db: sqlite3.Connection, place: Place, path: bytes) -> KnownFile | None:
    """What is known of one file; None if nothing is."""
    row = db.execute(
        f"SELECT {FILE_COLUMNS} FROM file WHERE root = ? AND path = ?",  # noqa: S608  # constant
        (str(place.root.path), path),
    ).fetchone()
    return to_known(row) if row else None


def keep_only(db: sqlite3.Connection, roots: set[str]) -> None:
    """Drop all files of other roots than these paths."""
    rows = db.execute("SELECT id, root FROM file").fetchall()
    with db:
        db.execute("BEGIN IMMEDIATE")
        for number, root in rows:
            if root not in roots:
                _delete(db, number)


def put(db: sqlite3.Connection, place: Place, found: FoundFile, extract: Extract) -> None:
    """Keep what a file holds, in place of what was known of it."""
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


def forget(db: sqlite3.Connection, files: Sequence[KnownFile]) -> None:
    """Drop files."""
    with db:
        db.execute("BEGIN IMMEDIATE")
        for file in files:
            _delete(db, file.id)


def _delete(db: sqlite3.Connection, number: int) -> None:
    db.execute("DELETE FROM chunk WHERE file_id = ?", (number,))
    db.execute("DELETE FROM file WHERE id = ?", (number,))


def search(db: sqlite3.Connection, places: Sequence[Place], query: Query, most: int) -> list[Hit]:
    """The best places, the best first; what holds every term before what holds some."""
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


def text(db: sqlite3.Connection, file: KnownFile) -> tuple[Chunk, ...]:
    """A file's text."""
    rows = db.execute(
        "SELECT text, unit, number, label FROM chunk WHERE file_id = ? ORDER BY id", (file.id,)
    )
    return tuple(Chunk(text, Unit(unit), number, label) for text, unit, number, label in rows)
