"""Databases with one row that somebody wrote into: every column in turn, with any value."""

from __future__ import annotations

import atexit
import shutil
import sqlite3
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzz.target import text

if TYPE_CHECKING:
    from collections.abc import Callable


def scratch() -> Path:
    """A folder that goes when the process ends."""
    memory = Path("/dev/shm")  # noqa: S108  # where there is one, nothing waits for a disk
    folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir=memory if memory.is_dir() else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@dataclass
class Damaged:
    """A database whose rows are changed before each reading.

    Attributes:
        make: makes the database with some rows, and gives what reads all of it.
        file: its name.
    """

    make: Callable[[Path], Callable[[], object]]
    file: str
    _read: Callable[[], object] | None = None
    _other: sqlite3.Connection | None = None
    _columns: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])

    def __call__(self, data: bytes) -> object:
        """Change one column of every row of one table, read, and change it back."""
        other = self._opened()
        if not data:
            return None
        table, column, kind = self._columns[data[0] % len(self._columns)]
        other.execute("BEGIN")
        try:
            # The names are those of our own schema.
            other.execute(f"UPDATE {table} SET {column} = ?", (_value(kind, data[1:]),))  # noqa: S608
        except (sqlite3.IntegrityError, OverflowError):
            other.execute("ROLLBACK")
            return None
        other.execute("COMMIT")
        assert self._read is not None
        try:
            return self._read()
        finally:
            self._restore(other)

    def _opened(self) -> sqlite3.Connection:
        if self._other is None:
            path = scratch() / self.file
            self._read = self.make(path)
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("PRAGMA synchronous = OFF")
            tables = [
                row[0]
                for row in other.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
                if not row[0].startswith("sqlite_")
            ]
            for table in tables:
                if other.execute(f"SELECT count(*) FROM {table}").fetchone()[0]:  # noqa: S608
                    info = other.execute(f"PRAGMA table_info({table})").fetchall()
                    self._columns += [(table, row[1], row[2]) for row in info]
                    other.execute(f"CREATE TEMP TABLE kept_{table} AS SELECT * FROM {table}")  # noqa: S608
            self._other = other
        return self._other

    def _restore(self, other: sqlite3.Connection) -> None:
        for table in {table for table, _, _ in self._columns}:
            other.execute(f"DELETE FROM {table}")  # noqa: S608
            other.execute(f"INSERT INTO {table} SELECT * FROM kept_{table}")  # noqa: S608


def _value(kind: str, data: bytes) -> Any:  # noqa: ANN401  # of a column's type
    match kind:
        case "BLOB":
            return data
        case "INTEGER":
            return int.from_bytes(data[:8], signed=True)
        case "REAL":
            return float(int.from_bytes(data[:8], signed=True)) * (10.0 ** (len(data) - 8))
        case _:
            return text(data).encode("utf-8", "replace").decode("utf-8", "replace")
