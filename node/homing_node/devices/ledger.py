"""What devices used, on disk: one row for each generation, written before an engine is asked.

`usage.db` in the data directory. While a generation runs its row is brought up to date every few
seconds, so that kill -9 forgets seconds of counting at most; the prompt is counted from the start.
What begins is left to the system to bring to the disk, and what is brought up to date is waited
for: so a power cut forgets the last seconds, and nobody waits for the disk's first answer. Rows
hold no text. After `keep_days` only the sums of each device's days are kept.

The database is used by one thread of the ledger's own. Other programs may read it meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

from homing_agent.database import open_database
from homing_core.errors import IntegrityError, UnavailableError

from homing_node.devices.ledger_rows import (
    DAY_S,
    LOST,
    RUNNING,
    SCHEMA,
    VERSION,
    Counted,
    DayUse,
    Use,
    day_of,
)
from homing_node.devices.ledger_time import LedgerTime, Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from pathlib import Path

    from homing_core.clock import Clock
    from homing_core.ids import DeviceId

T = TypeVar("T")
_LEFT_TO_THE_SYSTEM: Final = "PRAGMA synchronous = NORMAL"
_WAITED_FOR: Final = "PRAGMA synchronous = FULL"
_IDLE_S: Final = 300.0
"""How often the time is noted while nothing is used, in seconds."""


class UsageLedger:
    """The ledger. Made by `open`; its methods belong to one event loop.

    Args:
        path: of the file.
        clock: of the machine.
        boot: which start of the machine this is; see `machine_boot`.
        keep_days: days for which each generation's row is kept.

    Attributes:
        time: the ledger's own; set by `open`.
        recent: what of earlier runs counts still, oldest first; set by `open`.
    """

    def __init__(self, path: Path, clock: Clock, *, boot: str = "", keep_days: int = 90) -> None:
        """Nothing is opened yet."""
        self._path = path
        self._clock = clock
        self._boot = boot
        self._keep_s = keep_days * DAY_S
        self._thread = ThreadPoolExecutor(1, "usage-ledger")
        self._database: sqlite3.Connection | None = None
        self._closed = False
        self._noted_at = -math.inf
        self.time = LedgerTime(clock, None, boot)
        self.recent: tuple[Counted, ...] = ()

    async def open(self) -> None:
        """Open or make the file, and go on from where it stands.

        Raises:
            IntegrityError: it is damaged, or another program's.
            HomingError: it cannot be opened.
        """
        await self._do(self._open)

    async def begin(self, use: Use) -> None:
        """Note a generation that an engine will be asked for; kill -9 forgets it no more.

        Raises:
            UnavailableError: it cannot be written now.
        """
        day, at = day_of(use.started_at), self.time.now()
        row = (use.id, use.account, use.introduced_by, use.model, use.started_at, day, at)
        counts = (use.prompt, use.cached, use.completion, use.outcome)

        def insert() -> None:
            use.number = self._insert((*row, *counts))

        self._noted_at = -math.inf
        await self._do(insert)

    async def update(
        self, uses: Sequence[Use], refusals: Mapping[tuple[DeviceId, str], int]
    ) -> None:
        """Bring rows up to date, add to the counts of refusals, and note the time; on disk then.

        Args:
            uses: whose counts or outcomes have changed.
            refusals: how many more there were, by account and who introduced it.

        Raises:
            UnavailableError: it cannot be written now; nothing of it was.
        """
        at, day = self.time.now(), day_of(self._clock.now())
        if not refusals and not uses and at - self._noted_at < _IDLE_S:
            return
        rows = [
            (use.prompt, use.cached, use.completion, use.outcome, at, use.number)
            for use in uses
            if use.number
        ]
        refused = [(day, account, peer, count) for (account, peer), count in refusals.items()]
        reading = self.time.reading()
        await self._do(lambda: self._update(rows, refused, reading))
        self._noted_at = at

    async def days(self, days: int) -> tuple[DayUse, ...]:
        """What each account used on each of the last days, newest first, today included."""
        first = day_of(self._clock.now() - (max(days, 1) - 1) * DAY_S)
        return await self._do(lambda: self._days(first))

    async def prune(self) -> None:
        """Put rows that are older than they are kept into the sums of their days."""
        horizon = self.time.now() - self._keep_s
        await self._do(lambda: self._prune(horizon))

    async def close(self) -> None:
        """Close the file; harmless twice."""
        self._closed = True
        if self._database is not None:
            database, self._database = self._database, None
            await asyncio.get_running_loop().run_in_executor(self._thread, database.close)
        self._thread.shutdown(wait=False)

    async def _do(self, work: Callable[[], T]) -> T:
        if self._closed:
            raise _closed()

        def safely() -> T:
            try:
                return work()
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    msg = "cannot use the usage ledger now"
                    hint = "Check the disk's free space and try again."
                    raise UnavailableError(msg, hint) from error
                msg = f"the usage ledger ({self._path.name}) is damaged"
                raise IntegrityError(msg, "Move it away to start a new one.") from error

        # A write that was begun is finished, even if whoever waits for it goes away.
        return await asyncio.shield(
            asyncio.get_running_loop().run_in_executor(self._thread, safely)
        )

    @property
    def _db(self) -> sqlite3.Connection:
        if self._database is None:
            raise _closed()
        return self._database

    def _open(self) -> None:
        database = self._database = open_database(self._path, SCHEMA, VERSION)
        query = "SELECT ledger, wall, monotonic, boot FROM clock"
        found = database.execute(query).fetchone()
        database.execute(_LEFT_TO_THE_SYSTEM)
        self.time = LedgerTime(self._clock, Reading(*found) if found else None, self._boot)
        database.execute("UPDATE generations SET outcome = ? WHERE outcome = ?", (LOST, RUNNING))
        since = self.time.now() - DAY_S
        query = """
            SELECT account, introduced_by, counted_at, max(prompt - cached, 0) + completion
            FROM generations WHERE counted_at > ? ORDER BY counted_at
        """
        self.recent = tuple(Counted(*row) for row in database.execute(query, (since,)))

    def _insert(self, row: tuple[str | float | int, ...]) -> int:
        query = """
            INSERT INTO generations (id, account, introduced_by, model, started_at, day, counted_at,
              prompt, cached, completion, outcome) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
        return self._db.execute(query, row).lastrowid or 0

    def _update(
        self,
        rows: list[tuple[int, int, int, str, float, int]],
        refused: list[tuple[str, DeviceId, str, int]],
        reading: Reading,
    ) -> None:
        self._db.execute(_WAITED_FOR)
        with _transaction(self._db) as database:
            database.executemany(
                """
                UPDATE generations SET prompt = ?, cached = ?, completion = ?, outcome = ?,
                  counted_at = ? WHERE number = ?
                """,
                rows,
            )
            database.executemany(
                """
                INSERT INTO days (day, account, introduced_by, refusals) VALUES (?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET refusals = refusals + excluded.refusals
                """,
                refused,
            )
            database.execute(
                "INSERT OR REPLACE INTO clock VALUES (1, ?, ?, ?, ?)",
                (reading.ledger, reading.wall, reading.monotonic, reading.boot),
            )
        self._db.execute(_LEFT_TO_THE_SYSTEM)

    def _days(self, first: str) -> tuple[DayUse, ...]:
        query = """
            SELECT account, max(introduced_by), day, sum(generations), sum(prompt), sum(cached),
              sum(completion), sum(refusals)
            FROM (
              SELECT account, introduced_by, day, 1 AS generations, prompt, cached, completion,
                0 AS refusals FROM generations WHERE day >= ?
              UNION ALL
              SELECT account, introduced_by, day, generations, prompt, cached, completion, refusals
                FROM days WHERE day >= ?
            ) GROUP BY account, day ORDER BY day DESC, account
        """
        return tuple(DayUse(*row) for row in self._db.execute(query, (first, first)))

    def _prune(self, horizon: float) -> None:
        with _transaction(self._db) as database:
            database.execute(
                """
                INSERT INTO days (day, account, introduced_by, generations, prompt, cached,
                  completion)
                SELECT day, account, max(introduced_by), count(*), sum(prompt), sum(cached),
                  sum(completion) FROM generations WHERE counted_at <= ? GROUP BY day, account
                ON CONFLICT DO UPDATE SET generations = generations + excluded.generations,
                  prompt = prompt + excluded.prompt, cached = cached + excluded.cached,
                  completion = completion + excluded.completion
                """,
                (horizon,),
            )
            database.execute("DELETE FROM generations WHERE counted_at <= ?", (horizon,))


def _closed() -> UnavailableError:
    return UnavailableError("the usage ledger is closed", "Start the node again.")


@contextlib.contextmanager
def _transaction(database: sqlite3.Connection) -> Generator[sqlite3.Connection]:
    database.execute("BEGIN IMMEDIATE")
    try:
        yield database
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
