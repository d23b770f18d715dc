"""The record on disk: one SQLite file that only grows, but for what a checkpoint stands for.

SQLite and not a file of lines: an entry, the head that covers it and a checkpoint are written
together or not at all, a page of entries is found by its number, and a kill leaves no half line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.audit import Entry, Head, SignedHead
from homing_core.errors import IntegrityError
from homing_core.ids import DeviceId

from homing_crypto.audit.chain import GENESIS, Draft
from homing_crypto.audit.head import sign_head
from homing_crypto.audit.records import NODE, AuditKind
from homing_crypto.audit.schema import APPLICATION_ID, MIGRATIONS
from homing_crypto.audit.verify import Broken, Checkpoint, Verified, verify
from homing_crypto.certificates import check_certificate
from homing_crypto.database import Database

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from homing_crypto.audit.verify import Verdict
    from homing_crypto.certificates import CheckedCertificate
    from homing_crypto.identity import DeviceIdentity

AUDIT_FILE: Final = "audit.db"
MOST_IN_PAGE: Final = 500
"""Entries that are read at once."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which entries are wanted; empty or 0 is any.

    Attributes:
        kinds: of these kinds.
        device: that concern, or were done by, a device whose id starts with this.
        since_ms: not older, milliseconds since the epoch.
    """

    kinds: tuple[str, ...] = ()
    device: str = ""
    since_ms: int = 0

    def takes(self, entry: Entry) -> bool:
        """Whether the entry is one of them."""
        return (
            (not self.kinds or entry.kind in self.kinds)
            and entry.at_ms >= self.since_ms
            and (entry.device.startswith(self.device) or entry.actor.startswith(self.device))
        )


class AuditFile:
    """The open file. Safe to use from any thread; every call is short but `check`.

    Args:
        path: usually `AUDIT_FILE` in the data directory.

    Raises:
        HomingError: as `homing_crypto.database.Database`.
    """

    def __init__(self, path: Path) -> None:
        """Open it."""
        self._database = Database(path, APPLICATION_ID, MIGRATIONS, "the audit log")

    def close(self) -> None:
        """Close it; harmless twice."""
        self._database.close()

    def end(self) -> tuple[int, str]:
        """Number and hash of the last entry; 0 and `GENESIS` if there was never one."""
        rows = self._database.read("SELECT seq, hash FROM entries ORDER BY seq DESC LIMIT 1")
        if rows:
            return rows[0]["seq"], rows[0]["hash"]
        checkpoint = self.checkpoint()
        return (checkpoint.seq, checkpoint.hash) if checkpoint else (0, GENESIS)

    def entries(self, after: int = 0, limit: int = MOST_IN_PAGE) -> tuple[Entry, ...]:
        """What comes after a number, in order; at most `MOST_IN_PAGE` at once."""
        query = "SELECT * FROM entries WHERE seq > ? ORDER BY seq LIMIT ?"
        rows = self._database.read(query, (after, min(limit, MOST_IN_PAGE)))
        return tuple(map(_entry, rows))

    def before(self, seq: int, limit: int = MOST_IN_PAGE) -> tuple[Entry, ...]:
        """What comes before a number, the newest first."""
        query = "SELECT * FROM entries WHERE seq < ? ORDER BY seq DESC LIMIT ?"
        rows = self._database.read(query, (seq, min(limit, MOST_IN_PAGE)))
        return tuple(map(_entry, rows))

    def newest(self, count: int, wanted: Filter) -> tuple[Entry, ...]:
        """The newest `count` entries that are wanted, oldest first."""
        found: list[Entry] = []
        seq = self.end()[0] + 1
        while len(found) < count and (page := self.before(seq)):
            found += (entry for entry in page if wanted.takes(entry))
            seq = page[-1].seq
        return tuple(reversed(found[:count]))

    def all(self) -> Iterator[Entry]:
        """Every entry, in order, read in pages."""
        seq = -1
        while page := self.entries(seq):
            yield from page
            seq = page[-1].seq

    def checkpoint(self) -> Checkpoint | None:
        """What stands for entries that were removed; None if none were."""
        rows = self._database.read("SELECT * FROM checkpoint")
        return Checkpoint(rows[0]["seq"], rows[0]["hash"]) if rows else None

    def signed_head(self) -> tuple[SignedHead, CheckedCertificate] | None:
        """The head, and the certificate that it is checked with; None if nothing was written.

        Raises:
            IntegrityError: it is damaged.
        """
        rows = self._database.read("SELECT * FROM head")
        if not rows:
            return None
        row = rows[0]
        head = Head(row["seq"], row["hash"], row["at_ms"])
        try:
            certificate = check_certificate(row["certificate"])
        except Exception as error:
            msg = "the head of the audit log is damaged"
            raise IntegrityError(msg, "Compare with the phone's: homing audit.") from error
        return SignedHead(DeviceId(row["node"]), head, row["signature"]), certificate

    def check(self, heads: Sequence[Head] = ()) -> Verdict:
        """Follow the whole chain to its signed head, and through heads that others kept."""
        last = self.end()[0]
        try:
            signed = self.signed_head()
        except IntegrityError as error:
            return Broken(last, error.what)
        found = verify(self.all(), checkpoint=self.checkpoint(), signed=signed, heads=heads)
        if signed is None and last and isinstance(found, Verified):
            return Broken(last, f"the log ends at {last}, but its signed head is missing")
        return found

    def append(self, drafts: Sequence[Draft], signer: DeviceIdentity, at_ms: int) -> int:
        """Write entries and the head that covers them; number of the last.

        Raises:
            HomingError: nothing was written.
        """
        with self._database.write() as connection:
            return _append(connection, drafts, self.end(), signer, at_ms)

    def prune(self, up_to: int, signer: DeviceIdentity, at_ms: int) -> int:
        """Remove entries up to a number; how many. An entry says so, and the chain goes on.

        Raises:
            HomingError: nothing was changed.
        """
        query = "SELECT hash FROM entries WHERE seq = ?"
        with self._database.write() as connection:
            rows = connection.execute(query, (up_to,)).fetchall()
            if not rows:
                return 0
            digest = str(rows[0]["hash"])
            connection.execute("DELETE FROM checkpoint")
            connection.execute("INSERT INTO checkpoint VALUES (1, ?, ?)", (up_to, digest))
            end = self.end()
            count = connection.execute("DELETE FROM entries WHERE seq <= ?", (up_to,)).rowcount
            draft = Draft.of(
                at_ms / 1000,
                AuditKind.CHECKPOINT.value,
                NODE,
                detail={"up_to": up_to, "hash": digest, "count": count},
            )
            _append(connection, [draft], end, signer, at_ms)
            return count

    def older_than(self, at_ms: int) -> int:
        """Number of the last entry before the first that is not older; 0 if there is none."""
        query = "SELECT min(seq) AS first FROM entries WHERE at_ms >= ?"
        first = self._database.read(query, (at_ms,))[0]["first"]
        return int(first) - 1 if first else self.end()[0]


def _append(
    connection: sqlite3.Connection,
    drafts: Sequence[Draft],
    end: tuple[int, str],
    signer: DeviceIdentity,
    at_ms: int,
) -> int:
    seq, digest = end
    for draft in drafts:
        entry = draft.after(seq, digest)
        seq, digest = entry.seq, entry.hash
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _row(entry))
    signed = sign_head(signer, Head(seq, digest, at_ms))
    connection.execute("DELETE FROM head")
    connection.execute(
        "INSERT INTO head VALUES (1, ?, ?, ?, ?, ?, ?)",
        (seq, digest, at_ms, signed.node, signer.certificate.der, signed.signature),
    )
    return seq


def _row(entry: Entry) -> tuple[int | str, ...]:
    return (
        entry.seq,
        entry.at_ms,
        entry.kind,
        entry.actor,
        entry.device,
        entry.detail,
        entry.previous,
        entry.hash,
    )


def _entry(row: sqlite3.Row) -> Entry:
    return Entry(
        row["seq"],
        row["at_ms"],
        row["kind"],
        row["actor"],
        row["device"],
        row["detail"],
        row["previous"],
        row["hash"],
    )
