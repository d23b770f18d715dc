"""Tables of jobs, for SQLite and Postgres alike, and their version.

Whatever could say what a job is about is sealed under the job's own key (`sealed`): by whoever
calls the store, or here, as hashes of arguments and a tool's words about its progress are. So the
one thing that must be destroyed for all of it to be gone is `homing_job_secrets.data_key`.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from homing_core.errors import InvalidDataError

from homing_node.jobs.sql_errors import damaged

VERSION: Final = 2
_ADDED: Final = (("homing_job_questions", "spent", "BOOLEAN NOT NULL DEFAULT FALSE"),)
"""Columns that the first databases lack, as SQLite and Postgres both write them."""
SQLITE_KEY_PADDING: Final = 4200
"""Zero bytes before a key in SQLite, more than a page of 4096 takes.

SQLite overwrites what it deletes, but not what it copied to another page while balancing its tree:
of 6,000 short rows that came and went with `secure_delete`, one was left in the file in two of
three tries (SQLite 3.40).
Behind so much padding the key lies in overflow pages, which belong to one row, are never copied,
and are overwritten as a whole when the row goes (sqlite.org/fileformat2.html, 1.6).
"""

METADATA: Final = sa.MetaData()
_NUMBER: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME: Final[sa.Double[float]] = sa.Double()


def _text(name: str, *, default: str | None = "") -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, default=default)


def _whole(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, default=0)


def _time(name: str) -> sa.Column[float]:
    return sa.Column(name, _TIME, nullable=False, default=0.0)


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False, default=False)


def _blob(name: str, *, nullable: bool = False) -> sa.Column[bytes]:
    return sa.Column(name, sa.LargeBinary, nullable=nullable)


def _of_job() -> sa.Column[int]:
    return sa.Column("number", _NUMBER, primary_key=True, autoincrement=False)


SCHEMA: Final = sa.Table(
    "homing_jobs_schema",
    METADATA,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
)
JOBS: Final = sa.Table(
    "homing_jobs",
    METADATA,
    sa.Column("number", _NUMBER, primary_key=True, autoincrement=True),
    *(_text(name) for name in ("account", "id", "digest", "device", "peer", "request_id")),
    *(_text(name) for name in ("tool_node", "tool_server", "tool_name", "tool_hash")),
    _text("sensitivity"),
    _whole("priority"),
    _time("submitted_at"),
    _text("state"),
    _whole("last_seq"),
    sa.Column("progress", sa.Text, nullable=True),
    _blob("progress_note", nullable=True),
    _text("summary"),
    _whole("attempt"),
    _text("runner"),
    _time("lease_until"),
    _flag("cancel_wanted"),
    _time("ended_at"),
    _whole("result_bytes"),
    _text("result_sha256"),
    _text("result_stage"),
    _text("sealed_by"),
    _time("delivered_at"),
    sa.UniqueConstraint("account", "id"),
    sa.Index("homing_jobs_turn", "state", "priority", "number"),
    sa.Index("homing_jobs_account", "account", "number"),
    sqlite_autoincrement=True,
)
SECRETS: Final = sa.Table(
    "homing_job_secrets", METADATA, _of_job(), _blob("payload"), _blob("data_key")
)
EVENTS: Final = sa.Table(
    "homing_job_events",
    METADATA,
    _of_job(),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    _time("at"),
    _text("state"),
    sa.Column("progress", sa.Text, nullable=True),
    _blob("progress_note", nullable=True),
    sa.Column("approval_id", sa.Text, nullable=True),
    _text("note"),
)
EFFECTS: Final = sa.Table(
    "homing_job_effects",
    METADATA,
    _of_job(),
    sa.Column("step", sa.BigInteger, primary_key=True, autoincrement=False),
    _text("tool_hash"),
    _blob("argument_hash"),
    _time("begun_at"),
    _whole("attempt"),
    _blob("outcome"),
)
NOTES: Final = sa.Table(
    "homing_job_notes",
    METADATA,
    _of_job(),
    sa.Column("label", sa.Text, primary_key=True),
    _blob("name"),
    _blob("value"),
)
QUESTIONS: Final = sa.Table(
    "homing_job_questions",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("number", _NUMBER, nullable=False, index=True),
    _whole("step"),
    _text("tool_hash"),
    _blob("argument_hash"),
    _flag("owners_only"),
    _time("at"),
    _time("expires_at"),
    _blob("shown"),
    _text("verdict"),
    _text("answered_by"),
    _flag("spent"),
)
RESULTS: Final = sa.Table(
    "homing_job_results",
    METADATA,
    _of_job(),
    sa.Column("stage", sa.Text, primary_key=True),
    sa.Column("part", sa.BigInteger, primary_key=True, autoincrement=False),
    _blob("data"),
)
BURIED: Final = sa.Table(
    "homing_jobs_buried",
    METADATA,
    sa.Column("account", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    _time("at"),
)
"""Jobs that their devices have ended before they arrived."""
OF_JOB: Final = (SECRETS, EVENTS, EFFECTS, NOTES, QUESTIONS, RESULTS)
"""Tables whose rows belong to one job."""


def prepare(connection: sa.Connection) -> None:
    """Make the tables, or check that they are ours; the caller is alone.

    Raises:
        InvalidDataError: a newer Homing made them.
        IntegrityError: they are damaged.
    """
    if not sa.inspect(connection).has_table(SCHEMA.name):
        METADATA.create_all(connection)
        connection.execute(sa.insert(SCHEMA).values(version=VERSION))
        return
    version = connection.execute(sa.select(sa.func.max(SCHEMA.c.version))).scalar_one()
    if not isinstance(version, int) or version < 1:
        raise damaged()
    if version > VERSION:
        msg = "the record of jobs was written by a newer Homing"
        raise InvalidDataError(msg, "Update Homing.")
    if version < VERSION:
        _bring_up(connection)


def _bring_up(connection: sa.Connection) -> None:
    """Add what later versions have; what is there already, as after a kill, stays."""
    METADATA.create_all(connection)
    inspector = sa.inspect(connection)
    for table, column, kind in _ADDED:
        if column not in {one["name"] for one in inspector.get_columns(table)}:
            connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")
    connection.execute(sa.insert(SCHEMA).values(version=VERSION))
