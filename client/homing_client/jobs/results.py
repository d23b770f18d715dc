"""Where results lie on this phone: sealed ones as they come in, and the files of opened ones.

DATA_DIR/results/job-….part   sealed bytes that have arrived so far
DATA_DIR/results/job-….new/   a result that is being opened
DATA_DIR/results/job-…/       the files of a result
"""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import TYPE_CHECKING, Final, TypeVar

from homing_core.errors import ConflictError, IntegrityError, NotFoundError, UnavailableError
from homing_core.ids import parse_job_id

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from pathlib import Path

    from homing_core.ids import JobId
    from homing_core.jobs import JobResult

    from homing_client.jobs.node import SealedPiece

V = TypeVar("V")

RESULTS_FOLDER: Final = "results"
_COPY_BYTES: Final = 1 << 20


class ResultFolder:
    """Results on disk, readable by their user alone. Methods are synchronous.

    Every method raises `UnavailableError` where the disk does not let it.

    Args:
        folder: usually `RESULTS_FOLDER` in the data directory; made when it is needed.
    """

    def __init__(self, folder: Path) -> None:
        """Touch nothing yet."""
        self._folder = folder

    def part(self, job: JobId) -> Path:
        """Where its sealed bytes come in."""
        return self._folder / f"{parse_job_id(job)}.part"

    def files(self, job: JobId) -> Path:
        """Where its files are."""
        return self._folder / parse_job_id(job)

    def arrived(self, job: JobId) -> int:
        """How many of its sealed bytes have arrived."""
        with _disk():
            try:
                return self.part(job).stat().st_size
            except FileNotFoundError:
                return 0

    def add(self, job: JobId, piece: SealedPiece) -> None:
        """Add a piece behind what has arrived.

        Raises:
            IntegrityError: it does not go on there, or goes on behind the end.
        """
        if piece.offset != self.arrived(job) or piece.offset + len(piece.data) > piece.total:
            msg = "the node sent a piece of the result that does not fit"
            raise IntegrityError(msg, "It is fetched again.")
        with _disk():
            self._folder.mkdir(mode=0o700, exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
            with os.fdopen(os.open(self.part(job), flags, 0o600), "ab") as file:
                file.write(piece.data)

    def drop_part(self, job: JobId) -> None:
        """Forget what has arrived; harmless twice."""
        with _disk():
            self.part(job).unlink(missing_ok=True)

    def open(self, job: JobId, opener: Callable[[Path, Path], V]) -> V:
        """Open what has arrived; its files are in place when this returns.

        Args:
            job: the job.
            opener: gets the sealed file and an empty folder for the files.
        """
        fresh = self._folder / f"{parse_job_id(job)}.new"
        with _disk():
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(mode=0o700)
        try:
            opened = opener(self.part(job), fresh)
            with _disk():
                _sync(fresh)
                shutil.rmtree(self.files(job), ignore_errors=True)
                if any(fresh.iterdir()):
                    fresh.rename(self.files(job))
                _sync(self._folder)
            return opened
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def save(
        self, job: JobId, result: JobResult, folder: Path, *, replace: bool
    ) -> tuple[Path, ...]:
        """Copy a result's files into a folder that the person chose.

        Raises:
            ConflictError: a file is there already, and `replace` is not set; nothing was copied.
            NotFoundError: the files are not here any more.
        """
        targets = [folder / file.name for file in result.files]
        for target in targets:
            if not replace and os.path.lexists(target):
                msg = f"{target.name} is there already"
                raise ConflictError(msg, "Choose another folder, or replace it with: --replace")
        with _disk():
            folder.mkdir(parents=True, exist_ok=True)
            for target in targets:
                source = self.files(job) / target.name
                if not source.is_file():
                    msg = f"{target.name} is not on this phone any more"
                    raise NotFoundError(msg, "Its job has to be run again.")
                _copy(source, target)
        return tuple(targets)

    def forget(self, job: JobId) -> None:
        """Remove everything of a job; harmless twice."""
        self.drop_part(job)
        shutil.rmtree(self.files(job), ignore_errors=True)

    def tidy(self, known: Iterable[JobId]) -> None:
        """Remove what belongs to no job, such as what a kill left half done."""
        kept = {self.part(job).name for job in known} | {self.files(job).name for job in known}
        with _disk(), contextlib.suppress(FileNotFoundError):
            for path in list(self._folder.iterdir()):
                if path.name in kept:
                    continue
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    """Copy in one step: the target is the whole file or what it was before."""
    fresh = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with source.open("rb") as read, fresh.open("xb") as write:
            shutil.copyfileobj(read, write, _COPY_BYTES)
            write.flush()
            os.fsync(write.fileno())
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _disk() -> Generator[None]:
    try:
        yield
    except OSError as error:
        msg = f"the disk does not let this phone keep a result: {error.strerror}"
        raise UnavailableError(msg, "Check its free space and the folder's mode.") from error
