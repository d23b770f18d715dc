"""The node's side of its front door: keeps the process, and tells it who proved itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from homing_agent.runtime.logs import get_logger
from homing_core.errors import InvalidDataError, UnavailableError
from homing_inference.process.watchdog import Watchdog

from homing_node.door.control import (
    MAX_LINE,
    Drain,
    Ready,
    Report,
    Setup,
    ToDoor,
    decode,
    encode,
)
from homing_node.door.events import Caps, Dismissed, Expelled, Proved
from homing_node.door.names import SOCKET, visitor
from homing_node.door.process import kill, log_output, spawn

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from homing_crypto.guard import Caller

    from homing_node.door.floor import Reason

    OnRefused = Callable[[str, Reason, int], None]

START_S: Final = 20.0
SILENCE_S: Final = 15.0
"""Seconds without a report after which the process counts as hung, and is replaced."""
BACKOFF_S: Final = (0.0, 0.2, 1.0, 5.0)
"""Seconds before it is started again; the last one repeats. A calm minute begins anew."""
_CALM_S: Final = 60.0
_MOST_TOLD: Final = 4096
_LIFE: Final = 1 << 32
"""Numbers of connections for each life of the process."""

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class DoorSettings:
    """What a door is told.

    Attributes:
        caps: its limits.
        hybrid: whether it wants the post-quantum key exchange.
    """

    caps: Caps
    hybrid: bool


class FrontDoor:
    """One node's door. Belongs to one event loop.

    Args:
        folder: see `prepare_folder`; gRPC listens on `upstream`.
        listeners: listening sockets. They stay open here, so that the port survives the process.
        settings: limits and floor.
        on_refused: told of connections that were of no use: address, why, how often.
    """

    def __init__(
        self,
        folder: Path,
        listeners: Sequence[socket.socket],
        settings: DoorSettings,
        on_refused: OnRefused,
    ) -> None:
        """Nothing runs yet."""
        self._folder = folder
        self._listeners = tuple(listeners)
        self._settings = settings
        self._on_refused = on_refused
        self._lives = 0
        self._told: OrderedDict[int, None] = OrderedDict()
        self._process: Process | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._ready = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None
        self._closing = False

    @property
    def upstream(self) -> str:
        """GRPC's own address, for `add_secure_port`."""
        return f"unix:{quote(os.fsencode(self._folder / SOCKET))}"

    @property
    def pid(self) -> int:
        """Number of the process; 0 while none runs."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else 0

    async def start(self) -> None:
        """Open it.

        Raises:
            UnavailableError: the system does not let its process run.
        """
        self._keeping = asyncio.create_task(self._keep())
        try:
            async with asyncio.timeout(START_S):
                await self._ready.wait()
        except TimeoutError:
            await self.close(0)
            msg = "the node's front door does not start"
            raise UnavailableError(msg, "The log says more; [door] enabled = false.") from None

    def allowed(self, peer: str, caller: Caller) -> None:
        """A call was let in: the connection has proved itself. Quick; for `RpcGuard`.

        Args:
            peer: `ServicerContext.peer()`.
            caller: whose call it is.
        """
        known = visitor(peer)
        if known is None or known.number in self._told:
            return
        self._told[known.number] = None
        if len(self._told) > _MOST_TOLD:
            self._told.popitem(last=False)
        self._say(Proved(known.number, caller.account))

    def expel(self, account: str) -> None:
        """End every connection of a device that was shut out."""
        self._say(Expelled(account))

    def dismiss(self, peer: str) -> None:
        """End the one connection that a call came on.

        Args:
            peer: `ServicerContext.peer()`.
        """
        known = visitor(peer)
        if known is not None:
            self._say(Dismissed(known.number))

    async def close(self, grace_s: float) -> None:
        """Accept no more, let connections end, then end them. Harmless when repeated.

        Args:
            grace_s: seconds until those that are left are cut.
        """
        self._closing = True
        self._say(Drain())
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    await self._process.wait()
        keeping, self._keeping = self._keeping, None
        if keeping is not None:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
        for listener in self._listeners:
            listener.close()

    def _say(self, message: ToDoor) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(encode(message))

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        deaths = 0
        while not self._closing:
            started = loop.time()
            try:
                status = await self._live()
            except OSError as error:
                status = error.errno or -1
            if self._closing:
                return
            deaths = 1 if loop.time() - started > _CALM_S else deaths + 1
            _log.error("door.died", status=status, count=deaths)
            await asyncio.sleep(BACKOFF_S[min(deaths, len(BACKOFF_S)) - 1])

    async def _live(self) -> int:
        """One life of the process, to its end; its exit status."""
        ours, theirs = socket.socketpair()
        with theirs:
            ours.setblocking(False)  # noqa: FBT003  # the method takes nothing else
            reader, writer = await asyncio.open_connection(sock=ours, limit=MAX_LINE)
            try:
                process = await spawn(theirs.fileno(), self._folder, self._listeners)
            except BaseException:
                writer.close()
                raise
        self._process, self._writer = process, writer
        self._told.clear()
        self._lives += 1
        said = asyncio.create_task(log_output(process))
        watchdog = Watchdog(SILENCE_S, lambda: True, lambda: kill(process))
        try:
            listeners = tuple(listener.fileno() for listener in self._listeners)
            first = self._lives * _LIFE
            writer.write(
                encode(Setup(listeners, first, self._settings.hybrid, self._settings.caps))
            )
            watchdog.heard()
            watchdog.asked()
            await self._listen(reader, watchdog)
        finally:
            self._ready.clear()
            watchdog.stop()
            self._writer = None
            writer.close()
            kill(process)
            status = await process.wait()
            await asyncio.gather(said, return_exceptions=True)
        return status

    async def _listen(self, reader: asyncio.StreamReader, watchdog: Watchdog) -> None:
        try:
            while line := await reader.readline():
                watchdog.heard()
                match decode(line):
                    case Ready():
                        _log.info("door.open", pid=self.pid)
                        self._ready.set()
                    case Report(refused):
                        for address, reason, count in refused:
                            self._on_refused(address, reason, count)
                    case _:
                        return
        except (InvalidDataError, ValueError):
            _log.error("door.malformed_report")
        except OSError:
            pass  # it is gone
