"""Text out of files, by a process that is ended and replaced when a file is too much for it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

import structlog
from homing_core.errors import InvalidDataError

from homing_agent.documents.limits import ReadLimits
from homing_agent.documents.messages import Extract, ReadTask, Status
from homing_agent.documents.worker_process import WorkerProcess

if TYPE_CHECKING:
    from homing_agent.documents.kinds import Kind

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

_GRACE_S: Final = 2.0
"""Seconds for handing over what was read."""


class Reader(Protocol):
    """Whatever reads files."""

    async def read(self, descriptor: int, kind: Kind, known: str = "") -> Extract:
        """What the open file holds; what is wrong with the file is part of the answer.

        Args:
            descriptor: of a regular file, open for reading, at its beginning; the caller closes it.
            kind: how it is read.
            known: SHA-256 (hex) of the content that needs no reading; empty for none.

        Raises:
            UnavailableError: nothing can be read at all now.
        """
        ...

    async def close(self) -> None:
        """End it; harmless when repeated."""
        ...


class Extractor:
    """A `Reader` over a child process, one file at a time. Belongs to one event loop.

    The process starts with the first file. A file that takes too long or ends the process has
    failed; the next one gets a new process.

    Args:
        limits: for each file.
    """

    def __init__(self, limits: ReadLimits | None = None) -> None:
        """Nothing runs yet."""
        self._limits = limits or ReadLimits()
        self._worker: WorkerProcess | None = None
        self._turn = asyncio.Lock()
        self._number = 0
        self.started = 0

    @property
    def pid(self) -> int:
        """Process number of the worker; 0 if none runs."""
        return self._worker.pid if self._worker else 0

    async def read(self, descriptor: int, kind: Kind, known: str = "") -> Extract:
        """See `Reader.read`."""
        async with self._turn:
            self._number += 1
            task = ReadTask(self._number, kind, known)
            while True:
                worker = await self._ready()
                was_new = worker.done == 0
                try:
                    return await self._read(worker, task, descriptor)
                except EOFError:
                    await self._end(worker)
                    if was_new:
                        _log.warning("documents.worker_ended", kind=kind.value)
                        return _failed(task, "it ended the program that reads documents")
                    # It may have been gone before this file: a new one says whose fault it was.

    async def close(self) -> None:
        """See `Reader.close`."""
        async with self._turn:
            if self._worker is not None:
                worker, self._worker = self._worker, None
                await worker.stop()

    async def _ready(self) -> WorkerProcess:
        if self._worker is not None and self._worker.done >= self._limits.files_a_worker:
            await self._leave(self._worker)
        if self._worker is None:
            self._worker = await WorkerProcess.start(self._limits)
            self.started += 1
        return self._worker

    async def _read(self, worker: WorkerProcess, task: ReadTask, descriptor: int) -> Extract:
        """One try; raises `EOFError` if the process is gone."""
        try:
            async with asyncio.timeout(self._limits.seconds + _GRACE_S):
                extract = await worker.read(task, descriptor)
        except TimeoutError:
            await self._end(worker)
            _log.warning("documents.file_took_too_long", kind=task.kind.value)
            return _failed(task, f"it took longer than {self._limits.seconds:.0f} s to read")
        except InvalidDataError as error:
            await self._end(worker)
            _log.warning("documents.malformed_answer", kind=task.kind.value, what=error.what)
            return _failed(task, "what was read of it made no sense")
        except asyncio.CancelledError:
            # Whoever asked is gone: what is being parsed must not go on.
            await self._end(worker)
            raise
        if extract.leaving:
            await self._leave(worker)
        return extract

    async def _end(self, worker: WorkerProcess) -> None:
        self._worker = None
        await worker.kill()

    async def _leave(self, worker: WorkerProcess) -> None:
        self._worker = None
        await worker.stop()


def _failed(task: ReadTask, problem: str) -> Extract:
    return Extract(task.number, Status.FAILED, problem)
