"""A child process's end of the socket to its daemon."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING, Final, NoReturn

from homing_proto.codec.engine import decode_engine_command, encode_engine_report
from homing_proto.frames import FrameReader, frame

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from homing_proto.codec.engine import EngineCommand, EngineReport

_READ_BYTES: Final = 1 << 16


class Pipe:
    """The socket to the daemon. Sending is safe from any thread."""

    def __init__(self, connection: socket.socket) -> None:
        """Take over `connection`."""
        self._connection = connection
        self._sending = threading.Lock()

    def send(self, report: EngineReport) -> None:
        """Send a report; if nobody is there to read it, whoever reads the commands notices too.

        Raises:
            InvalidDataError: it has no form on the wire; nothing was sent.
        """
        content = frame(encode_engine_report(report))
        with contextlib.suppress(OSError), self._sending:
            self._connection.sendall(content)

    def commands(self) -> Iterator[EngineCommand]:
        """The commands, until the socket closes.

        Raises:
            InvalidDataError: what came is not a command.
        """
        reader = FrameReader()
        while True:
            try:
                data = self._connection.recv(_READ_BYTES)
            except OSError:
                return
            if not data:
                return
            for content in reader.feed(data):
                yield decode_engine_command(content)


def leave(status: int) -> NoReturn:
    """End the process at once, whatever native code is doing in another thread."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
