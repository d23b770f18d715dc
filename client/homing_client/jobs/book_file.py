"""The job book's file: written in one piece or not at all, and clear about what is wrong."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, Final

from homing_agent.database import open_database
from homing_core.errors import IntegrityError, UnavailableError

from homing_client.jobs.rows import SCHEMA, VERSION

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from homing_client.jobs.rows import Value

JOB_BOOK_FILE: Final = "jobs.db"
_PASSING: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
    }
)
"""Kinds of failure that say nothing about the file's content."""


class BookFile:
    """An open book. Belongs to the thread that opened it.

    Args:
        path: of it; made if it is not there, readable by its user alone.

    Raises:
        IntegrityError: the file is no job book, is damaged, or is of another version.
        InternalError: it cannot be opened or made.
    """

    def __init__(self, path: Path) -> None:
        """Open it."""
        self._path = path
        self._db = open_database(path, SCHEMA, VERSION)
        self._db.execute("PRAGMA secure_delete = ON")  # what is forgotten is gone

    def close(self) -> None:
        """Let go of the file. Harmless if done."""
        self._db.close()

    def rows(self, query: str, *values: Value) -> list[tuple[Value, ...]]:
        """All rows of a query; raises `HomingError`."""
        with _told():
            return self._db.execute(query, values).fetchall()

    def write(self, statement: str, *values: Value) -> None:
        """One statement, on disk when this returns; raises `HomingError`."""
        with _told():
            self._db.execute(statement, values)

    def write_soon(self, statement: str, *values: Value) -> None:
        """As `write`, but through the kernel only: it survives the process, not a power cut."""
        with _told():
            self._db.execute("PRAGMA synchronous = NORMAL")
            try:
                self._db.execute(statement, values)
            finally:
                self._db.execute("PRAGMA synchronous = FULL")

    def write_elsewhere(self, statement: str, *values: Value) -> None:
        """As `write`, from whatever thread."""
        with _told(), contextlib.closing(sqlite3.connect(self._path, timeout=5)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            with connection:
                connection.execute(statement, values)

    @contextlib.contextmanager
    def together(self) -> Generator[None]:
        """What is written in the block is written whole or not at all; raises `HomingError`."""
        with _told():
            self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            with _told():
                self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # a full disk ends it by itself
                with _told():
                    self._db.execute("ROLLBACK")
            raise


@contextlib.contextmanager
def _told() -> Generator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF
        if code in _PASSING:
            msg = "the job book cannot be used now"
            hint = "Check the disk's free space and the folder's mode."
            raise UnavailableError(msg, hint) from error
        msg = f"the job book ({JOB_BOOK_FILE}) is damaged"
        hint = "Move it away: jobs go on at their nodes, but this phone forgets them."
        raise IntegrityError(msg, hint) from error
