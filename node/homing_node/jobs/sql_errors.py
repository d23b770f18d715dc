"""What a database's errors mean to a person."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

from homing_core.errors import ConfigError, HomingError, IntegrityError, UnavailableError
from sqlalchemy import exc

if TYPE_CHECKING:
    from pathlib import Path

_SQLITE: Final = {
    sqlite3.SQLITE_BUSY: "another program is using it",
    sqlite3.SQLITE_LOCKED: "another program is using it",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it may not be written",
    sqlite3.SQLITE_PERM: "it may not be used",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
    sqlite3.SQLITE_MISUSE: "it is closed",
    sqlite3.SQLITE_CONSTRAINT: "something else was written at the same time",
}
"""Kinds of failure that say nothing about the file's content."""
_POSTGRES: Final = {
    "53": "the server has no disk, memory or connections left",
    "55": "another program holds a lock on it",
    "57": "the server is shutting down",
    "40": "something else was written at the same time",
    "23": "something else was written at the same time",
    "28": "the server does not accept the user or password",
    "3D": "the server has no such database",
}
"""By the class of SQLSTATE, its first two characters (PostgreSQL manual, appendix A)."""


def damaged() -> IntegrityError:
    """What is said of a database whose content cannot be."""
    msg = "the record of jobs is damaged"
    return IntegrityError(msg, "Restore it from a backup, or move it away: its jobs are then lost.")


def _name(path: Path | None) -> str:
    """The file without its folder: a guest is told this, and is not to learn where things lie."""
    return "the jobs database" if path is None else path.name


def moved_away(path: Path) -> UnavailableError:
    """What is said once the file is not where it was opened."""
    msg = f"{_name(path)} was moved or deleted while it was in use"
    return UnavailableError(msg, "Put it back, or start the node anew.")


def translated(error: Exception, path: Path | None) -> HomingError:
    """The error for a person.

    Args:
        error: of SQLAlchemy or a driver.
        path: the SQLite file; None for Postgres.
    """
    cause = error.orig if isinstance(error, exc.DBAPIError) else error
    if isinstance(cause, sqlite3.Error):
        return _of_sqlite(cause, path)
    state = getattr(cause, "sqlstate", None) or ""
    if state in {"XX001", "XX002"}:
        return damaged()
    if state == "42501":
        msg = "the jobs' Postgres user may not do what is needed"
        return ConfigError(msg, "It has to be allowed to create tables in its database.")
    if state.startswith(("42", "3F")):
        msg = "the jobs' Postgres database has other tables than Homing's"
        return IntegrityError(msg, "Use a database of its own, or restore it from a backup.")
    why = _POSTGRES.get(state[:2], "it does not answer")
    msg = f"cannot use the jobs' Postgres database now: {why}"
    return UnavailableError(msg, "Check the server and the URL in the configuration.")


def _of_sqlite(cause: sqlite3.Error, path: Path | None) -> HomingError:
    # Python sets the code only where SQLite itself failed; the low byte is the kind.
    code = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF
    if code == sqlite3.SQLITE_ERROR:  # no such table or column
        msg = f"{_name(path)} has other tables than this version of Homing"
        return IntegrityError(msg, "Restore it from a backup, or move it away.")
    if (why := _SQLITE.get(code)) is None:
        return damaged()
    hint = "Free some space" if code == sqlite3.SQLITE_FULL else "Try again"
    return UnavailableError(f"cannot use {_name(path)} now: {why}", f"{hint}.")
