"""What peers were told, on disk: durable through kill -9."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.errors import IntegrityError
from homing_core.ids import DeviceId
from homing_crypto.database import Database

from homing_node.peers.ledger import PeerAccount, Told, ToldState

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping
    from pathlib import Path

PEER_LEDGER_FILE = "peers.db"

_APPLICATION_ID = 0x486F_5001
_MIGRATIONS = (
    """
    CREATE TABLE peers (
        id TEXT PRIMARY KEY NOT NULL,
        guests INTEGER,
        leaving INTEGER NOT NULL DEFAULT 0,
        serial INTEGER NOT NULL DEFAULT 0,
        pushed_at REAL NOT NULL DEFAULT 0
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE choices (
        peer_id TEXT NOT NULL,
        device_id TEXT NOT NULL,
        shared INTEGER NOT NULL,
        PRIMARY KEY (peer_id, device_id)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE told (
        peer_id TEXT NOT NULL,
        device_id TEXT NOT NULL,
        digest TEXT NOT NULL,
        lease_expires_at INTEGER NOT NULL,
        state TEXT NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (peer_id, device_id)
    ) STRICT, WITHOUT ROWID
    """,
)


class SqlitePeerLedger:
    """The ledger on disk. See `PeerLedger` for what each method does.

    Args:
        path: the file, usually `PEER_LEDGER_FILE` in the data directory.

    Raises:
        HomingError: as `homing_crypto.database.Database`.
    """

    def __init__(self, path: Path) -> None:
        """Open it."""
        self._database = Database(path, _APPLICATION_ID, _MIGRATIONS, "the list of peers")

    def close(self) -> None:
        """Close it; harmless twice."""
        self._database.close()

    def account(self, peer_id: DeviceId) -> PeerAccount:
        """See `PeerLedger.account`."""
        rows = self._database.read("SELECT * FROM peers WHERE id = ?", (peer_id,))
        if not rows:
            return PeerAccount(peer_id)
        choices = self._database.read("SELECT * FROM choices WHERE peer_id = ?", (peer_id,))
        told = self._database.read("SELECT * FROM told WHERE peer_id = ?", (peer_id,))
        guests = rows[0]["guests"]
        return PeerAccount(
            peer_id,
            guests=None if guests is None else bool(guests),
            choices={DeviceId(row["device_id"]): bool(row["shared"]) for row in choices},
            leaving=bool(rows[0]["leaving"]),
            serial=rows[0]["serial"],
            pushed_at=rows[0]["pushed_at"],
            told={one.device_id: one for one in map(_told, told)},
        )

    def choose(
        self, peer_id: DeviceId, *, guests: bool | None, choices: Mapping[DeviceId, bool]
    ) -> None:
        """See `PeerLedger.choose`."""
        with self._database.write() as connection:
            _ensure(connection, peer_id)
            if guests is not None:
                connection.execute("UPDATE peers SET guests = ? WHERE id = ?", (guests, peer_id))
            connection.executemany(
                "INSERT OR REPLACE INTO choices VALUES (?, ?, ?)",
                [(peer_id, device_id, shared) for device_id, shared in choices.items()],
            )

    def leave(self, peer_id: DeviceId, *, leaving: bool) -> None:
        """See `PeerLedger.leave`."""
        with self._database.write() as connection:
            _ensure(connection, peer_id)
            connection.execute("UPDATE peers SET leaving = ? WHERE id = ?", (leaving, peer_id))

    def begin_push(self, peer_id: DeviceId, told: Iterable[Told], serial: int) -> None:
        """See `PeerLedger.begin_push`."""
        rows = [
            (peer_id, one.device_id, one.digest, one.lease_expires_at, one.state.value, one.reason)
            for one in told
        ]
        with self._database.write() as connection:
            _take_serial(connection, peer_id, serial)
            connection.executemany("INSERT OR REPLACE INTO told VALUES (?, ?, ?, ?, ?, ?)", rows)

    def end_push(
        self,
        peer_id: DeviceId,
        taken: Iterable[DeviceId],
        refused: Mapping[DeviceId, str],
        at: float,
    ) -> None:
        """See `PeerLedger.end_push`."""
        outcomes = [(ToldState.TAKEN.value, "", peer_id, device_id) for device_id in taken]
        outcomes += [
            (ToldState.REFUSED.value, reason, peer_id, device_id)
            for device_id, reason in refused.items()
        ]
        with self._database.write() as connection:
            connection.execute("UPDATE peers SET pushed_at = ? WHERE id = ?", (float(at), peer_id))
            connection.executemany(
                "UPDATE told SET state = ?, reason = ? WHERE peer_id = ? AND device_id = ?",
                outcomes,
            )

    def begin_withdrawal(self, peer_id: DeviceId, serial: int) -> None:
        """See `PeerLedger.begin_withdrawal`."""
        with self._database.write() as connection:
            _take_serial(connection, peer_id, serial)

    def end_withdrawal(self, peer_id: DeviceId, gone: Iterable[DeviceId]) -> None:
        """See `PeerLedger.end_withdrawal`."""
        with self._database.write() as connection:
            connection.executemany(
                "DELETE FROM told WHERE peer_id = ? AND device_id = ?",
                [(peer_id, device_id) for device_id in gone],
            )

    def forget(self, peer_id: DeviceId) -> None:
        """See `PeerLedger.forget`."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM told WHERE peer_id = ?", (peer_id,))
            connection.execute("DELETE FROM choices WHERE peer_id = ?", (peer_id,))
            connection.execute("DELETE FROM peers WHERE id = ?", (peer_id,))

    def rename(self, old: DeviceId, new: DeviceId) -> None:
        """See `PeerLedger.rename`."""
        with self._database.write() as connection:
            connection.execute("UPDATE OR IGNORE peers SET id = ? WHERE id = ?", (new, old))
            connection.execute(
                "UPDATE OR IGNORE choices SET peer_id = ? WHERE peer_id = ?", (new, old)
            )
            connection.execute(
                "UPDATE OR IGNORE told SET peer_id = ? WHERE peer_id = ?", (new, old)
            )


def _ensure(connection: sqlite3.Connection, peer_id: DeviceId) -> None:
    connection.execute("INSERT OR IGNORE INTO peers (id) VALUES (?)", (peer_id,))


def _take_serial(connection: sqlite3.Connection, peer_id: DeviceId, serial: int) -> None:
    _ensure(connection, peer_id)
    connection.execute("UPDATE peers SET serial = max(serial, ?) WHERE id = ?", (serial, peer_id))


def _told(row: sqlite3.Row) -> Told:
    try:
        state = ToldState(row["state"])
    except ValueError as error:
        msg = "the list of peers is damaged"
        raise IntegrityError(msg, "Move peers.db away, and add the peers again.") from error
    return Told(
        DeviceId(row["device_id"]), row["digest"], row["lease_expires_at"], state, row["reason"]
    )
