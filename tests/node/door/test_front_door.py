"""The door as a process: what passes, who is seen, and what happens when it or the node dies."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_agent.runtime.paths import prepare_data_dir, program_paths
from homing_core.errors import ConflictError
from homing_core.testing import FakeClock
from homing_crypto.credentials import client_channel, server_credentials
from homing_crypto.guard import Guard, Refusal
from homing_crypto.live_calls import LiveCalls
from homing_crypto.rpc_guard import RpcGuard, current_caller
from homing_crypto.testing import MemoryTrustStore, paired_device, throwaway_identity
from homing_crypto.transport import SERVER_OPTIONS
from homing_node.binding import listen
from homing_node.door.events import Caps
from homing_node.door.floor import Reason
from homing_node.door.front_door import DoorSettings, FrontDoor
from homing_node.door.names import caller_address
from homing_node.door.process import prepare_folder
from support.guarded import Client, Echo
from support.node_rig import DEADLINE_S, within
from support.told import told

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_crypto.identity import DeviceIdentity

PHONE, STRANGER = throwaway_identity(), throwaway_identity()


class Behind(Echo):
    """Echo, and who called."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    async def unary(self, request: str, context: grpc.aio.ServicerContext[object, object]) -> str:
        self.addresses.append(current_caller().address)
        return await super().unary(request, context)


class House:
    """A guarded server behind a door."""

    server: grpc.aio.Server

    def __init__(self, port: int, door: FrontDoor, node: DeviceIdentity, echo: Behind) -> None:
        self.port, self.door, self.node, self.echo = port, door, node, echo
        self.refused: list[tuple[str, Reason, int]] = []
        self.refused_calls: list[Refusal] = []
        self.news = asyncio.Event()

    def on_refused(self, address: str, reason: Reason, count: int) -> None:
        self.refused.append((address, reason, count))
        self.news.set()

    async def until_refused(self, reason: Reason) -> str:
        """The address of somebody who was refused so."""
        async with asyncio.timeout(DEADLINE_S):
            while not (found := [a for a, why, _ in self.refused if why is reason]):
                self.news.clear()
                await self.news.wait()
        return found[0]

    @contextlib.asynccontextmanager
    async def client(
        self, device: DeviceIdentity = PHONE, host: str = "127.0.0.1"
    ) -> AsyncGenerator[Client]:
        target = f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"
        async with client_channel(target, device, self.node.certificate) as channel:
            yield Client(channel)


@contextlib.asynccontextmanager
async def house(folder: Path, host: str = "", caps: Caps | None = None) -> AsyncGenerator[House]:
    clock, node, echo = FakeClock(), throwaway_identity(), Behind()
    store = MemoryTrustStore(clock)
    store.add(paired_device(PHONE))
    paths = program_paths("homing-node", "node", folder, environ={})
    prepare_data_dir(paths)
    listener, port = listen(host, 0, "--port")
    made: House | None = None

    def on_refused(address: str, reason: Reason, count: int) -> None:
        assert made is not None
        made.on_refused(address, reason, count)

    door = FrontDoor(
        prepare_folder(paths), (listener,), DoorSettings(caps or Caps(), hybrid=True), on_refused
    )
    made = House(port, door, node, echo)
    guard = Guard(echo.rules(), store, clock, on_refused=made.refused_calls.append)
    server = grpc.aio.server(
        handlers=[echo.handlers()],
        interceptors=[RpcGuard(guard.authorize, LiveCalls(), caller_address, door.allowed)],
        options=SERVER_OPTIONS,
    )
    made.server = server
    server.add_secure_port(door.upstream, server_credentials(node, store.roots_pem))
    await server.start()
    try:
        await door.start()
        yield made
    finally:
        await server.stop(0)
        await door.close(5)


async def test_calls_of_every_kind_pass(tmp_path: Path) -> None:
    async with house(tmp_path) as home, home.client() as client:
        assert await client.unary("Unary") == "phone: hi"
        assert [letter async for letter in client.stream("Stream", "abc")] == ["a", "b", "c"]
        assert await client.collect(b"a", b"b") == "ab"
        assert await client.both(b"a", b"b") == ["A", "B"]


async def test_much_data_passes_whole_though_buffers_are_small(tmp_path: Path) -> None:
    """Three times one message's 3 MiB both ways, many times what the door holds."""
    text = "x" * (3 << 20)
    async with house(tmp_path) as home, home.client() as client:
        for _ in range(3):
            assert await client.unary("Unary", text) == f"phone: {text}"


async def test_a_reader_that_stops_stops_the_writer_and_nobody_else(tmp_path: Path) -> None:
    async with house(tmp_path) as home, home.client() as slow, home.client() as other:
        flood = slow.stream("Flood", "x")
        assert await within(flood.read())
        assert await other.unary("Unary") == "phone: hi"
        flood.cancel()
        await within(home.echo.finished.wait())


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_the_node_knows_where_a_call_comes_from(tmp_path: Path, host: str) -> None:
    """One listener for both families: the caller's own address, in its own form."""
    async with house(tmp_path) as home, home.client(host=host) as client:
        await client.unary("Unary")
        assert home.echo.addresses == [host]


async def test_a_refused_call_has_its_callers_address(tmp_path: Path) -> None:
    async with house(tmp_path) as home, home.client() as client:
        with pytest.raises(grpc.aio.AioRpcError):
            await client.unary("Closed")
        (refusal,) = home.refused_calls
        assert (refusal.address, refusal.device) == ("127.0.0.1", PHONE.device_id)


async def test_strangers_are_told_of_with_their_address(tmp_path: Path) -> None:
    async with house(tmp_path) as home, home.client(STRANGER) as client:
        with pytest.raises(grpc.aio.AioRpcError):
            await client.unary("Unary")
        assert await home.until_refused(Reason.SHUT_OUT) == "127.0.0.1"


async def test_a_paired_device_that_is_quiet_stays(tmp_path: Path) -> None:
    """Only what has proved nothing is cut; the stranger beside it shows that the time is over."""
    caps = Caps(proof_s=0.3, hello_s=0.3)
    async with house(tmp_path, caps=caps) as home, home.client() as client:
        await client.unary("Unary")
        with socket.create_connection(("127.0.0.1", home.port)):
            await home.until_refused(Reason.NO_HELLO)
        waiting = client.stream("Endless", "hi")
        assert await within(waiting.read()) == "hi"
        assert [reason for _, reason, _ in home.refused] == [Reason.NO_HELLO]
        waiting.cancel()


async def test_after_its_death_it_opens_again_on_the_same_port(tmp_path: Path) -> None:
    with told() as log:
        async with house(tmp_path) as home:
            async with home.client() as client:
                await client.unary("Unary")
            first = home.door.pid
            os.kill(first, signal.SIGKILL)
            await log.until("door.died")
            async with home.client() as client:  # waits in the listener's queue meanwhile
                assert await client.unary("Unary") == "phone: hi"
            assert home.door.pid not in {0, first}


async def test_a_door_that_hangs_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("homing_node.door.front_door.SILENCE_S", 3.0)
    with told() as log:
        async with house(tmp_path) as home:
            os.kill(home.door.pid, signal.SIGSTOP)
            await log.until("door.died")
            async with home.client() as client:
                assert await client.unary("Unary") == "phone: hi"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_to_all_processes_does_not_end_it(
    tmp_path: Path, number: signal.Signals
) -> None:
    """As a service manager or a terminal sends it: calls that run shall end in peace."""
    async with house(tmp_path) as home, home.client() as client:
        pid = home.door.pid
        os.kill(pid, number)
        assert await client.unary("Unary") == "phone: hi"
        assert home.door.pid == pid


async def test_once_closed_nobody_listens_and_nothing_is_left(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        port, pid = home.port, home.door.pid
        idle = socket.create_connection(("127.0.0.1", port))
    with idle, pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port)).close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert list((tmp_path / "run" / "d").iterdir()) == []


async def test_who_is_inside_may_finish_while_nobody_new_comes_in(tmp_path: Path) -> None:
    async with house(tmp_path) as home, home.client() as client:
        await client.unary("Unary")
        closing = asyncio.create_task(home.door.close(DEADLINE_S))
        await within(nobody_accepts(home.port))
        assert await client.unary("Unary") == "phone: hi"
        assert not closing.done()
        await home.server.stop(0)  # says goodbye on every connection
        async with asyncio.timeout(DEADLINE_S):
            await closing


async def nobody_accepts(port: int) -> None:
    """Wait until connections are not taken any more: the node still holds the port open."""
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"not TLS, so that a door would close at once")
        try:
            async with asyncio.timeout(0.5):
                await reader.read()
        except TimeoutError:
            return
        except OSError:
            continue
        finally:
            writer.transport.abort()


async def test_a_socket_in_a_long_folder_is_found_a_short_one(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    async with house(folder) as home, home.client() as client:
        assert len(home.door.upstream) < 110
        assert await client.unary("Unary") == "phone: hi"


def test_what_a_killed_node_left_is_removed(tmp_path: Path) -> None:
    paths = program_paths("homing-node", "node", tmp_path, environ={})
    prepare_data_dir(paths)
    folder = prepare_folder(paths)
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as old:
        old.bind(str(folder / "c1-01020304"))
    assert prepare_folder(paths) == folder
    assert list(folder.iterdir()) == []
    assert folder.stat().st_mode & 0o077 == 0


async def test_it_dies_with_a_node_that_is_killed(tmp_path: Path) -> None:
    """The node here is a process that does nothing else; its death is a SIGKILL."""
    script = (
        "import asyncio, pathlib, sys\n"
        "from homing_agent.runtime.paths import program_paths\n"
        "from homing_node.binding import listen\n"
        "from homing_node.door.front_door import DoorSettings, FrontDoor\n"
        "from homing_node.door.process import prepare_folder\n"
        "from homing_node.door.events import Caps\n"
        "async def main():\n"
        "    paths = program_paths('x', 'node', pathlib.Path(sys.argv[1]), environ={})\n"
        "    listener, port = listen('127.0.0.1', 0, '--port')\n"
        "    settings = DoorSettings(Caps(), hybrid=True)\n"
        "    door = FrontDoor(prepare_folder(paths), (listener,), settings, print)\n"
        "    await door.start()\n"
        "    sys.stdout.write(f'up {port} {door.pid}\\n')\n"
        "    sys.stdout.flush()\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", script, str(tmp_path)), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    line = b""
    while not line.startswith(b"up "):
        line = await within(process.stdout.readline())
        assert line
    port, pid = (int(word) for word in line.split()[1:])
    os.kill(process.pid, signal.SIGKILL)
    await within(process.wait())
    await within(asyncio.to_thread(gone, pid))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port)).close()


def gone(pid: int) -> None:
    """Wait until a process of somebody else's has ended."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        with contextlib.suppress(OSError, IndexError):
            state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
            if state == "Z":
                return
        time.sleep(0.01)
    raise AssertionError


@pytest.mark.parametrize("host", ["127.0.0.1", ""])
def test_a_port_in_use_is_said(host: str) -> None:
    listener, port = listen(host, 0, "--port")
    with listener, pytest.raises(ConflictError, match=f"port {port} is in use"):
        listen(host, port, "--port")
