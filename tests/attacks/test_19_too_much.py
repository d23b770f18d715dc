"""Attack 19: a paired device sends a message, headers or a compressed message that is too large.

Expected: a clear refusal of that call, memory that stays bounded, and a node that goes on.
"""

from __future__ import annotations

import contextlib
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_core.access import DeviceRole
from homing_core.clock import SystemClock
from homing_crypto.credentials import client_channel
from homing_crypto.identity import DeviceIdentity
from homing_crypto.testing import paired_device, throwaway_identity
from homing_crypto.transport import MAX_MESSAGE_BYTES, MAX_METADATA_BYTES
from homing_crypto.truststore import TRUST_STORE_FILE, SqliteTrustStore
from homing_inference.synthetic import write_qwen35
from support.node_process import environment, started
from support.raw_h2 import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PREFACE,
    SETTINGS,
    RawClient,
    frame,
    headers,
    raw_client,
    tls,
)
from support.templates import HERMES

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = pytest.mark.attack(19)

GET_NODE = "/homing_proto.v1.NodeService/GetNode"
BOMB_BYTES = 60 << 20
MAY_GROW = 24 << 20
"""Bytes: several messages of the largest size, and what Python and gRPC keep by the way."""
UNIMPLEMENTED = b"12"
RESOURCE_EXHAUSTED = b"8"


class Target:
    """A node in a process of its own, whose memory is watched."""

    def __init__(self, pid: int, port: int, phone: DeviceIdentity, node: DeviceIdentity) -> None:
        self.pid, self.port, self.phone, self.node = pid, port, phone, node

    def peak_bytes(self) -> int:
        """The most memory that it had at once, so far."""
        for line in Path(f"/proc/{self.pid}/status").read_text("utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
        raise AssertionError

    @contextlib.asynccontextmanager
    async def channel(self, *options: tuple[str, int]) -> AsyncGenerator[grpc.aio.Channel]:
        target = f"127.0.0.1:{self.port}"
        async with client_channel(target, self.phone, self.node.certificate, options) as channel:
            yield channel

    async def answers(self) -> None:
        """It goes on."""
        async with self.channel() as channel:
            call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(GET_NODE)
            assert await call(b"", timeout=10)


@pytest.fixture
async def target(tmp_path: Path) -> AsyncGenerator[Target]:
    small_model = write_qwen35(tmp_path / "tiny.gguf", HERMES)
    folder = tmp_path / "node"
    folder.mkdir(mode=0o700)
    clock, phone = SystemClock(), throwaway_identity()
    node = DeviceIdentity.load_or_create(folder, clock)
    store = SqliteTrustStore(folder / TRUST_STORE_FILE, clock)
    store.add(paired_device(phone, DeviceRole.MEMBER))
    store.close()
    # Classical only so that Python's own TLS, which may not know the hybrid, can be the attacker.
    env = environment(tmp_path, HOMING_NODE_SECURITY_POST_QUANTUM="preferred")
    words = ("--data-dir", folder, "--port", "0", "--host", "127.0.0.1", "--model", small_model)
    async with started("run", "--json", "--no-mdns", *words, env=env) as run:
        up = await run.event("up")
        await run.model("ready")
        port = int(up["addresses"][0].rpartition(":")[2])
        made = Target(run.process.pid, port, phone, node)
        await made.answers()
        yield made


async def test_a_message_that_is_too_large_is_refused(target: Target) -> None:
    before = target.peak_bytes()
    async with target.channel(("grpc.max_send_message_length", -1)) as channel:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(GET_NODE)
        for size in (MAX_MESSAGE_BYTES + 1, 64 << 20):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(bytes(size), timeout=20)
            assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    await target.answers()
    assert target.peak_bytes() - before < MAY_GROW


@pytest.mark.parametrize("count", [1, 400], ids=["one", "many"])
async def test_headers_that_are_too_large_are_refused(target: Target, count: int) -> None:
    size = (MAX_METADATA_BYTES * 2) // count
    metadata = tuple((f"x-{number}", "b" * size) for number in range(count))
    before = target.peak_bytes()
    async with target.channel() as channel:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(GET_NODE)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(b"", timeout=10, metadata=metadata)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "metadata" in (caught.value.details() or "")
    await target.answers()
    assert target.peak_bytes() - before < MAY_GROW


async def status(client: RawClient, *frames: bytes) -> bytes:
    await client.send(PREFACE, frame(SETTINGS, 0, 0), *frames)
    return await client.end_of(1)


def bomb() -> bytes:
    """60 MiB of zeros as a compressed message of 60 KiB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(BOMB_BYTES >> 20))
    packed += packer.flush()
    return b"\x01" + len(packed).to_bytes(4, "big") + packed


def in_frames(message: bytes) -> bytes:
    cuts = range(0, len(message), 16384)
    return b"".join(
        frame(DATA, END_STREAM if at + 16384 >= len(message) else 0, 1, message[at : at + 16384])
        for at in cuts
    )


async def test_a_compressed_message_is_refused_without_being_unpacked(target: Target) -> None:
    before = target.peak_bytes()
    for _ in range(4):
        async with raw_client(target.port, tls(target.phone)) as client:
            block = headers(GET_NODE, {"grpc-encoding": "gzip"})
            end = await status(client, frame(HEADERS, END_HEADERS, 1, block), in_frames(bomb()))
        assert b"'gzip' is disabled" in end or UNIMPLEMENTED in end
    await target.answers()
    assert target.peak_bytes() - before < MAY_GROW
