"""The door's process: `python -m homing_node.door FD`, started by the node in the door's folder.

`FD` is one end of a socket pair that the node keeps the other end of (see `control`). The process
leaves when the node does, and at nothing else: a service manager's signals go to all processes, and
calls that are still running shall end in peace.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import resource
import signal
import socket
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from homing_core.errors import InvalidDataError

from homing_node.door.control import BEAT_S, MAX_LINE, Drain, Ready, Report, Setup, decode, encode
from homing_node.door.events import Caps, Dismissed, Expelled, Proved
from homing_node.door.gate import Gate
from homing_node.door.tally import Tally

if TYPE_CHECKING:
    from types import TracebackType

EXIT_USAGE: Final = 2
EXIT_MALFORMED: Final = 65
"""The node sent what is no line of ours."""
REPORT_S: Final = 0.5
"""How long refusals are gathered before they are reported."""
_MOST_FILES: Final = 1 << 14
_OWN_FILES: Final = 32
_LEAST_OUTSIDE: Final = 64
_PR_SET_PDEATHSIG: Final = 1


def fitting(caps: Caps, files: int) -> Caps:
    """The same limits, or lower ones where the system allows too few open files."""
    left = files - _OWN_FILES - 2 * (caps.inside + caps.proven)
    return replace(caps, outside=max(min(caps.outside, left), _LEAST_OUTSIDE))


def _raise_file_limit() -> int:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return _MOST_FILES if soft == resource.RLIM_INFINITY else soft


async def serve(connection: socket.socket) -> int:
    """Work until the node hangs up; the exit status."""
    reader, writer = await asyncio.open_connection(sock=connection, limit=MAX_LINE)
    asyncio.get_running_loop().set_exception_handler(_say_unexpected)
    try:
        setup = decode(await reader.readline())
        if not isinstance(setup, Setup):
            return EXIT_MALFORMED
        caps = fitting(setup.caps, _raise_file_limit())
        tally = Tally()
        gate = Gate(
            replace(setup, caps=caps),
            tuple(socket.socket(fileno=number) for number in setup.listeners),
            tally.add,
        )
        gate.open()
        writer.write(encode(Ready()))
        reporting = asyncio.create_task(_report(tally, writer))
        obeying = asyncio.create_task(_obey(reader, gate))
        leaving = asyncio.create_task(gate.empty.wait())
        await asyncio.wait({obeying, leaving}, return_when=asyncio.FIRST_COMPLETED)
        reporting.cancel()
        if obeying.done():
            obeying.result()
        if tally:
            writer.write(encode(Report(tuple(tally.take()))))
            await writer.drain()
    except InvalidDataError:
        return EXIT_MALFORMED
    except OSError:
        return 0  # the node is gone
    return 0


async def _obey(reader: asyncio.StreamReader, gate: Gate) -> None:
    while line := await reader.readline():
        match decode(line):
            case Proved() | Expelled() | Dismissed() as event:
                gate.take(event)
            case Drain():
                gate.drain()
            case _:
                msg = "not for a door"
                raise InvalidDataError(msg)


async def _report(tally: Tally, writer: asyncio.StreamWriter) -> None:
    silent = 0.0
    while True:
        await asyncio.sleep(REPORT_S)
        silent += REPORT_S
        if tally or silent >= BEAT_S:
            silent = 0.0
            writer.write(encode(Report(tuple(tally.take()))))
            await writer.drain()


def _say(kind: type[BaseException], trace: TracebackType | None) -> None:
    """One line: what and where, never the text, which may hold anything."""
    where = "?"
    while trace is not None:
        where = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    sys.stderr.write(f"{kind.__name__} at {where}\n")


def _say_unexpected(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    if isinstance(error, BaseException):
        _say(type(error), error.__traceback__)


def _on_crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    del error
    _say(kind, trace)


def main() -> None:
    """Start from the command line."""
    if sys.platform == "linux":  # elsewhere the closed socket says it
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    sys.excepthook = _on_crash
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    try:
        connection = socket.socket(fileno=int(sys.argv[1]))
    except (IndexError, ValueError, OSError):
        sys.stderr.write("the front door is started by a node, with a socket's number\n")
        sys.exit(EXIT_USAGE)
    connection.setblocking(False)  # noqa: FBT003  # the method takes nothing else
    status = asyncio.run(serve(connection))
    sys.stderr.flush()
    os._exit(status)  # whoever is still connected is not waited for


if __name__ == "__main__":
    main()
