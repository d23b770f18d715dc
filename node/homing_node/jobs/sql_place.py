"""Where the jobs' database lies: a URL or path that is understood, a file that is ours alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa
from homing_core.errors import ConfigError, UnavailableError
from homing_crypto.private_files import check_private_file, ensure_folder
from sqlalchemy import exc

from homing_node.jobs.sql_errors import damaged

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

_APPLICATION_ID: Final = 0x486F_4A01


def place(database: Path | str) -> tuple[URL, Path | None]:
    """The URL, and the path of a SQLite file; raises `ConfigError`, which quotes nothing of it."""
    if isinstance(database, Path):
        return sa.URL.create("sqlite", database=str(database)), database
    hint = "Write it as postgresql+psycopg://USER:PASSWORD@HOST/NAME, or leave it empty."
    try:
        url = sa.make_url(database)
    except (exc.ArgumentError, ValueError):
        msg = "the jobs' database URL cannot be read"
        raise ConfigError(msg, hint) from None  # its own words may quote it
    match url.get_backend_name():
        case "sqlite" if url.database and url.database != ":memory:" and not url.query:
            path = Path(url.database)
            return sa.URL.create("sqlite", database=str(path)), path
        case "postgresql" | "postgres":
            return url.set(drivername="postgresql+psycopg"), None
        case _:
            msg = "jobs are kept in a SQLite file or in Postgres; the URL names neither"
            raise ConfigError(msg, hint)


def create(path: Path) -> None:
    """Make the file, closed to others, or check that the one there is; raises `HomingError`."""
    # Made here and not by SQLite, whose mode would depend on the umask; its log takes the file's.
    ensure_folder(path.parent, private=False)
    try:
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            check_private_file(path.stat(), path)
    except PermissionError as error:
        msg = f"no permission for {path}"
        raise ConfigError(msg, "Check who owns it and its folder.") from error
    except OSError as error:
        msg = f"cannot open {path}: {error.strerror or 'input/output error'}"
        raise UnavailableError(msg, "Check the disk's free space and health.") from error


def check_file(connection: sa.Connection) -> None:
    """Check that the file is whole and ours, and mark it so; raises `HomingError`."""
    found = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
    empty = not connection.exec_driver_sql("SELECT count(*) FROM sqlite_schema").scalar_one()
    if found != _APPLICATION_ID and not (found == 0 and empty):
        msg = "the file for jobs is another program's database"
        raise ConfigError(msg, "Move it away, or choose another data directory.")
    if connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one() != "ok":
        raise damaged()
    if empty:
        connection.exec_driver_sql(f"PRAGMA application_id = {_APPLICATION_ID}")
