"""Opens a sealed result as its pieces arrive, and gives nothing out before all of it is believed.

Files are written under hidden names and renamed when the last chunk and the hash have verified. A
file's name comes from a node, so it is a plain name or the whole result is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.errors import HomingError, IntegrityError, TooLongError, UnavailableError

from homing_crypto.chunks import SEALED_CHUNK_BYTES, ChunkOpener
from homing_crypto.result_archive import Unpacker
from homing_crypto.results import LENGTH_BYTES, MAX_LETTER_BYTES, open_result_letter

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from homing_core.ids import JobId
    from homing_core.jobs import JobResult

    from homing_crypto.certificates import CheckedCertificate
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.results import ResultLetter

MAX_RESULT_BYTES: Final = 16 << 30
"""What is accepted unless its reader says otherwise."""


@dataclass(frozen=True, slots=True)
class OpenedResult:
    """A result that was opened and believed.

    Attributes:
        result: what came of the job.
        paths: its files, in the order of `result.files`.
        sealed_bytes: length of what was fed.
        sha256: of what was fed, hex: how its node is told that it has arrived.
    """

    result: JobResult
    paths: tuple[Path, ...]
    sealed_bytes: int
    sha256: str


class ResultOpener:
    """Opens one result: `feed` its pieces in order, then `finish`. Not for several threads.

    It holds at most one chunk and the manifest. After an error, and when left as a context manager
    before it has finished, nothing of it is on disk.

    Args:
        recipient: this device.
        sender: certificate of the daemon that sealed it.
        job_id: the job.
        now: wall time here, seconds since the epoch.
        folder: of this job's files alone; must exist. Files of their names there are replaced.
        most_bytes: refuse an archive that is longer.
    """

    def __init__(  # noqa: PLR0913  # what it is compared with, and where it goes
        self,
        recipient: DeviceIdentity,
        sender: CheckedCertificate,
        job_id: JobId,
        now: float,
        folder: Path,
        *,
        most_bytes: int = MAX_RESULT_BYTES,
    ) -> None:
        """Nothing was fed."""
        self._recipient, self._sender = recipient, sender
        self._job_id, self._now, self._most = job_id, now, most_bytes
        self._waiting = bytearray()
        self._fed, self._whole = 0, hashlib.sha256()
        self._letter: ResultLetter | None = None
        self._chunks: ChunkOpener | None = None
        self._sealed, self._sealed_left = hashlib.sha256(), 0
        self._archive = Unpacker(folder, job_id)
        self._over: HomingError | None = None

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove what was not finished."""
        self.abort()

    def feed(self, data: bytes) -> None:
        """Take the next bytes, however many.

        Raises:
            InvalidDataError: that is no sealed result, or its manifest lies.
            IntegrityError: something was altered, left out, moved or appended, or the result is of
                another job, daemon or device.
            RefusedError: its letter has expired.
            TooLongError: it is longer than `most_bytes`.
            UnavailableError: a file cannot be written.
        """
        with self._clearing():
            self._fed += len(data)
            self._whole.update(data)
            self._waiting += data
            if self._letter is None:
                self._read_letter()
            if self._letter is not None:
                self._read_chunks(self._letter)

    def finish(self) -> OpenedResult:
        """The result, once all was fed; its files have their names now, durably.

        Raises:
            IntegrityError: something is missing, or the hash is another.
            UnavailableError: a file cannot be written.
        """
        with self._clearing():
            letter = self._letter
            if letter is None or self._sealed_left or self._archive.result is None:
                msg = "the end of the result is missing"
                raise IntegrityError(msg, "Fetch the rest.")
            if self._sealed.digest() != letter.sha256:
                msg = "the result is not the one that its letter names"
                raise IntegrityError(msg, "Fetch it again.")
            paths = self._archive.publish()
            self._over = _is_over()
            return OpenedResult(self._archive.result, paths, self._fed, self._whole.hexdigest())

    def abort(self) -> None:
        """Remove what was not finished; harmless repeated."""
        self._over = self._over or _is_over()
        self._archive.discard()
        self._waiting.clear()

    @contextlib.contextmanager
    def _clearing(self) -> Generator[None]:
        if self._over is not None:
            raise self._over
        try:
            yield
        except OSError as error:
            self.abort()
            msg = f"the result's files cannot be written: {error.strerror or 'input/output error'}"
            raise UnavailableError(msg, "Check the disk's free space and health.") from error
        except BaseException as error:
            self._over = error if isinstance(error, HomingError) else None
            self.abort()
            raise

    def _read_letter(self) -> None:
        if len(self._waiting) < LENGTH_BYTES:
            return
        size = int.from_bytes(self._waiting[:LENGTH_BYTES])
        if size > MAX_LETTER_BYTES:
            msg = "that is no sealed result"
            raise IntegrityError(msg, "Fetch it again.")
        if len(self._waiting) < LENGTH_BYTES + size:
            return
        blob = bytes(self._waiting[LENGTH_BYTES : LENGTH_BYTES + size])
        letter = open_result_letter(self._recipient, self._sender, self._job_id, blob, self._now)
        if letter.plain_bytes > self._most:
            msg = f"the result has {letter.plain_bytes} bytes, and {self._most} are accepted"
            raise TooLongError(msg, "Fetch it on a device with more room.")
        del self._waiting[: LENGTH_BYTES + size]
        self._letter, self._chunks = letter, ChunkOpener(letter.key)
        self._sealed_left = letter.sealed_bytes
        self._archive.expect(letter.plain_bytes)

    def _read_chunks(self, letter: ResultLetter) -> None:
        chunks = self._chunks or ChunkOpener(letter.key)
        at = 0
        with memoryview(self._waiting).toreadonly() as view:
            while self._sealed_left:
                size = min(SEALED_CHUNK_BYTES, self._sealed_left)
                if len(view) - at < size:
                    break
                sealed = bytes(view[at : at + size])
                at += size
                self._sealed_left -= size
                self._sealed.update(sealed)
                self._archive.take(chunks.open(sealed, last=not self._sealed_left))
        del self._waiting[:at]
        if self._waiting and not self._sealed_left:
            msg = "something follows behind the end of the result"
            raise IntegrityError(msg, "Fetch it again.")


def _is_over() -> IntegrityError:
    return IntegrityError("this result was opened already, or given up", "Start anew.")
