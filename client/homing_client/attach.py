"""Reaching the resident process, and starting it where it does not run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from homing_agent.runtime.localsocket import SocketState, open_local_channel, probe
from homing_agent.runtime.paths import prepare_data_dir, socket_path
from homing_core.errors import ConflictError, HomingError, UnavailableError, error_from_code

from homing_client.rpc.phone_calls import PhoneCalls

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_client.cli.options import Setup

START_S = 30.0
"""How long the resident process may take to open its socket; its model comes later."""
_BUSY_TRIES = 50
_BUSY_S = 0.1
_MOST_REPORT = 4096


@contextlib.asynccontextmanager
async def attached(setup: Setup, *, start: bool = True) -> AsyncGenerator[PhoneCalls]:
    """The resident process's service; the process is started if it does not run.

    Args:
        setup: places, and what to start it with.
        start: whether to start it.

    Raises:
        UnavailableError: it does not run, and was not to be started or did not come up.
        HomingError: what it said when it could not start.
    """
    paths = setup.paths
    if start and probe(socket_path(paths)) is not SocketState.LIVE:
        prepare_data_dir(paths)
        await _start(setup)
    async with open_local_channel(paths, "homing serve") as channel:
        yield PhoneCalls(channel)


async def _start(setup: Setup) -> None:
    """Start `homing serve` apart from this terminal and wait until it says that it listens."""
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "homing_client", "serve", "--background"]
    command += ["--ready-fd", str(writing), *setup.arguments()]
    try:
        subprocess.Popen(  # noqa: S603, ASYNC220  # our own program; it outlives us on purpose
            command,
            pass_fds=(writing,),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    finally:
        os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        try:
            async with asyncio.timeout(START_S):
                report = await _read_to_end(pipe.fileno())
        except TimeoutError as error:
            msg = "the resident process does not come up"
            raise UnavailableError(msg, "Run it by hand to see why: homing serve") from error
    failure = _read_report(report)
    if isinstance(failure, ConflictError):
        await _wait_for_other(setup)  # somebody else starts it at this very moment
    elif failure is not None:
        raise failure


async def _read_to_end(descriptor: int) -> bytes:
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    os.set_blocking(descriptor, False)
    loop.add_reader(descriptor, readable.set)
    data = b""
    try:
        while len(data) < _MOST_REPORT:
            await readable.wait()
            readable.clear()
            with contextlib.suppress(BlockingIOError):
                piece = os.read(descriptor, _MOST_REPORT)
                if not piece:
                    break
                data += piece
    finally:
        loop.remove_reader(descriptor)
    return data


def report_ready(descriptor: int, error: HomingError | None = None) -> None:
    """Say to whoever started this process that it listens, or why it will not.

    Args:
        descriptor: the pipe's end, from `--ready-fd`; it is closed.
        error: why not; None if it listens.
    """
    report = {} if error is None else {"code": error.code.value, "what": error.what}
    if error is not None:
        report["hint"] = error.hint
    with contextlib.suppress(OSError):
        os.write(descriptor, json.dumps(report).encode())
    with contextlib.suppress(OSError):
        os.close(descriptor)


def _read_report(data: bytes) -> HomingError | None:
    try:
        report = json.loads(data)
        if "code" not in report:
            return None
        return error_from_code(str(report["code"]), str(report["what"]), str(report["hint"]))
    except (ValueError, TypeError, KeyError):
        return UnavailableError(
            "the resident process ended before it was up", "Run it by hand: homing serve"
        )


async def _wait_for_other(setup: Setup) -> None:
    for _ in range(_BUSY_TRIES):
        if probe(socket_path(setup.paths)) is SocketState.LIVE:
            return
        await asyncio.sleep(_BUSY_S)
    msg = "another process holds this phone's data directory but does not answer"
    raise UnavailableError(msg, "End it, or choose another --data-dir.")
