"""Alarms in one SQLite file, so that they outlive the process."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

from homing_core.errors import IntegrityError, InternalError

from homing_agent.alarms.base import Alarm, AlarmKind

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

_SCHEMA = """
CREATE TABLE IF NOT EXISTS alarm (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, text TEXT NOT NULL, due REAL NOT NULL,
  rung INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS alarm_due ON alarm (rung, due);
"""


class AlarmStore:
    """Set alarms and which of them have rung. Belongs to the thread that opened it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Use `open`."""
        self._db = connection

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the file, or make it, readable by its user alone.

        Raises:
            IntegrityError: the file is not one of ours, or damaged.
            InternalError: it cannot be opened or made.
        """
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            connection = sqlite3.connect(path, isolation_level=None, timeout=5)
        except (OSError, sqlite3.Error) as error:
            msg = f"{path} cannot be opened"
            raise InternalError(msg, "Check the folder's owner, mode and free space.") from error
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(_SCHEMA)
        except sqlite3.Error as error:
            connection.close()
            msg = f"{path} is damaged"
            raise IntegrityError(msg, "Move it away to start anew; set alarms are lost.") from error
        return cls(connection)

    def add(self, alarm: Alarm) -> None:
        """Keep an alarm; one whose id is known stays as it is.

        Raises:
            InternalError: it could not be kept.
        """
        self._run(
            "INSERT OR IGNORE INTO alarm VALUES (?, ?, ?, ?, 0)",
            (alarm.id, alarm.kind.value, alarm.text, alarm.due),
        )

    def pending(self) -> tuple[Alarm, ...]:
        """Alarms that have not rung, soonest first.

        Raises:
            InternalError: the file cannot be read.
        """
        rows = self._run(
            "SELECT id, kind, text, due FROM alarm WHERE NOT rung ORDER BY due, id", ()
        )
        return tuple(Alarm(row[0], AlarmKind(row[1]), row[2], row[3]) for row in rows)

    def mark_rung(self, alarm_id: str) -> None:
        """An alarm was noticed.

        Raises:
            InternalError: it could not be kept.
        """
        self._run("UPDATE alarm SET rung = 1 WHERE id = ?", (alarm_id,))

    def close(self) -> None:
        """Let go of the file. Harmless if done."""
        self._db.close()

    def _run(
        self, statement: str, values: tuple[str | float, ...]
    ) -> list[tuple[str, str, str, float]]:
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            msg = "the alarms could not be read or written"
            raise InternalError(msg, "Check free space and the folder's mode.") from error
