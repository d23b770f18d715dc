"""File steps that the store and the sources share: hashing, syncing, and speaking of OS errors."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from homing_core.errors import ConfigError, HomingError, OverloadedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from homing_inference.catalog.progress import Progress

_HASH_CHUNK = 32 << 20

T = TypeVar("T")
P = ParamSpec("P")


async def in_thread(step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a blocking step in a thread; if cancelled, end only when the step has ended.

    A step that outlived its caller would write to a file that another holder of the lock has.
    """
    task = asyncio.ensure_future(asyncio.to_thread(step, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


async def sha256_file(path: Path, progress: Progress, label: str) -> str:
    """SHA-256 of a file in lower-case hex; the event loop stays free meanwhile.

    Raises:
        OSError: it cannot be read.
    """
    digest = hashlib.sha256()
    done = 0
    with path.open("rb", buffering=0) as stream:
        total = os.fstat(stream.fileno()).st_size
        buffer = bytearray(min(_HASH_CHUNK, max(total, 1)))
        view = memoryview(buffer)

        def step() -> int:
            count = stream.readinto(buffer)
            digest.update(view[:count])
            return count

        while count := await in_thread(step):
            done += count
            progress(done, total, label)
    return digest.hexdigest()


def sync_file(path: Path) -> None:
    """Have the file's bytes on the disk before anything refers to them."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a small file so that a reader sees the old or the new content, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with temporary.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def replace_durably(source: Path, target: Path) -> None:
    """Rename over `target`, and have the rename itself on the disk."""
    source.replace(target)
    sync_file(target.parent)


@contextmanager
def os_errors(folder: Path) -> Generator[None]:
    """Turn what the operating system says about the models folder into words for a person.

    Raises:
        OverloadedError: the disk or a quota is full.
        ConfigError: the folder cannot be written to.
        UnavailableError: anything else.
    """
    try:
        yield
    except HomingError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            msg = f"The disk of {folder} is full"
            raise OverloadedError(
                msg, "Free some space and try again; it continues where it stopped."
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
            msg = f"The models folder {folder} cannot be used: {os.strerror(error.errno)}"
            raise ConfigError(
                msg, "Give another one, for example with HOMING_MODELS_DIR."
            ) from error
        said = os.strerror(error.errno) if error.errno else "input/output error"
        msg = f"The models folder {folder} does not work: {said}"
        raise UnavailableError(msg, "Check the disk and try again.") from error
