"""One life of the reader of documents: its process, and the socket to it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from homing_core.errors import InvalidDataError, UnavailableError
from homing_proto.frames import FrameReader, frame

from homing_agent.documents.messages import decode_extract, encode_task

if TYPE_CHECKING:
    from asyncio.subprocess import Process

    from homing_agent.documents.limits import ReadLimits
    from homing_agent.documents.messages import Extract, ReadTask

_READ_BYTES: Final = 1 << 18
_STOP_SECONDS: Final = 2.0
_KEPT_ENVIRONMENT: Final = (
    "PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "VIRTUAL_ENV",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "SYSTEMROOT",
)
"""The rest of the daemon's environment is none of a document's business."""


class WorkerProcess:
    """A running worker. Made by `start`; belongs to one event loop; one task at a time."""

    def __init__(self, process: Process, connection: socket.socket) -> None:
        """Use `start`."""
        self._process = process
        self._connection = connection
        self._frames = FrameReader()
        self.done = 0

    @classmethod
    async def start(cls, limits: ReadLimits) -> WorkerProcess:
        """Start one.

        Raises:
            UnavailableError: the system does not let it start.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            ours.setblocking(False)  # noqa: FBT003  # the method takes nothing else
            try:
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    *("-P", "-B", "-m", "homing_agent.documents.worker"),
                    *(str(theirs.fileno()), json.dumps(asdict(limits))),
                    pass_fds=(theirs.fileno(),),
                    stdin=asyncio.subprocess.DEVNULL,
                    # What libraries print quotes documents.
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.DEVNULL,
                    env=_environment(),
                    start_new_session=True,
                )
            except BaseException as error:
                ours.close()
                if not isinstance(error, OSError):
                    raise
                msg = "the system does not let the reader of documents start"
                raise UnavailableError(msg, "Close other programs and try again.") from error
        return cls(process, ours)

    @property
    def pid(self) -> int:
        """Process number."""
        return self._process.pid

    async def read(self, task: ReadTask, descriptor: int) -> Extract:
        """Have a file read; the descriptor stays the caller's.

        Raises:
            EOFError: the process is gone.
            InvalidDataError: what it says is no answer to this task.
        """
        loop = asyncio.get_running_loop()
        try:
            # A task is far smaller than the socket's buffer, which is empty between tasks.
            socket.send_fds(self._connection, [frame(encode_task(task))], [descriptor])
            while data := await loop.sock_recv(self._connection, _READ_BYTES):
                contents = self._frames.feed(data)
                if contents:
                    # Much text takes a while to read; other requests go on meanwhile.
                    extract = await asyncio.to_thread(decode_extract, contents[0])
                    return self._checked(extract, task, len(contents))
        except OSError as error:
            raise EOFError from error
        raise EOFError

    def _checked(self, extract: Extract, task: ReadTask, answers: int) -> Extract:
        if extract.number != task.number or answers != 1 or self._frames.mid_frame:
            msg = "the reader of documents answered something else than it was asked"
            raise InvalidDataError(msg)
        self.done += 1
        return extract

    async def stop(self) -> None:
        """Hang up and wait until it is gone; it is killed if it does not leave."""
        self._connection.close()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await self._process.wait()
        except TimeoutError:
            await self.kill()

    async def kill(self) -> None:
        """End it at once, and wait until it is gone; harmless when repeated."""
        self._connection.close()
        # Not `Process.kill`: it would take the exit status away from the event loop.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
        await asyncio.shield(self._process.wait())


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
    return {**kept, "LC_ALL": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"}
