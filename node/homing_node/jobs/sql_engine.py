"""The database under the jobs: opened, brought up to date, and clear about what is wrong with it.

SQLite: one file (0600) with a write-ahead log, `synchronous=FULL`, so that a commit that returned
survives a power cut, and `secure_delete`, so that what is deleted is overwritten. After `wipe` the
log has been copied into the file and cut to nothing, unless somebody was reading just then; it is
then done after the next change. What a disk keeps of blocks that it has replaced is out of reach.

Postgres: a deleted row is only marked as dead. Its bytes stay in the table's file until `VACUUM`
and new rows have overwritten them (`VACUUM FULL homing_job_secrets` rewrites it at once), in the
server's write-ahead log until that is recycled, and in every backup and replica. Whoever runs the
server can also read the keys of jobs that have not ended.

An error never quotes a URL, a statement or its values: `hide_parameters` and words of our own.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa
from homing_core.errors import ConfigError, HomingError, UnavailableError
from sqlalchemy import event, exc

from homing_node.jobs.sql_errors import moved_away, translated
from homing_node.jobs.sql_place import check_file, create, place
from homing_node.jobs.sql_tables import prepare

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from sqlalchemy.engine import URL
    from sqlalchemy.engine.interfaces import DBAPIConnection

JOBS_FILE: Final = "jobs.db"
BUSY_S: Final = 30.0
"""How long to wait for another process that writes, in seconds."""
_WIPE_BUSY_MS: Final = 250
_CONNECT_S: Final = 10
_LOCKS: Final = 0x486F_4A01
_WRITE: Final = "homing_write"
_SET_UP: Final = (
    "PRAGMA page_size = 4096",  # see sql_tables.SQLITE_KEY_PADDING
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA trusted_schema = OFF",
)


class JobDatabase:
    """An open database. Safe to use from any thread.

    Args:
        database: path of a SQLite file, made if it is not there; or a URL, `sqlite:///PATH` or
            `postgresql+psycopg://USER:PASSWORD@HOST/NAME`.
        busy_s: how long to wait for another process that writes, in seconds.

    Raises:
        ConfigError: the URL cannot be read, or others may read the file.
        IntegrityError: the file is damaged; it is left as it is.
        InvalidDataError: a newer Homing wrote it.
        UnavailableError: it cannot be reached, or the disk does not let us.
    """

    def __init__(self, database: Path | str, *, busy_s: float = BUSY_S) -> None:
        """Open, check and bring up to date."""
        self._busy_s = busy_s
        self._unwiped = False
        url, self._path = place(database)
        self.sqlite = self._path is not None
        # SQLite's own waiting is by sleeping and knows no turns; threads of one process need not.
        self._writing = threading.RLock() if self.sqlite else contextlib.nullcontext()
        if self._path is None:
            self._engine = _postgres(url, busy_s)
        else:
            create(self._path)
            self._engine = _sqlite(url, busy_s)
        try:
            self._open()
        except BaseException:
            self._engine.dispose()
            raise

    def close(self) -> None:
        """Let go; harmless repeated."""
        self.wipe()
        self._engine.dispose()

    @contextlib.contextmanager
    def read(self) -> Generator[sa.Connection]:
        """A look at one state of the database (Postgres: at one state for each query)."""
        with self._plain_errors(), self._engine.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def write(self) -> Generator[sa.Connection]:
        """A transaction: all of the block or nothing; on disk when the block has been left."""
        with self._plain_errors(), self._writing:
            self._check_in_place()
            with self._engine.connect() as plain:
                connection = plain.execution_options(**{_WRITE: True})
                with connection.begin():
                    yield connection
            if self._unwiped:
                self._wipe()

    def wipe(self) -> None:
        """Let nothing of what was deleted stay in SQLite's log; never raises."""
        if self.sqlite:
            with self._writing:
                self._wipe()

    def alone(self, connection: sa.Connection, number: int) -> None:
        """Within a write: no other daemon is in a block of this number. SQLite always is alone."""
        if not self.sqlite:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCKS, number)))

    def _wipe(self) -> None:
        self._unwiped = True
        with contextlib.suppress(HomingError), self._plain_errors():
            raw = self._engine.raw_connection()
            try:
                cursor = raw.cursor()
                cursor.execute(f"PRAGMA busy_timeout = {_WIPE_BUSY_MS}")
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                row = cursor.fetchone()
                self._unwiped = row is None or bool(row[0])
                cursor.execute(f"PRAGMA busy_timeout = {int(self._busy_s * 1000)}")
                cursor.close()
            finally:
                raw.close()

    def _open(self) -> None:
        deadline = time.monotonic() + self._busy_s
        while True:
            try:
                with self.write() as connection:
                    self.alone(connection, 0)
                    if self.sqlite:
                        check_file(connection)
                    prepare(connection)
            except UnavailableError:
                # Changing over to the write-ahead log does not wait for other daemons by itself.
                if not self.sqlite or time.monotonic() >= deadline:
                    raise
                time.sleep(min(0.05, self._busy_s))
            else:
                self.wipe()  # a daemon may have been killed before it did
                return

    def _check_in_place(self) -> None:
        if self._path is not None and not self._path.exists():
            raise moved_away(self._path)

    @contextlib.contextmanager
    def _plain_errors(self) -> Generator[None]:
        try:
            yield
        except (exc.SQLAlchemyError, sqlite3.Error) as error:
            raise translated(error, self._path) from error
        except Exception as error:
            if type(error).__module__.partition(".")[0] != "psycopg":
                raise
            raise translated(error, self._path) from error


def _sqlite(url: URL, busy_s: float) -> sa.Engine:
    engine = sa.create_engine(
        url, hide_parameters=True, pool_timeout=max(busy_s, 1), connect_args={"timeout": busy_s}
    )

    @event.listens_for(engine, "connect")
    def _(connection: DBAPIConnection, _record: object) -> None:  # pyright: ignore[reportUnusedFunction]
        connection.isolation_level = None  # we begin ourselves, below
        cursor = connection.cursor()
        for pragma in _SET_UP:
            cursor.execute(pragma)
        cursor.close()

    @event.listens_for(engine, "begin")
    def _(connection: sa.Connection) -> None:  # pyright: ignore[reportUnusedFunction]
        writes = connection.get_execution_options().get(_WRITE, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgres(url: URL, busy_s: float) -> sa.Engine:
    try:
        engine = sa.create_engine(
            url,
            hide_parameters=True,
            pool_pre_ping=True,
            connect_args={"connect_timeout": _CONNECT_S},
        )
    except ModuleNotFoundError as error:
        msg = "jobs are to be kept in Postgres, and its driver is not installed"
        raise ConfigError(msg, "Install it: pip install 'homing[postgres]'.") from error

    @event.listens_for(engine, "connect")
    def _(connection: DBAPIConnection, _record: object) -> None:  # pyright: ignore[reportUnusedFunction]
        cursor = connection.cursor()
        cursor.execute(f"SET lock_timeout = {int(busy_s * 1000)}")
        cursor.execute("SET synchronous_commit = on")
        cursor.close()
        connection.commit()

    return engine
