"""Whom a node knows, on disk: durable through kill -9. Reading it fails closed."""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import TYPE_CHECKING, Any

import structlog
from homing_core.access import DeviceRole, Limits, Scope
from homing_core.errors import HomingError, IntegrityError, NotFoundError
from homing_core.ids import DeviceId

from homing_crypto.certificates import check_certificate
from homing_crypto.database import Database
from homing_crypto.devices import (
    PairedDevice,
    checked_device,
    granted,
    merged,
    repeated,
    shut_out_with,
)
from homing_crypto.naming import match_named
from homing_crypto.trust import SEEN_RESOLUTION_S

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Container, Iterable
    from pathlib import Path

    from homing_core.clock import Clock

    from homing_crypto.trust import RewriteT

TRUST_STORE_FILE = "trust.db"
_APPLICATION_ID = 0x486F_5401
_MIGRATIONS = (
    """
    CREATE TABLE devices (
        id TEXT PRIMARY KEY NOT NULL,
        certificate BLOB NOT NULL,
        hpke_key BLOB NOT NULL,
        name TEXT NOT NULL,
        role TEXT NOT NULL,
        scopes TEXT NOT NULL,
        limits TEXT NOT NULL,
        paired_at REAL NOT NULL,
        last_seen_at REAL NOT NULL,
        revoked_at REAL NOT NULL,
        introduced_by TEXT NOT NULL,
        lease_expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE used_links (
        id TEXT PRIMARY KEY NOT NULL,
        device_id TEXT NOT NULL,
        used_at REAL NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    """
    ALTER TABLE devices ADD COLUMN serial INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE devices ADD COLUMN account TEXT NOT NULL DEFAULT '';
    ALTER TABLE devices ADD COLUMN retires_at INTEGER NOT NULL DEFAULT 0
    """,
    "ALTER TABLE devices ADD COLUMN hpke_signature BLOB NOT NULL DEFAULT x''",
)

_KEYS = """
    SELECT * FROM devices WHERE iif(account = '', id, account) = ? ORDER BY paired_at, id
"""
_REVOKE = "UPDATE devices SET revoked_at = ? WHERE id = ? AND revoked_at = 0"
_GRANT = """
    UPDATE devices SET role = ?, scopes = ?, limits = ?
    WHERE id = ? OR iif(account = '', id, account) = ?
"""
"""All keys of a device, so that an old one keeps nothing that was taken."""
_MARKS = ", ".join("?" * 16)
"""One for each column of a device."""

_PUT = f"INSERT OR REPLACE INTO devices VALUES ({_MARKS})"  # noqa: S608  # question marks

_log = structlog.get_logger(__name__)


class SqliteTrustStore:
    """The trust store on disk. See `TrustStore` for what each method does.

    Args:
        path: the file, usually `TRUST_STORE_FILE` in the data directory.
        clock: for all times in it.

    Raises:
        HomingError: as `homing_crypto.database.Database`.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        """Open it."""
        self._database = Database(path, _APPLICATION_ID, _MIGRATIONS, "the trust store")
        self._clock = clock

    def close(self) -> None:
        """Close it; harmless twice."""
        self._database.close()

    def add(self, device: PairedDevice, link_id: str = "") -> PairedDevice:
        """See `TrustStore.add`."""
        checked = checked_device(device)
        with self._database.write() as connection:
            before = self._before(checked)
            if user := self._link_user(link_id):
                return repeated(before, checked, user)
            stored = merged(before, checked)
            connection.execute(
                _PUT,
                _to_row(stored),
            )
            if link_id:
                connection.execute(
                    "INSERT INTO used_links VALUES (?, ?, ?)",
                    (link_id, device.id, self._clock.now()),
                )
        return stored

    def lookup(self, device_id: DeviceId) -> PairedDevice | None:
        """See `TrustStore.lookup`."""
        rows = self._database.read("SELECT * FROM devices WHERE id = ?", (device_id,))
        return _from_row(rows[0]) if rows else None

    def get(self, device_id: DeviceId) -> PairedDevice:
        """See `TrustStore.get`."""
        device = self.lookup(device_id)
        if device is None:
            msg = "no such device is paired"
            raise NotFoundError(msg, "List them to see their ids.")
        return device

    def find(self, prefix: str) -> PairedDevice:
        """See `TrustStore.find`."""
        rows = self._database.read("SELECT id, name, revoked_at, retires_at FROM devices")
        names = {
            str(row["id"]): "" if row["revoked_at"] or row["retires_at"] else str(row["name"])
            for row in rows
        }
        return self.get(DeviceId(match_named(names, prefix)))

    def devices(self) -> tuple[PairedDevice, ...]:
        """See `TrustStore.devices`."""
        return _readable(self._database.read("SELECT * FROM devices ORDER BY paired_at, id"))

    def keys(self, account: str) -> tuple[PairedDevice, ...]:
        """See `TrustStore.keys`."""
        return _readable(self._database.read(_KEYS, (account,)))

    def revoke(self, device_id: DeviceId) -> tuple[PairedDevice, ...]:
        """See `TrustStore.revoke`."""
        now = self._clock.now()
        with self._database.write() as connection:
            # By id alone first, so that a row that cannot be read can still be shut out.
            connection.execute(_REVOKE, (now, device_id))
            concerned = shut_out_with(self.get(device_id), self.devices())
            connection.executemany(_REVOKE, [(now, device.id) for device in concerned])
            return tuple(self.get(device.id) for device in concerned)

    def grant(
        self, device_id: DeviceId, role: DeviceRole, scopes: frozenset[Scope], limits: Limits
    ) -> PairedDevice:
        """See `TrustStore.grant`."""
        with self._database.write() as connection:
            device = granted(self.get(device_id), role, scopes, limits)
            connection.execute(_GRANT, (*_to_row(device)[4:7], device_id, device.owner))
        return device

    def rewrite(self, decide: Callable[[tuple[PairedDevice, ...]], RewriteT]) -> RewriteT:
        """See `TrustStore.rewrite`."""
        with self._database.write() as connection:
            decided = decide(self.devices())
            for device in decided.put:
                self.lookup(device.id)  # raises for an entry that cannot be read
                connection.execute(_PUT, _to_row(checked_device(device)))
            connection.executemany(
                "DELETE FROM devices WHERE id = ?", [(device_id,) for device_id in decided.drop]
            )
        return decided

    def touch(self, device_id: DeviceId) -> None:
        """See `TrustStore.touch`."""
        now = self._clock.now()
        rows = self._database.read("SELECT last_seen_at FROM devices WHERE id = ?", (device_id,))
        # abs(): a clock that was set back must not stop the notes for years.
        if rows and abs(now - float(rows[0]["last_seen_at"])) >= SEEN_RESOLUTION_S:
            with self._database.write() as connection:
                connection.execute(
                    "UPDATE devices SET last_seen_at = ? WHERE id = ?", (now, device_id)
                )

    def roots_pem(self, without: Container[PairedDevice] = ()) -> bytes:
        """See `TrustStore.roots_pem`."""
        now = self._clock.now()
        return b"".join(
            _pem(device.certificate_der)
            for device in self.devices()
            if device.live(now) and device not in without
        )

    def link_used(self, link_id: str) -> bool:
        """See `TrustStore.link_used`."""
        return bool(self._link_user(link_id))

    def _link_user(self, link_id: str) -> str:
        rows = self._database.read("SELECT device_id FROM used_links WHERE id = ?", (link_id,))
        return str(rows[0]["device_id"]) if rows else ""

    def _before(self, device: PairedDevice) -> PairedDevice | None:
        """What is stored; a damaged entry may be replaced by a pairing, not by an introduction."""
        try:
            return self.lookup(device.id)
        except IntegrityError:
            if device.introduced_by:
                raise
            return None


@functools.lru_cache(maxsize=4096)
def _pem(der: bytes) -> bytes:
    return check_certificate(der).pem


def _to_row(device: PairedDevice) -> tuple[str | bytes | int | float, ...]:
    return (
        device.id,
        device.certificate_der,
        device.hpke_public_key,
        device.name,
        device.role.value,
        json.dumps(sorted(scope.value for scope in device.scopes)),
        json.dumps(dataclasses.asdict(device.limits)),
        float(device.paired_at),
        float(device.last_seen_at),
        float(device.revoked_at),
        device.introduced_by,
        device.lease_expires_at,
        device.serial,
        device.account,
        device.retires_at,
        device.hpke_signature,
    )


def _readable(rows: Iterable[sqlite3.Row]) -> tuple[PairedDevice, ...]:
    found: list[PairedDevice] = []
    for row in rows:
        try:
            found.append(_from_row(row))
        except IntegrityError:
            _log.error("trust.bad_row", device=str(row["id"])[:12])
    return tuple(found)


def _from_row(row: sqlite3.Row) -> PairedDevice:
    try:
        limits: dict[str, Any] = json.loads(row["limits"])
        for key in ("models", "tools"):
            limits[key] = tuple(limits[key])
        return checked_device(
            PairedDevice(
                id=DeviceId(row["id"]),
                certificate_der=row["certificate"],
                hpke_public_key=row["hpke_key"],
                name=row["name"],
                role=DeviceRole(row["role"]),
                scopes=frozenset(Scope(scope) for scope in json.loads(row["scopes"])),
                limits=Limits(**limits),
                paired_at=row["paired_at"],
                last_seen_at=row["last_seen_at"],
                revoked_at=row["revoked_at"],
                introduced_by=row["introduced_by"],
                lease_expires_at=row["lease_expires_at"],
                serial=row["serial"],
                account=row["account"],
                retires_at=row["retires_at"],
                hpke_signature=row["hpke_signature"],
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
        msg = "the trust store's entry for this device is damaged"
        raise IntegrityError(msg, "It is shut out. Pair the device again.") from error
