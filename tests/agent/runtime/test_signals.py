from __future__ import annotations

import asyncio
import os
import signal
import socket
from typing import TYPE_CHECKING

import pytest
from homing_agent.runtime import sdnotify
from homing_agent.runtime.signals import stop_on_signals

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_first_signal_asks_second_leaves(number: signal.Signals) -> None:
    left: asyncio.Queue[int] = asyncio.Queue()
    with stop_on_signals(asyncio.Event(), left.put_nowait) as stop:
        os.kill(os.getpid(), number)
        await asyncio.wait_for(stop.wait(), 10)
        assert left.empty()
        os.kill(os.getpid(), number)
        assert await asyncio.wait_for(left.get(), 10) == number


async def test_nohup_is_heeded() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_on_signals(asyncio.Event()) as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.wait_for(stop.wait(), 10)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("abstract", [False, True])
def test_systemd_is_told(tmp_path: Path, *, abstract: bool) -> None:
    name = f"homing-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("\0" + name if abstract else name)
        listener.settimeout(10)
        env = {"NOTIFY_SOCKET": "@" + name if abstract else name}
        assert sdnotify.notify(sdnotify.READY, sdnotify.status("well"), environ=env)
        assert listener.recv(100) == b"READY=1\nSTATUS=well"


@pytest.mark.parametrize("address", ["", "relative", "/none/there"])
def test_nobody_to_tell(address: str) -> None:
    assert not sdnotify.notify(sdnotify.READY, environ={"NOTIFY_SOCKET": address})


@pytest.mark.parametrize(
    ("env", "seconds"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "x"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "3000000"}, 1.5),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}, None),
    ],
)
def test_watchdog(env: dict[str, str], seconds: float | None) -> None:
    assert sdnotify.watchdog_seconds(env) == seconds
