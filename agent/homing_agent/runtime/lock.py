"""One program at a time on a data directory."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING, Self

from homing_core.errors import ConflictError, UsageError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from homing_agent.runtime.paths import ProgramPaths

_MOST_BYTES = 200


class DataDirLock:
    """An exclusive lock that the kernel lets go when the process ends, however it ends.

    The file stays behind and holds the last owner's name and process id; only the lock counts.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        """Use `acquire`."""
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def acquire(cls, paths: ProgramPaths) -> Self:
        """Take the lock of a data directory that `prepare_data_dir` has made.

        Raises:
            ConflictError: another program runs on it.
            UsageError: the file cannot be opened.
        """
        path = paths.lock_file
        try:
            # Not inherited by children (PEP 446), so an engine that outlives us holds nothing.
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            msg = f"{path} cannot be opened: {error.strerror or 'the system refused it'}"
            raise UsageError(msg, "Choose another folder with --data-dir.") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = _owner(descriptor)
            os.close(descriptor)
            msg = f"another {owner} on the data directory {paths.data_dir}"
            raise ConflictError(msg, "Stop it first, or choose another --data-dir.") from error
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()} {paths.program}\n".encode(), 0)
        except OSError as error:
            os.close(descriptor)
            msg = f"{path} cannot be written: {error.strerror or 'the system refused it'}"
            raise UsageError(msg, "Make room, or choose another folder with --data-dir.") from error
        return cls(path, descriptor)

    def release(self) -> None:
        """Let go; harmless if done."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        """Hold it for a block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go."""
        self.release()


def lock_owner(paths: ProgramPaths) -> int:
    """Process id of whoever took the lock last; 0 if that cannot be read."""
    try:
        with paths.lock_file.open("rb") as file:
            pid = file.read(_MOST_BYTES).partition(b" ")[0]
    except OSError:
        return 0
    return int(pid) if pid.isdigit() else 0


def _owner(descriptor: int) -> str:
    pid, _, program = os.pread(descriptor, _MOST_BYTES, 0).decode("utf-8", "replace").partition(" ")
    name = program.strip() if program.strip().replace("-", "").isalnum() else "program"
    return f"{name} runs (pid {pid})" if pid.isdecimal() else f"{name} runs"
