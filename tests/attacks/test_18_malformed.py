"""Attack 18: malformed, absurd and deeply nested protobuf to every method of every port and socket.

Expected: what is no message is refused as malformed, in our words, on each method that is served
there (the `.proto` files name them, so that new ones are tried too). What is a message and absurd
is refused or does nothing; no call ends as a bug of ours. The process lives, answers, and its
memory stays bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import grpc.aio
import pytest
from homing_agent.runtime.localsocket import open_local_channel
from homing_agent.runtime.paths import program_paths
from homing_core.access import DeviceRole
from homing_core.clock import SystemClock
from homing_crypto.credentials import client_channel, pairing_channel
from homing_crypto.pairing.link import parse_link
from homing_crypto.pairing.pinned import fetch_certificate
from homing_crypto.testing import paired_device, throwaway_identity
from homing_crypto.truststore import TRUST_STORE_FILE, SqliteTrustStore
from homing_node.rpc.rules import MAIN_RULES
from support.hostile_wire import Method, absurd, malformed, methods
from support.lone_node import LoneNode, lone_node
from support.node_process import environment, started
from support.phone_process import PhoneRig, phone_rig

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

MAY_GROW = 96 << 20
"""Bytes. One message of the largest size, its parts as Python's objects, and what gRPC keeps."""
WAIT_S = 20.0
TRIES = 3
SHORT_S = 0.5
"""A stream that takes an absurd request may have nothing to tell."""
_Code = grpc.StatusCode
HASTY = {
    "HOMING_NODE_LIMITS_CALLS_PER_SECOND": "10000",
    "HOMING_NODE_LIMITS_CALLS_BURST": "10000",
}
"""Otherwise it would only be told that it is too fast."""
REFUSED = {_Code.PERMISSION_DENIED, _Code.UNAUTHENTICATED, _Code.UNIMPLEMENTED}
BUGS = {_Code.UNKNOWN, _Code.INTERNAL, _Code.DATA_LOSS}
MALFORMED = "the request is malformed"


async def outcome(
    channel: grpc.aio.Channel, method: Method, data: bytes, wait_s: float = WAIT_S
) -> tuple[grpc.StatusCode, str]:
    """How a call ends, or how it is once it has given its first answer."""
    call: grpc.aio.StreamStreamCall[bytes, bytes] | grpc.aio.UnaryStreamCall[bytes, bytes]
    if method.asks:
        many: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(method.path)
        call = many(once(data), timeout=wait_s)
    else:
        one: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(method.path)
        call = one(data, timeout=wait_s)
    try:
        if await call.read() is not grpc.aio.EOF and method.tells:
            return _Code.OK, ""
        return await call.code(), await call.details() or ""
    except grpc.aio.AioRpcError as error:
        return error.code(), error.details() or ""
    finally:
        call.cancel()


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def served(channel: grpc.aio.Channel) -> list[Method]:
    """The methods that are there for this caller."""
    found: list[Method] = []
    for method in methods():
        code = _Code.UNKNOWN
        for _ in range(TRIES):  # a call that breaks off says nothing about the method
            code, _ = await outcome(channel, method, b"\xff\xff\xff")
            if code in REFUSED | {_Code.INVALID_ARGUMENT}:
                break
        if code not in REFUSED:
            found.append(method)
    return found


async def attack(
    channel: grpc.aio.Channel, there: list[Method], lives: Callable[[], object]
) -> int:
    """Send everything to all of them; how many requests that were."""
    count = 0
    for method in there:
        for what, data in malformed(method.request):
            code, said = await outcome(channel, method, data)
            assert (code, said) == (_Code.INVALID_ARGUMENT, MALFORMED), f"{method.path}: {what}"
            count += 1
        # Without fields an absurd request is a good one, and does what the method does.
        for what, data in absurd(method.request) if method.request.fields else ():
            wait_s = SHORT_S if method.tells else WAIT_S
            code, said = await outcome(channel, method, data, wait_s)
            assert code not in BUGS, f"{method.path}: {what}: {code} {said}"
            assert "Traceback" not in said
            assert "Error(" not in said
            count += 1
        lives()
    return count


def alive(pid: int) -> None:
    assert Path(f"/proc/{pid}").exists()


def peak_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    raise AssertionError


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[LoneNode]:
    async with lone_node(tmp_path, **HASTY) as running:
        yield running


@contextlib.asynccontextmanager
async def caller(
    folder: Path, node: LoneNode, role: DeviceRole
) -> AsyncGenerator[grpc.aio.Channel]:
    """A channel of one more paired device."""
    identity = throwaway_identity()
    store = SqliteTrustStore(folder / "node" / TRUST_STORE_FILE, SystemClock())
    store.add(paired_device(identity, role))
    store.close()
    target = f"127.0.0.1:{node.port}"
    async with client_channel(target, identity, node.node.certificate) as channel:
        yield channel


@pytest.mark.attack(18)
async def test_the_main_port_as_each_role(tmp_path: Path, node: LoneNode) -> None:
    before = node.peak_bytes()
    tried: set[str] = set()
    for role in (DeviceRole.OWNER, DeviceRole.PEER):
        async with caller(tmp_path, node, role) as channel:
            there = await served(channel)
            assert await attack(channel, there, lambda: alive(node.pid)) > 10 * len(there)
            tried.update(method.path for method in there)
    assert set(MAIN_RULES) == tried
    await node.answers()
    assert node.peak_bytes() - before < MAY_GROW


@pytest.mark.attack(18)
async def test_the_pairing_port_as_a_stranger(tmp_path: Path, node: LoneNode) -> None:
    before = node.peak_bytes()
    words = ("pair", "--json", "--data-dir", tmp_path / "node")
    async with started(*words, env=environment(tmp_path)) as shown:
        link = parse_link((await shown.event("opened"))["link"])
        at = link.addresses[0]
        certificate = await fetch_certificate(at, link.certificate_sha256)
        async with pairing_channel(str(at), certificate) as channel:
            there = await served(channel)
            assert "/homing_proto.v1.PairingService/Pair" in {method.path for method in there}
            assert {method.path.split("/")[1].endswith("PairingService") for method in there} == {
                True
            }
            await attack(channel, there, lambda: alive(node.pid))
        # It was no guess: the window is open, and whoever has the link can use it.
        assert await fetch_certificate(at, link.certificate_sha256)
    await node.answers()
    assert node.peak_bytes() - before < MAY_GROW


@pytest.mark.attack(18)
async def test_the_nodes_control_socket(tmp_path: Path, node: LoneNode) -> None:
    before = node.peak_bytes()
    paths = program_paths("homing-node", "node", tmp_path / "node", environ={})
    async with open_local_channel(paths, "") as channel:
        there = await served(channel)
        assert {method.path.rpartition("/")[2] for method in there} >= {"StopDaemon", "OpenPairing"}
        await attack(channel, there, lambda: alive(node.pid))
    await node.answers()
    assert node.peak_bytes() - before < MAY_GROW


@pytest.mark.attack(18)
async def test_the_phones_socket(tmp_path: Path) -> None:
    async with phone_rig(tmp_path) as rig, rig.scripted() as resident:
        pid = resident.process.pid
        before = peak_bytes(pid)
        async with open_local_channel(rig.paths, "") as channel:
            there = await served(channel)
            assert {method.path.rpartition("/")[2] for method in there} >= {"Ask", "Stop"}
            await attack(channel, there, lambda: alive(pid))
        assert await still_there(rig) == pid
        assert peak_bytes(pid) - before < MAY_GROW


async def still_there(rig: PhoneRig) -> int:
    done = await asyncio.wait_for(rig.run("serve", "--status"), WAIT_S)
    assert done.status == 0, done.err
    return rig.resident_pid()
