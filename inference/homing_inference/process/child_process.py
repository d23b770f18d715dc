"""An engine's process and the socket to it: starting, bytes in and out, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import sys
from collections import deque
from typing import TYPE_CHECKING, Final

import structlog
from homing_core.errors import UnavailableError
from homing_proto.frames import FrameReader, frame

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

_READ_BYTES: Final = 1 << 16
_WARNING: Final = re.compile(r'^\{.*"level": ?"(?:warning|error|critical)"')
"""A line of the child's own log, see `worker`, that somebody should see."""
_MAX_LINE: Final = 2000
_KEPT_LINES: Final = 3


async def spawn_worker(descriptor: int) -> Process:
    """Start the process that speaks on an inherited socket; raises `OSError`."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", "-m", "homing_inference.process.worker", str(descriptor)),
        pass_fds=(descriptor,),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        # Its own session: Ctrl-C in a terminal reaches the daemon, which ends the child.
        start_new_session=True,
    )


class ChildProcess:
    """A process that speaks in frames. Made by `spawn`; belongs to one event loop.

    Attributes:
        crashed: whether its end is worth a warning in the log.
    """

    def __init__(
        self, process: Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Begin to log what it prints; use `spawn` instead."""
        self._process = process
        self._reader = reader
        self._writer = writer
        self._logging = asyncio.create_task(self._log_output())
        self.crashed = False

    @classmethod
    async def spawn(cls) -> ChildProcess:
        """Start one.

        Raises:
            UnavailableError: the system does not let it start.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            ours.setblocking(False)  # noqa: FBT003  # the method takes nothing else
            reader, writer = await asyncio.open_connection(sock=ours)
            try:
                process = await spawn_worker(theirs.fileno())
            except BaseException as error:
                writer.close()
                if not isinstance(error, OSError):
                    raise
                msg = "the system does not let an engine's process start"
                raise UnavailableError(msg, "Close other programs and try again.") from error
        return cls(process, reader, writer)

    @property
    def pid(self) -> int:
        """Process number."""
        return self._process.pid

    def send(self, content: bytes) -> None:
        """Queue a frame; raises `InvalidDataError` if it is too long for one."""
        self._writer.write(frame(content))

    async def contents(self) -> AsyncIterator[tuple[bytes, ...]]:
        """What it says, as whole frames; empty where only a part of one came.

        Raises:
            InvalidDataError: what comes are not frames.
        """
        frames = FrameReader()
        with contextlib.suppress(OSError):  # it is gone
            while data := await self._reader.read(_READ_BYTES):
                yield tuple(frames.feed(data))

    def kill(self) -> None:
        """End it at once; harmless when it is gone."""
        # Not `Process.kill`: it looks first whether the process is gone, and so takes its exit
        # status away from the event loop, which waits for it in a thread.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)

    async def stop(self, patience_s: float) -> None:
        """Hang up, which tells it to leave, and wait until it is gone.

        Args:
            patience_s: seconds after which it is killed.
        """
        self._writer.close()
        try:
            async with asyncio.timeout(patience_s):
                await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()
        await asyncio.gather(self._logging, return_exceptions=True)
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def _log_output(self) -> None:
        """What the process and native code in it print goes to the log, never to a terminal."""
        output = self._process.stdout
        last: deque[str] = deque(maxlen=_KEPT_LINES)
        rest = b""
        while output is not None and (data := await output.read(_READ_BYTES)):
            *lines, rest = (rest + data).split(b"\n")
            rest = rest[-_MAX_LINE:]
            for line in lines:
                last.append(line[:_MAX_LINE].decode("utf-8", "replace"))
                entry = _log.warning if _WARNING.search(last[-1]) else _log.debug
                entry("engine.output", pid=self.pid, what=last[-1])
        status = await self._process.wait()
        entry = _log.warning if self.crashed else _log.debug
        entry("engine.ended", pid=self.pid, status=status, what=" | ".join(last))
