"""Opening a SQLite file of ours: private, durable, and never over something that is not ours."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

from homing_core.errors import HomingError, IntegrityError, InternalError

if TYPE_CHECKING:
    from pathlib import Path

_MAGIC = b"SQLite format 3\x00"
_ANEW = "Move it away to start a new one."


def open_database(path: Path, schema: str, version: int) -> sqlite3.Connection:
    """Open the file, or make it with `schema`, readable by its user alone.

    Write-ahead log; every commit is on disk when it returns (`synchronous=FULL`). Statements commit
    by themselves outside a transaction. The connection belongs to the calling thread.

    Args:
        path: of the file.
        schema: statements that make the tables.
        version: of the schema, above 0.

    Raises:
        IntegrityError: the file is not ours, is damaged, or has another version of the schema.
        InternalError: it cannot be opened or made.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            head = os.pread(descriptor, len(_MAGIC), 0)
        finally:
            os.close(descriptor)
        if head and head != _MAGIC:  # SQLite itself would write over a short file
            raise _damaged(path)
        connection = sqlite3.connect(path, isolation_level=None, timeout=5)
    except (OSError, sqlite3.Error) as error:
        msg = f"{path} cannot be opened"
        raise InternalError(msg, "Check the folder's owner, mode and free space.") from error
    try:
        _prepare(connection, path, schema, version)
    except sqlite3.Error as error:
        connection.close()
        raise _damaged(path) from error
    except HomingError:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path, schema: str, version: int) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        connection.executescript(f"BEGIN; {schema} PRAGMA user_version = {version}; COMMIT;")
        return
    if found != version:
        msg = f"{path} was written by another version of Homing"
        raise IntegrityError(msg, "Upgrade Homing, or move the file away to start a new one.")
    if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        raise _damaged(path)


def _damaged(path: Path) -> IntegrityError:
    return IntegrityError(f"{path} is damaged, or is no file of Homing's", _ANEW)
