"""One small SQLite file: durable through kill -9, private, and clear about what is wrong with it.

A rollback journal with `synchronous=EXTRA` keeps everything in one file that a person can move
aside or copy, and a commit that returned survives a power cut. One connection behind a lock: gRPC
asks for the roots bundle from a thread of its own.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import threading
from typing import TYPE_CHECKING, Final, TypeAlias

from homing_core.errors import (
    ConfigError,
    HomingError,
    IntegrityError,
    InvalidDataError,
    UnavailableError,
)

from homing_crypto.private_files import check_private_file, ensure_folder

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

_BUSY_MS = 2_000
"""How long to wait for another process that writes, in milliseconds."""

_PASSING = frozenset(
    {
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_MISUSE,
    }
)
"""Kinds of failure that say nothing about the file's content; a closed store is MISUSE."""

_LOST: Final = {
    "trust.db": " and pair again",
    "nodes.db": " and pair again",
    "audit.db": "; a new record begins, and phones say so",
    "audit_heads.db": "; this phone then believes the next head that it sees",
    "usage.db": "; counting begins anew",
    "peers.db": " and add the peers again",
}
"""What has to be done, or is lost, without a file."""

Parameters: TypeAlias = tuple[str | bytes | int | float, ...]


class Database:
    """An open database. Safe to use from any thread; every call is short.

    Args:
        path: the file; it and its folder are made (0600 in 0700) if they are not there.
        application_id: SQLite's mark of what the file is; a file with another is refused.
        migrations: one script for each schema version, from 1; those not yet applied are run.
        what: what to call it in an error, such as "the trust store".

    Raises:
        ConfigError: others may read the file or write in its folder, or it is another program's.
        IntegrityError: the file is damaged; it is left as it is.
        InvalidDataError: a newer Homing wrote it.
        UnavailableError: the disk does not let us.
    """

    def __init__(
        self, path: Path, application_id: int, migrations: Sequence[str], what: str
    ) -> None:
        """Open, check and bring up to date."""
        self._path = path
        self._what = what
        self._lock = threading.RLock()
        ensure_folder(path.parent, private=False)
        self._create()
        with self._plain_errors():
            self._connection = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, timeout=_BUSY_MS / 1000
            )
        try:
            with self._plain_errors():
                self._prepare(application_id, migrations)
        except HomingError:
            self._connection.close()
            raise

    def close(self) -> None:
        """Close it; harmless twice."""
        with self._lock:
            self._connection.close()

    def read(self, query: str, parameters: Parameters = ()) -> list[sqlite3.Row]:
        """All rows of a query.

        Raises:
            IntegrityError: the file is damaged.
            UnavailableError: it cannot be read now.
        """
        with self._lock, self._plain_errors():
            self._check_in_place()
            return self._connection.execute(query, parameters).fetchall()

    @contextlib.contextmanager
    def write(self) -> Generator[sqlite3.Connection]:
        """A transaction: all of the block or nothing; on disk when the block has been left.

        Raises:
            IntegrityError: the file is damaged.
            UnavailableError: it cannot be written now.
        """
        with self._lock, self._plain_errors():
            self._check_in_place()
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _check_in_place(self) -> None:
        """The file is still the one that was opened, and readable.

        An open one that was deleted or moved would be read and written on, to be lost at the next
        start; and one that was closed to everybody is not meant to be used.
        """
        try:
            facts = self._path.stat()
        except OSError:
            facts = None
        if (
            facts is None
            or (facts.st_dev, facts.st_ino) != self._opened
            or not facts.st_mode & stat.S_IRUSR
        ):
            msg = f"{self._what} was moved, replaced or closed while it was in use"
            raise UnavailableError(msg, "Put it back, or start Homing anew.")

    def _create(self) -> None:
        # Made here and not by SQLite, whose mode would depend on the umask. An existing file is
        # not opened: closing it again would drop the locks of a connection in this process.
        try:
            try:
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            except FileExistsError:
                check_private_file(self._path.stat(), self._path)
            facts = self._path.stat()
            self._opened = (facts.st_dev, facts.st_ino)
        except PermissionError as error:
            msg = f"no permission for {self._what} ({self._path})"
            raise ConfigError(msg, "Check who owns it.") from error
        except OSError as error:
            msg = f"cannot open {self._what} ({self._path}): {error.strerror}"
            raise UnavailableError(msg, "Check the disk's free space and health.") from error

    def _prepare(self, application_id: int, migrations: Sequence[str]) -> None:
        self._connection.row_factory = sqlite3.Row
        # Bytes that are no text must spoil their own row only, not every query over it.
        self._connection.text_factory = _lenient_text
        self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.execute("PRAGMA synchronous = EXTRA")
        self._connection.execute("PRAGMA trusted_schema = OFF")
        checked = self._connection.execute("PRAGMA quick_check(1)").fetchone()
        if checked[0] != "ok":
            raise self._damaged()
        version = int(self._pragma("user_version"))
        found_id = int(self._pragma("application_id"))
        tables = self._connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if found_id != application_id and (version or found_id or tables):
            msg = f"{self._path} is not {self._what}"
            raise ConfigError(msg, "Move it away, or choose another data directory.")
        if version > len(migrations):
            msg = f"{self._what} was written by a newer Homing"
            raise InvalidDataError(msg, "Update Homing.")
        for number, script in enumerate(migrations[version:], start=version + 1):
            with self.write() as connection:
                for statement in script.split(";"):
                    connection.execute(statement)
                # PRAGMA takes no parameters; both values are our own integers.
                connection.execute(f"PRAGMA application_id = {application_id}")
                connection.execute(f"PRAGMA user_version = {number}")
        if _schema(self._connection) != _intended_schema(migrations):
            raise self._damaged()

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    def _damaged(self) -> IntegrityError:
        return IntegrityError(
            f"{self._what} ({self._path}) is damaged",
            f"Restore it from a backup, or move it away{_LOST.get(self._path.name, '')}.",
        )

    @contextlib.contextmanager
    def _plain_errors(self) -> Generator[None]:
        try:
            yield
        except UnicodeDecodeError as error:  # SQLite's own message quoted damaged bytes
            raise self._damaged() from error
        except sqlite3.Error as error:
            # Python sets the code only where SQLite itself failed; the low byte is the kind.
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF
            if code in _PASSING:
                msg = f"cannot use {self._what} now"
                raise UnavailableError(msg, "Check the disk's free space and try again.") from error
            raise self._damaged() from error


def _lenient_text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _schema(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    query = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name"
    return [tuple(row) for row in connection.execute(query)]


def _intended_schema(migrations: Sequence[str]) -> list[tuple[str, ...]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as scratch:
        for script in migrations:
            scratch.executescript(script)
        return _schema(scratch)
