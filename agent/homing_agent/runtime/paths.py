"""Where a program keeps its things.

    DATA_DIR/            0700: keys, databases
        lock             held while the program runs (`lock`)
        log.jsonl        when the program runs on a terminal (`logs`)
        run/             0700: the local socket, or `socket-path` that says where it is

A unix socket's path may have 107 bytes at most and for gRPC no comma, so a data directory with a
long path gets its socket in a short private folder elsewhere, and says so in `run/socket-path`. The
data directory belongs to its user alone, so that file can be trusted, whatever the environment of
the reader.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs
from homing_core.errors import HomingError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

APP = "homing"
DATA_DIR_VARIABLE = "HOMING_DATA_DIR"
_SOCKET_NAME = "control.sock"
_POINTER_NAME = "socket-path"
_MOST_SOCKET_BYTES = 100
"""`sun_path` has 104 bytes on macOS and 108 on Linux, one of them for the final zero."""
_PRIVATE = 0o700
_OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class ProgramPaths:
    """The places of one program.

    Attributes:
        program: what it is called, such as `homing-node`.
        data_dir: its data directory.
        config_file: its configuration; need not exist unless `config_named`.
        config_named: whether the user named the file, so that its absence is an error.
    """

    program: str
    data_dir: Path
    config_file: Path
    config_named: bool = False

    @property
    def lock_file(self) -> Path:
        """Held while the program runs. One name for all programs: none shares a directory."""
        return self.data_dir / "lock"

    @property
    def log_file(self) -> Path:
        """Where the log goes when a person watches."""
        return self.data_dir / "log.jsonl"

    @property
    def run_dir(self) -> Path:
        """Folder of the local socket."""
        return self.data_dir / "run"


def program_paths(
    program: str,
    part: str,
    data_dir: Path | None = None,
    config: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> ProgramPaths:
    """Decide the places; touches nothing.

    Args:
        program: what it is called, such as `homing-node`.
        part: `node` or `phone`; folder below the common data folder, and name of the file of
            configuration.
        data_dir: the data directory itself (`--data-dir`). Without it, `part` in the folder that
            the environment's `HOMING_DATA_DIR` names, or in the platform's own place.
        config: the configuration file (`--config`). Without it, `PART.toml` in the data directory
            if that was chosen by hand, else in the platform's own place.
        environ: the environment; None takes the process's own.
    """
    env = os.environ if environ is None else environ
    chosen = _absolute(data_dir) if data_dir is not None else None
    if chosen is None and env.get(DATA_DIR_VARIABLE):
        chosen = _absolute(Path(env[DATA_DIR_VARIABLE])) / part
    directory = chosen or platformdirs.user_data_path(APP, appauthor=False) / part
    if config is not None:
        return ProgramPaths(program, directory, _absolute(config), config_named=True)
    home = directory if chosen else platformdirs.user_config_path(APP, appauthor=False)
    return ProgramPaths(program, directory, home / f"{part}.toml")


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path.expanduser()))  # noqa: PTH100  # links stay as written


def prepare_data_dir(paths: ProgramPaths) -> None:
    """Make the data directory and its run folder, for this user alone.

    Raises:
        UsageError: it cannot be made, or belongs to or is open to somebody else.
    """
    make_private(paths.data_dir)
    make_private(paths.run_dir)


def make_private(directory: Path) -> None:
    """Make a folder that only this user can enter, or check that it is one.

    An empty folder of the user's own is closed to others. A folder that holds something is left
    as it is: whoever opened it must have meant it, and it may not be ours.

    Raises:
        UsageError: it cannot be made, or belongs to or is open to somebody else.
    """
    try:
        directory.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        found = directory.lstat()
        if not stat.S_ISDIR(found.st_mode):
            found = directory.stat()  # a link to a folder is followed; the folder is what counts
        if found.st_uid != os.getuid():
            msg = f"{directory} belongs to another user"
            raise UsageError(msg, "Choose another folder with --data-dir.")
        if found.st_mode & _OTHERS:
            if any(directory.iterdir()):
                msg = f"{directory} is open to other users"
                raise UsageError(msg, f"Close it with: chmod 700 '{directory}'")
            directory.chmod(_PRIVATE)
    except OSError as error:
        msg = f"{directory} cannot be used: {error.strerror or 'the system refused it'}"
        raise UsageError(msg, "Choose another folder with --data-dir.") from error


def socket_path(paths: ProgramPaths) -> Path:
    """Where the local socket of a running program is; it need not exist.

    Raises:
        UsageError: the run folder names a socket in a folder that is not this user's alone.
    """
    pointer = paths.run_dir / _POINTER_NAME
    try:
        named = Path(pointer.read_text(encoding="utf-8").strip())
    except (OSError, ValueError):
        return paths.run_dir / _SOCKET_NAME
    if named.is_absolute() and named.parent.is_dir():
        make_private(named.parent)
    return named


def choose_socket_path(paths: ProgramPaths, environ: Mapping[str, str] | None = None) -> Path:
    """As `socket_path`, for the program that will listen: makes the folder and says where it is.

    Raises:
        UsageError: there is no private folder with a short enough path.
    """
    env = os.environ if environ is None else environ
    pointer = paths.run_dir / _POINTER_NAME
    plain = paths.run_dir / _SOCKET_NAME
    if _fits(plain):
        pointer.unlink(missing_ok=True)
        return plain
    for folder in _short_folders(paths, env):
        candidate = folder / _SOCKET_NAME
        if not _fits(candidate):
            continue
        try:
            make_private(folder.parent)
            make_private(folder)
            fresh = pointer.with_suffix(".new")
            fresh.write_text(f"{candidate}\n", encoding="utf-8")
            fresh.replace(pointer)
        except (HomingError, OSError):
            continue
        return candidate
    msg = f"the path of {paths.data_dir} is too long for a local socket, or holds a comma"
    raise UsageError(msg, "Choose a data directory with a shorter, plain path.")


def _fits(path: Path) -> bool:
    # gRPC takes a comma for the end of an address.
    return len(os.fsencode(path)) <= _MOST_SOCKET_BYTES and "," not in str(path)


def _short_folders(paths: ProgramPaths, environ: Mapping[str, str]) -> Iterator[Path]:
    name = hashlib.sha256(os.fsencode(paths.data_dir)).hexdigest()[:16]
    runtime = environ.get("XDG_RUNTIME_DIR")
    if runtime:
        yield Path(runtime) / APP / name
    for base in dict.fromkeys((tempfile.gettempdir(), "/tmp")):  # noqa: S108  # a private folder in it
        yield Path(base) / f"{APP}-{os.getuid()}" / name
