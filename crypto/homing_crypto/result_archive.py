"""A result's archive as it is taken apart on disk: hidden files first, names at the very end."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from homing_core.errors import IntegrityError

from homing_crypto.result_form import MAX_MANIFEST_BYTES, decode_result
from homing_crypto.results import LENGTH_BYTES

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    from homing_core.ids import JobId
    from homing_core.jobs import JobResult


class Unpacker:
    """Takes the archive's bytes apart: manifest, then one file after the other.

    Args:
        folder: where the files go.
        job_id: whose result it is to be.

    Attributes:
        result: the manifest, once it is whole.
    """

    def __init__(self, folder: Path, job_id: JobId) -> None:
        """Nothing has come."""
        self._folder, self._job_id = folder, job_id
        self._total = 0
        self._head = bytearray()
        self._parts: list[Path] = []
        self._open: BinaryIO | None = None
        self._left = 0
        self.result: JobResult | None = None

    def expect(self, total: int) -> None:
        """How long the archive is."""
        self._total = total

    def take(self, plain: bytes) -> None:
        """The next bytes of the archive; they are authentic."""
        if self.result is not None:
            self._write(plain)
            return
        self._head += plain
        if len(self._head) < LENGTH_BYTES:
            return
        size = int.from_bytes(self._head[:LENGTH_BYTES])
        if size > MAX_MANIFEST_BYTES or LENGTH_BYTES + size > self._total:
            raise _lies()
        if len(self._head) < LENGTH_BYTES + size:
            return
        result = decode_result(bytes(self._head[LENGTH_BYTES : LENGTH_BYTES + size]))
        if result.job_id != self._job_id:
            msg = "this is the result of another job"
            raise IntegrityError(msg, "Fetch it again.")
        if LENGTH_BYTES + size + sum(file.size_bytes for file in result.files) != self._total:
            raise _lies()
        rest = bytes(self._head[LENGTH_BYTES + size :])
        self._head.clear()
        self.result = result
        self._next_file()
        self._write(rest)

    def publish(self) -> tuple[Path, ...]:
        """Give the files their names."""
        files = () if self.result is None else self.result.files
        paths = tuple(self._folder / file.name for file in files)
        done: list[Path] = []
        try:
            for part, path in zip(self._parts, paths, strict=True):
                part.replace(path)
                done.append(path)
            if paths:
                _sync(self._folder)
        except OSError:
            for path in done:
                path.unlink(missing_ok=True)
            raise
        self._parts.clear()
        return paths

    def discard(self) -> None:
        """Remove what was not published."""
        if self._open is not None:
            with contextlib.suppress(OSError):
                self._open.close()
            self._open = None
        for part in self._parts:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
        self._parts.clear()

    def _write(self, plain: bytes) -> None:
        at = 0
        while at < len(plain):
            if self._open is None:  # the sizes were compared, so a file is open while bytes come
                raise _lies()
            piece = plain[at : at + self._left]
            self._open.write(piece)
            at += len(piece)
            self._left -= len(piece)
            self._next_file()

    def _next_file(self) -> None:
        files = () if self.result is None else self.result.files
        while not self._left:
            if self._open is not None:
                self._open.flush()
                os.fsync(self._open.fileno())
                self._open.close()
                self._open = None
            if len(self._parts) == len(files):
                return
            # Hidden, so that no file of the result has this name (`plain_name`).
            part = self._folder / f".{len(self._parts):04}.part"
            part.unlink(missing_ok=True)  # of an attempt that was killed
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            self._left = files[len(self._parts)].size_bytes
            self._parts.append(part)
            self._open = os.fdopen(handle, "wb")


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _lies() -> IntegrityError:
    msg = "the result's manifest does not fit what follows"
    return IntegrityError(msg, "Nothing of it was kept; its node may be at fault.")
