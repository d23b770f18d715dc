"""Running a command of the system: no shell, a time limit, and nothing left running."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from typing import TYPE_CHECKING

from homing_core.errors import UnavailableError

from homing_agent.tool import UnknownOutcomeError

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_BYTES = 1 << 20


async def run_command(
    name: str, arguments: Sequence[str] = (), *, stdin: str = "", timeout_s: float
) -> str:
    """Run a command found on PATH and give what it printed.

    The caller makes sure that no argument can be taken for an option.

    Args:
        name: of the command.
        arguments: passed as they are.
        stdin: text for its input.
        timeout_s: kill it, and what it started, after this many seconds.

    Raises:
        UnavailableError: it is not there, or failed.
        UnknownOutcomeError: it took too long.
    """
    path = shutil.which(name)
    if path is None or any("\0" in argument for argument in arguments):
        msg = f"{name} cannot be run"
        raise UnavailableError(msg, "Install the termux-api package and the Termux:API app.")
    process = await _start(name, path, arguments)
    try:
        async with asyncio.timeout(timeout_s):
            output, _ = await process.communicate(stdin.encode("utf-8", "replace"))
    except TimeoutError as error:
        msg = f"{name} did not answer within {timeout_s:g} s"
        raise UnknownOutcomeError(msg, "Open the Termux:API app once and allow it.") from error
    finally:
        await _end(process)
    if process.returncode != 0:
        msg = f"{name} failed with status {process.returncode}"
        raise UnavailableError(msg, "Run it by hand to see why.")
    return output[:_MOST_BYTES].decode("utf-8", "replace")


async def _start(name: str, path: str, arguments: Sequence[str]) -> asyncio.subprocess.Process:
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            path,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except OSError as error:
        msg = f"{name} cannot be run: {error.strerror or 'the system refused it'}"
        raise UnavailableError(msg, "Check that it is installed and executable.") from error
    except asyncio.CancelledError:
        # Left to itself, asyncio would kill the command alone and wait for what it started.
        await asyncio.wait({starting})
        if not starting.cancelled() and starting.exception() is None:
            await _end(starting.result())
        raise


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill the command and everything it started; harmless if it has ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.returncode is None:
        await process.wait()
