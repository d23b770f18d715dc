"""A child process with a group of its own: started without a shell, and really stopped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.errors import UnavailableError
from homing_core.labels import clean_label

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_POLL_SECONDS: Final = 0.01
_REAP_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Launch:
    """How a server is started and stopped.

    Attributes:
        command: a program, found on the server's PATH unless it is a path.
        args: its arguments.
        environment: all of it.
        folder: its working directory.
        stop_seconds: how long it may take to leave when its input ends, and again when it is
            told to.
    """

    command: str
    args: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    stop_seconds: float


async def start_child(launch: Launch) -> asyncio.subprocess.Process:
    """Start it, with pipes for its three streams. Raises `UnavailableError`."""
    path = shutil.which(launch.command, path=launch.environment.get("PATH", os.defpath))
    if path is None:
        msg = f"there is no program {clean_label(launch.command)}"
        raise UnavailableError(msg, "Install it, or correct command in the list of MCP servers.")
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            path,
            *launch.args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=launch.environment,
            cwd=launch.folder,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its arguments are malformed"
        msg = f"{clean_label(launch.command)} cannot be started: {reason}"
        raise UnavailableError(msg, "Run it by hand to see why.") from error
    except asyncio.CancelledError:
        await asyncio.wait({starting})
        if not starting.cancelled() and starting.exception() is None:
            await stop_child(starting.result(), 0)
        raise


def end_of(status: int | None) -> str:
    """How a child ended by itself, for a person; None if it had not."""
    if status is None:
        return "it closed its output"
    if status < 0:
        return f"it was ended by signal {-status}"
    return f"it ended with status {status}"


async def stop_child(process: asyncio.subprocess.Process, grace: float) -> int | None:
    """End its input, then tell it, then kill it, and all that it started with it.

    The order is the specification's (2025-11-25, basic/lifecycle, shutdown).

    Returns:
        Its status if it ended by itself; None if it had to be told.
    """
    if process.stdin is not None:
        process.stdin.close()
    gone = await _gone(process, grace)
    status = process.returncode
    if not gone:
        _signal(process.pid, signal.SIGTERM)
        await _gone(process, grace)
    _signal(process.pid, signal.SIGKILL)
    await _gone(process, max(grace, _REAP_SECONDS))
    # A descendant that left the group may hold a pipe open; nobody listens any more.
    inner = getattr(process, "_transport", None)
    if isinstance(inner, asyncio.SubprocessTransport):
        with contextlib.suppress(OSError):
            inner.close()
    return status


async def _gone(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """Whether the whole group ended in time."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while loop.time() < until:
        if process.returncode is not None and not _signal(process.pid, 0):
            return True
        await asyncio.sleep(_POLL_SECONDS)
    return False


def _signal(group: int, number: int) -> bool:
    """Whether anybody of the group was there to get it."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
