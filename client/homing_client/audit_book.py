"""What this phone remembers of its homes' records: how far each went, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.audit import Head
from homing_core.ids import DeviceId
from homing_crypto.database import Database

if TYPE_CHECKING:
    from pathlib import Path
    from sqlite3 import Row

AUDIT_BOOK_FILE: Final = "audit_heads.db"
_APPLICATION_ID: Final = 0x486F_4801
_MIGRATIONS: Final = (
    """
    CREATE TABLE records (
        node TEXT PRIMARY KEY NOT NULL,
        seq INTEGER NOT NULL,
        hash TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        checked_at REAL NOT NULL,
        trouble TEXT NOT NULL,
        trouble_at REAL NOT NULL,
        shown_seq INTEGER NOT NULL,
        shown_hash TEXT NOT NULL,
        shown_at_ms INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
)

_COPY: Final = """
    INSERT OR REPLACE INTO records
    SELECT ?, seq, hash, at_ms, checked_at, trouble, trouble_at, shown_seq, shown_hash, shown_at_ms
    FROM records WHERE node = ?
"""


@dataclass(frozen=True, slots=True)
class KeptRecord:
    """What is remembered of one node's record. Times are wall time here, seconds since the epoch.

    Attributes:
        node: the node.
        kept: the head that the record must go on from; None if there is none yet.
        checked_at: when it was last found to do so; 0 for never.
        trouble: what is wrong with the record, for a person; empty if nothing is.
        trouble_at: when that was noticed first; 0 if nothing is wrong.
        shown: the head that the node showed instead; None if it showed none.
    """

    node: DeviceId
    kept: Head | None = None
    checked_at: float = 0.0
    trouble: str = ""
    trouble_at: float = 0.0
    shown: Head | None = None


class AuditBook:
    """The heads on disk. Safe to use from any thread.

    Args:
        path: the file, usually `AUDIT_BOOK_FILE` in the data directory.

    Raises:
        HomingError: as `homing_crypto.database.Database`.
    """

    def __init__(self, path: Path) -> None:
        """Open it."""
        self._database = Database(path, _APPLICATION_ID, _MIGRATIONS, "the kept audit heads")

    def close(self) -> None:
        """Close it; harmless twice."""
        self._database.close()

    def get(self, node: DeviceId) -> KeptRecord:
        """What is remembered; an empty one if nothing is."""
        rows = self._database.read("SELECT * FROM records WHERE node = ?", (node,))
        return _from_row(rows[0]) if rows else KeptRecord(node)

    def keep(self, node: DeviceId, head: Head, at: float) -> KeptRecord:
        """The record goes on from what was kept, up to this head: keep it, and no trouble."""
        return self._put(KeptRecord(node, head, at))

    def note_trouble(self, node: DeviceId, words: str, shown: Head | None, at: float) -> KeptRecord:
        """The record does not go on from what is kept. That stays; when it began stays, too."""
        before = self.get(node)
        since = before.trouble_at if before.trouble else at
        return self._put(KeptRecord(node, before.kept, before.checked_at, words, since, shown))

    def accept(self, node: DeviceId, at: float) -> KeptRecord:
        """A person takes the record as the node showed it last, from now on."""
        before = self.get(node)
        if not before.trouble:
            return before
        return self._put(KeptRecord(node, before.shown, at))

    def prepare(self, old: DeviceId, new: DeviceId) -> None:
        """The node is about to be known by another id: remember its record under both.

        Before the list of nodes names the new id, so that a kill between the two files never leaves
        a node whose record would be believed anew. What is kept under the old id counts: the new
        one's could be such a beginning. Harmless twice.
        """
        with self._database.write() as connection:
            connection.execute(_COPY, (new, old))

    def succeed(self, old: DeviceId, new: DeviceId) -> None:
        """The node has a new key, and so another id; harmless twice."""
        with self._database.write() as connection:
            connection.execute(_COPY, (new, old))
            connection.execute("DELETE FROM records WHERE node = ?", (old,))

    def _put(self, record: KeptRecord) -> KeptRecord:
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    record.node,
                    *_head_columns(record.kept),
                    float(record.checked_at),
                    record.trouble,
                    float(record.trouble_at),
                    *_head_columns(record.shown),
                ),
            )
        return record


def _head_columns(head: Head | None) -> tuple[int, str, int]:
    return (head.seq, head.hash, head.at_ms) if head else (0, "", 0)


def _head(seq: int, digest: str, at_ms: int) -> Head | None:
    return Head(seq, digest, at_ms) if digest else None


def _from_row(row: Row) -> KeptRecord:
    return KeptRecord(
        DeviceId(row["node"]),
        _head(row["seq"], row["hash"], row["at_ms"]),
        row["checked_at"],
        row["trouble"],
        row["trouble_at"],
        _head(row["shown_seq"], row["shown_hash"], row["shown_at_ms"]),
    )
