"""Alarms in one SQLite file, so that they outlive the process."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from homing_core.errors import InternalError

from homing_agent.alarms.base import Alarm, AlarmKind
from homing_agent.database import open_database

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

_VERSION = 1
_SCHEMA = """
CREATE TABLE alarm (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, text TEXT NOT NULL, due REAL NOT NULL,
  rung INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX alarm_due ON alarm (rung, due);
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
        return cls(open_database(path, _SCHEMA, _VERSION))

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
