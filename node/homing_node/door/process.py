"""The door's process as the system sees it: its folder, how it starts, what it says, its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Final

from homing_agent.runtime.logs import get_logger
from homing_agent.runtime.paths import choose_socket_path, make_private

if TYPE_CHECKING:
    import socket
    from asyncio.subprocess import Process
    from collections.abc import Sequence
    from pathlib import Path

    from homing_agent.runtime.paths import ProgramPaths

FOLDER: Final = "d"
"""Below the control socket's folder, so that `d/tls` has a short path wherever that has one."""

_log = get_logger(__name__)


def prepare_folder(paths: ProgramPaths) -> Path:
    """The private folder in which door and gRPC meet, emptied of what a killed node left.

    Call it while holding the data directory's lock.

    Raises:
        UsageError: there is no private folder with a short enough path.
    """
    folder = choose_socket_path(paths).parent / FOLDER
    make_private(folder)
    for old in folder.iterdir():
        if old.is_socket():
            old.unlink(missing_ok=True)
    return folder


async def spawn(descriptor: int, folder: Path, listeners: Sequence[socket.socket]) -> Process:
    """Start it with one end of its socket pair and the listening sockets; raises `OSError`."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", "-m", "homing_node.door", str(descriptor)),
        pass_fds=(descriptor, *(listener.fileno() for listener in listeners)),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        # Its own session: Ctrl-C in a terminal reaches the node, which ends it.
        start_new_session=True,
    )


async def log_output(process: Process) -> None:
    """What it writes to standard error goes to the log."""
    if process.stderr is not None:
        with contextlib.suppress(ValueError):  # a line beyond all limits
            async for line in process.stderr:
                _log.warning("door.output", what=line.decode("utf-8", "replace").strip())


def kill(process: Process) -> None:
    """End it at once; harmless when it is gone."""
    # Not `Process.kill`: see homing_inference.process.child_process.
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
