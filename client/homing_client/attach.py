"""Reaching the resident process, starting it where it does not run, and ending it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from homing_agent.runtime.localsocket import SocketState, open_local_channel, probe
from homing_agent.runtime.lock import lock_owner
from homing_agent.runtime.paths import prepare_data_dir, socket_path
from homing_core.errors import ConflictError, HomingError, UnavailableError, error_from_code

from homing_client.key_place import key_place
from homing_client.model_choice import canonical_model
from homing_client.rpc.phone_calls import PhoneCalls

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    import grpc.aio
    from homing_agent.runtime.paths import ProgramPaths

    from homing_client.cli.options import Setup
    from homing_client.rpc.phone_calls import ResidentStatus

START_S = 30.0
"""How long the resident process may take to open its socket; its model comes later."""
STOP_S = 40.0
"""How long it may take to leave: a tool that runs is let end first."""
_LOOK_S = 0.05
"""The kernel says nothing when a lock is let go, so it is looked this often."""
_MOST_REPORT = 4096
_START_WITH = "homing serve"


def _silent(_: str) -> None:
    """Nobody watches."""


@contextlib.asynccontextmanager
async def attached(
    setup: Setup, *, start: bool = True, tell: Callable[[str], None] = _silent
) -> AsyncGenerator[PhoneCalls]:
    """The resident process's service; as `attached_channel`."""
    async with attached_channel(setup, start=start, tell=tell) as channel:
        yield PhoneCalls(channel)


@contextlib.asynccontextmanager
async def attached_channel(
    setup: Setup, *, start: bool = True, tell: Callable[[str], None] = _silent
) -> AsyncGenerator[grpc.aio.Channel]:
    """A connection to the resident process, which is started if it does not run.

    If it runs with another model than the one that was asked for, it is started anew.

    Args:
        setup: places, and what to start it with.
        start: whether to start it.
        tell: shows a line about what takes a moment.

    Raises:
        UnavailableError: it does not run, and was not to be started or did not come up.
        ConflictError: it runs with another model and is at work.
        HomingError: what it said when it could not start.
    """
    paths = setup.paths
    if start:
        if probe(socket_path(paths)) is not SocketState.LIVE:
            prepare_data_dir(paths)
            await _start(setup)
        elif setup.chooses_model:
            await _change_model(setup, tell)
    async with open_local_channel(paths, _START_WITH) as channel:
        yield channel


async def end_resident(paths: ProgramPaths) -> int:
    """End the resident process and wait until it has gone; gives its process id.

    Raises:
        UnavailableError: none runs, or it does not go.
    """
    async with open_local_channel(paths, _START_WITH) as channel:
        calls = PhoneCalls(channel)
        pid = (await calls.status()).pid
        await calls.stop()
    deadline = time.monotonic() + STOP_S
    while _locked(paths):
        if time.monotonic() > deadline:
            msg = f"the resident process (pid {pid}) does not leave"
            raise UnavailableError(msg, f"End it by hand: kill {pid}")
        await asyncio.sleep(_LOOK_S)
    return pid


async def until_gone(paths: ProgramPaths, pid: int) -> None:
    """Wait while a process that was killed is still being taken apart; `START_S` at most.

    Until the system has done so, its socket seems to be alive to whoever attaches.
    """
    deadline = time.monotonic() + START_S
    while _locked(paths) and lock_owner(paths) == pid:
        if time.monotonic() > deadline:
            return
        await asyncio.sleep(_LOOK_S)


def wants_another(setup: Setup, status: ResidentStatus) -> bool:
    """Whether the options name another model than the one that a process was started with."""
    other = setup.model is not None and canonical_model(setup.model) != status.wanted_model
    return other or (setup.stand_in and not status.stand_in_allowed)


async def _change_model(setup: Setup, tell: Callable[[str], None]) -> None:
    async with open_local_channel(setup.paths, _START_WITH) as channel:
        status = await PhoneCalls(channel).status()
    if not wants_another(setup, status):
        return
    if status.running:
        msg = f"the resident process is at work with {status.model}"
        raise ConflictError(
            msg, "Wait for its answer, leave out --model and --stand-in, or: homing serve --stop"
        )
    tell("starting anew with the model that was asked for")
    await end_resident(setup.paths)
    await _start(setup)


async def _start(setup: Setup) -> None:
    """Start `homing serve` apart from this terminal and wait until it says that it listens."""
    passphrase = _passphrase(setup.paths)  # before the time runs: a person types it
    deadline = time.monotonic() + START_S
    while True:
        failure = await _spawn(setup, passphrase, deadline)
        if failure is None:
            return
        if not isinstance(failure, ConflictError):
            raise failure
        # Another process is coming up or leaving at this very moment.
        while (found := probe(socket_path(setup.paths))) is not SocketState.LIVE:
            if time.monotonic() > deadline:
                raise failure
            if not _locked(setup.paths):
                break
            await asyncio.sleep(_LOOK_S)
        if found is SocketState.LIVE:
            return


async def _spawn(setup: Setup, passphrase: str | None, deadline: float) -> HomingError | None:
    """One process; what it says when it listens, or why it will not."""
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "homing_client", "serve", "--background"]
    command += ["--ready-fd", str(writing), *setup.arguments()]
    passed = [writing]
    if passphrase is not None:
        from homing_agent.runtime.unlock import hand_over  # noqa: PLC0415  # as below

        passed.append(hand_over(passphrase))
        command += ["--passphrase-fd", str(passed[1])]
    with os.fdopen(reading, "rb") as pipe:
        try:
            subprocess.Popen(  # noqa: S603, ASYNC220  # our own program; it outlives us on purpose
                command,
                pass_fds=passed,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        finally:
            for descriptor in passed:
                os.close(descriptor)
        try:
            async with asyncio.timeout(max(deadline - time.monotonic(), 1.0)):
                return _read_report(await _read_to_end(pipe.fileno()))
        except TimeoutError:
            msg = "the resident process does not come up"
            return UnavailableError(msg, f"Run it by hand to see why: {_START_WITH}")


def _passphrase(paths: ProgramPaths) -> str | None:
    """Of the phone's keys, if they want one and the process cannot find it by itself."""
    from homing_agent.runtime.unlock import (  # noqa: PLC0415  # attaching needs none of it
        somebody_can_be_asked,
        wanted_passphrase,
    )

    place = key_place(paths)
    if os.environ.get(place.variable):
        return None
    return wanted_passphrase(place, interactive=somebody_can_be_asked())


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
        if report == {}:
            return None
        return error_from_code(str(report["code"]), str(report["what"]), str(report["hint"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return UnavailableError(
            "the resident process ended before it was up", f"Run it by hand: {_START_WITH}"
        )


def _locked(paths: ProgramPaths) -> bool:
    """Whether a process holds the data directory."""
    try:
        with paths.lock_file.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
