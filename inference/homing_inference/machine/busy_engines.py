"""Which engines of this user compute at this moment, whatever process they belong to.

Each engine has a file of its own in a private folder and holds a lock on it (`flock`) while it
computes. The kernel lets go of the lock when the process ends, however it ends, so a crash leaves
at most an unlocked file, which whoever counts next takes away.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import stat
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Final

import platformdirs
import structlog

if TYPE_CHECKING:
    from collections.abc import Generator

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

_PRIVATE: Final = 0o700
_OTHERS: Final = 0o077
_SUFFIX: Final = ".engine"
_MOST_FILES: Final = 1024
"""More than so many are not looked at: the count shall stay cheap whatever is in the folder."""


def engines_folder() -> Path:
    """Where the engines of this user say that they compute; it need not exist."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without a session it is a folder of ours in `/tmp`
        return platformdirs.user_runtime_path("homing", appauthor=False) / "engines"


class BusyEngines:
    """One engine's place among those that compute. Belongs to one thread.

    Where the folder cannot be used or is not this user's alone, the engine sees only itself.

    Args:
        folder: where engines say that they compute; None takes this user's runtime folder.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Touch nothing yet."""
        self._folder: Path | None = engines_folder() if folder is None else folder
        self._path: Path | None = None
        self._descriptor = -1
        self._holds = False

    def busy(self) -> None:
        """Say that this engine computes from now on; harmless when repeated."""
        if self._folder is None or (self._holds and self._still_there()):
            return
        with self._giving_up_on_error():
            if not self._still_there():
                self._open(self._folder)
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._holds = True
            except BlockingIOError:
                # Somebody counts at this very moment. Not being counted until the next call does
                # less harm than waiting for a process that may have been stopped in between.
                self._holds = False

    def idle(self) -> None:
        """Say that it computes no more; harmless when repeated."""
        if self._holds:
            self._holds = False
            with self._giving_up_on_error():
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def count_others(self) -> int:
        """How many engines besides this one compute now."""
        count = 0
        if self._folder is None or not self._folder.is_dir():
            return count
        with self._giving_up_on_error():
            for level in (self._folder.parent, self._folder):
                _check_private(level)
            with os.scandir(self._folder) as entries:
                for number, entry in enumerate(entries):
                    path = Path(entry.path)
                    if number >= _MOST_FILES:
                        break
                    if path.suffix == _SUFFIX and path != self._path:
                        count += _is_locked(path)
        return count

    def close(self) -> None:
        """Take back everything; harmless when repeated."""
        self._holds = False
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()
            self._path = None

    def _still_there(self) -> bool:
        """Whether our file is open, and not taken away by somebody who thought us dead."""
        return self._descriptor >= 0 and os.fstat(self._descriptor).st_nlink > 0

    def _open(self, folder: Path) -> None:
        self.close()
        for level in (folder.parent, folder):
            level.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            _check_private(level)
        path = folder / f"{os.getpid()}-{secrets.token_hex(8)}{_SUFFIX}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        self._descriptor = os.open(path, flags, 0o600)  # not inherited by children (PEP 446)
        self._path = path

    @contextlib.contextmanager
    def _giving_up_on_error(self) -> Generator[None]:
        """Sharing is a courtesy: no engine fails because it is not possible."""
        try:
            yield
        except OSError as error:
            _log.warning("engine.threads_not_shared", what=os.strerror(error.errno or 0))
            self.close()
            self._folder = None


def _check_private(folder: Path) -> None:
    """Raises `OSError` where a folder is not this user's alone."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & _OTHERS:
        raise PermissionError(1, os.strerror(1))


def _is_locked(path: Path) -> bool:
    """Whether an engine computes; the file of one that is gone is removed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    else:
        if not _runs(path.name.partition("-")[0]):
            path.unlink(missing_ok=True)
        return False
    finally:
        os.close(descriptor)


def _runs(pid: str) -> bool:
    if not (pid.isascii() and pid.isdecimal() and 0 < int(pid) < 1 << 31):
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
