"""Which nodes a phone knows, on disk: durable through kill -9. The phone's half of trust."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import structlog
from homing_core.access import DeviceRole, Scope
from homing_core.errors import HomingError, IntegrityError, NotFoundError
from homing_core.ids import DeviceId
from homing_core.tools import Place

from homing_crypto.database import Database
from homing_crypto.nodes import (
    KnownNode,
    PendingPairing,
    checked_node,
    find_node,
    in_order,
    offered,
    succeeded,
    updated,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable
    from pathlib import Path

    from homing_crypto.rotation import NewKey

NODE_BOOK_FILE = "nodes.db"

_APPLICATION_ID = 0x486F_4E01
_MIGRATIONS = (
    """
    CREATE TABLE nodes (
        id TEXT PRIMARY KEY NOT NULL,
        certificate BLOB NOT NULL,
        hpke_key BLOB NOT NULL,
        name TEXT NOT NULL,
        place TEXT NOT NULL,
        role TEXT NOT NULL,
        scopes TEXT NOT NULL,
        addresses TEXT NOT NULL,
        last_good_address TEXT NOT NULL,
        last_verified_at REAL NOT NULL,
        paired_at REAL NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE pending (
        link_id TEXT PRIMARY KEY NOT NULL,
        link TEXT NOT NULL,
        device_name TEXT NOT NULL,
        started_at REAL NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    "ALTER TABLE nodes ADD COLUMN known_as TEXT NOT NULL DEFAULT ''",
    """
    ALTER TABLE nodes ADD COLUMN introduced_by TEXT NOT NULL DEFAULT '';
    ALTER TABLE nodes ADD COLUMN lease_expires_at INTEGER NOT NULL DEFAULT 0
    """,
)
_PUT = f"INSERT OR REPLACE INTO nodes VALUES ({', '.join('?' * 14)})"  # noqa: S608  # question marks

_log = structlog.get_logger(__name__)


class SqliteNodeBook:
    """The book on disk. See `NodeBook` for what each method does.

    Args:
        path: the file, usually `NODE_BOOK_FILE` in the data directory.

    Raises:
        HomingError: as `homing_crypto.database.Database`.
    """

    def __init__(self, path: Path) -> None:
        """Open it."""
        self._database = Database(path, _APPLICATION_ID, _MIGRATIONS, "the list of known nodes")

    def close(self) -> None:
        """Close it; harmless twice."""
        self._database.close()

    def add(self, node: KnownNode) -> KnownNode:
        """See `NodeBook.add`."""
        with self._database.write() as connection:
            return self._put(connection, node)

    def get(self, node_id: DeviceId) -> KnownNode:
        """See `NodeBook.get`."""
        rows = self._database.read("SELECT * FROM nodes WHERE id = ?", (node_id,))
        if not rows:
            msg = "no such node is paired"
            raise NotFoundError(msg, "List the nodes to see their ids.")
        return _from_row(rows[0])

    def find(self, text: str) -> KnownNode:
        """See `NodeBook.find`."""
        return find_node(self.nodes(), text)

    def nodes(self) -> tuple[KnownNode, ...]:
        """See `NodeBook.nodes`."""
        found: list[KnownNode] = []
        for row in self._database.read("SELECT * FROM nodes"):
            try:
                found.append(_from_row(row))
            except IntegrityError:
                _log.error("nodes.bad_row", node=str(row["id"])[:12])
        return in_order(found)

    def remove(self, node_id: DeviceId) -> None:
        """See `NodeBook.remove`."""
        with self._database.write() as connection:
            connection.execute(
                "DELETE FROM nodes WHERE id = ? OR introduced_by = ?", (node_id, node_id)
            )

    def offer(self, home_id: DeviceId, peers: Iterable[KnownNode]) -> None:
        """See `NodeBook.offer`."""
        with self._database.write() as connection:
            self.get(home_id)
            put, gone = offered(home_id, self.nodes(), peers)
            connection.executemany("DELETE FROM nodes WHERE id = ?", [(one,) for one in gone])
            connection.executemany(_PUT, map(_to_row, put))

    def note_verified(self, node_id: DeviceId, address: str, at: float) -> None:
        """See `NodeBook.note_verified`."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE nodes SET last_good_address = ?, last_verified_at = ? WHERE id = ?",
                (address, float(at), node_id),
            )

    def note_known_as(self, key: DeviceId, node_id: DeviceId | None = None) -> None:
        """See `NodeBook.note_known_as`."""
        which, value = ("known_as", "") if node_id is None else ("id", node_id)
        with self._database.write() as connection:
            connection.execute(
                f"UPDATE nodes SET known_as = ? WHERE {which} = ?",  # noqa: S608  # our own words
                (key, value),
            )

    def succeed(self, node_id: DeviceId, key: NewKey) -> KnownNode:
        """See `NodeBook.succeed`."""
        with self._database.write() as connection:
            stored = succeeded(self._read(node_id), self._read(key.id), key)
            connection.execute("DELETE FROM nodes WHERE id = ?", (node_id,))
            connection.execute(
                "UPDATE nodes SET introduced_by = ? WHERE introduced_by = ?", (stored.id, node_id)
            )
            return self._put(connection, stored)

    def begin_pairing(self, pending: PendingPairing) -> None:
        """See `NodeBook.begin_pairing`."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO pending VALUES (?, ?, ?, ?)",
                (pending.link_id, pending.link, pending.device_name, float(pending.started_at)),
            )

    def pending_pairings(self) -> tuple[PendingPairing, ...]:
        """See `NodeBook.pending_pairings`."""
        rows = self._database.read("SELECT * FROM pending ORDER BY started_at, link_id")
        return tuple(
            PendingPairing(row["link_id"], row["link"], row["device_name"], row["started_at"])
            for row in rows
        )

    def finish_pairing(self, link_id: str, node: KnownNode | None) -> None:
        """See `NodeBook.finish_pairing`."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM pending WHERE link_id = ?", (link_id,))
            if node is not None:
                self._put(connection, node)

    def _read(self, node_id: DeviceId) -> KnownNode | None:
        """As `get`; None also for a damaged entry, which a new pairing repairs."""
        try:
            return self.get(node_id)
        except (NotFoundError, IntegrityError):
            return None

    def _put(self, connection: sqlite3.Connection, node: KnownNode) -> KnownNode:
        checked = checked_node(node)
        stored = updated(self._read(node.id), checked)
        connection.execute(_PUT, _to_row(stored))
        return stored


def _to_row(node: KnownNode) -> tuple[str | bytes | float, ...]:
    return (
        node.id,
        node.certificate_der,
        node.hpke_public_key,
        node.name,
        node.place.value,
        node.role.value,
        json.dumps(sorted(scope.value for scope in node.scopes)),
        json.dumps(node.addresses),
        node.last_good_address,
        float(node.last_verified_at),
        float(node.paired_at),
        node.known_as,
        node.introduced_by,
        node.lease_expires_at,
    )


def _from_row(row: sqlite3.Row) -> KnownNode:
    try:
        return checked_node(
            KnownNode(
                id=DeviceId(row["id"]),
                certificate_der=row["certificate"],
                hpke_public_key=row["hpke_key"],
                name=row["name"],
                place=Place(row["place"]),
                role=DeviceRole(row["role"]),
                scopes=frozenset(Scope(scope) for scope in json.loads(row["scopes"])),
                addresses=tuple(str(address) for address in json.loads(row["addresses"])),
                last_good_address=row["last_good_address"],
                last_verified_at=row["last_verified_at"],
                paired_at=row["paired_at"],
                known_as=row["known_as"],
                introduced_by=row["introduced_by"],
                lease_expires_at=row["lease_expires_at"],
            )
        )
    except (
        HomingError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        RecursionError,  # of JSON
    ) as error:
        msg = "the entry for this node is damaged"
        raise IntegrityError(msg, "Pair with the node again.") from error
