"""Files in the data folder: replaced whole or not at all, one writer at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from typing import TYPE_CHECKING

from homing_core.errors import HomingError, InternalError, InvalidDataError

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_MOST_BYTES = 16 << 20
_LOCK = ".lock"


def read_text(path: Path) -> str:
    """The file's text; empty if there is no file.

    Raises:
        InvalidDataError: it is not UTF-8 text or over 16 MiB.
        InternalError: the system refuses it.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise refused(path, error) from error
    if len(data) > _MOST_BYTES:
        msg = f"{path.name} is too large to read"
        raise InvalidDataError(msg, f"Move {path} away to start a new one.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{path.name} is not UTF-8 text, so it was left as it is"
        raise InvalidDataError(
            msg, f"Repair {path}, or move it away to start a new one."
        ) from error


def replace_text(path: Path, text: str) -> None:
    """Put `text` in the file's place in one step; whoever looks sees the old or the new one.

    A symbolic link stays one, and the file's mode stays; a new file is its user's alone.

    Raises:
        InternalError: the system refuses it; the old file is untouched.
    """
    target = path.resolve()
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.chmod(temporary, target.stat().st_mode & 0o777)  # noqa: PTH101  # a bare name here
        os.replace(temporary, target)  # noqa: PTH105  # as above
        temporary = ""
        _sync_folder(target.parent)
    except OSError as error:
        raise refused(path, error) from error
    finally:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108  # as above


def write_new(path: Path, text: str) -> bool:
    """Write a file that does not exist yet; False if it does, and then nothing is changed.

    Raises:
        InternalError: the system refuses it.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    except FileExistsError:
        return False
    except OSError as error:
        raise refused(path, error) from error
    try:
        replace_text(path, text)
    except HomingError:
        path.unlink(missing_ok=True)
        raise
    return True


@contextlib.contextmanager
def locked(folder: Path) -> Generator[None]:
    """Be the only writer in `folder`, which is made if need be, among threads and processes.

    Raises:
        InternalError: the system refuses it.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise refused(folder, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def refused(path: Path, error: OSError) -> InternalError:
    """The error for what the system refused."""
    msg = f"{path} cannot be used: {error.strerror or 'the system refused it'}"
    return InternalError(msg, "Check its owner and mode, and free space.")


def _sync_folder(folder: Path) -> None:
    # Some file systems (Android's shared storage) cannot do it; the rename itself has happened.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
