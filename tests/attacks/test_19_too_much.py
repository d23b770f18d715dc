"""Attack 19: a paired device sends a message, headers or a compressed message that is too large.

Expected: a clear refusal of that call, memory that stays bounded, and a node that goes on.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_crypto.transport import MAX_MESSAGE_BYTES, MAX_METADATA_BYTES
from support.lone_node import GET_NODE, LoneNode, lone_node
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

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

BOMB_BYTES = 60 << 20
MAY_GROW = 24 << 20
"""Bytes: several messages of the largest size, and what Python and gRPC keep by the way."""
UNIMPLEMENTED = b"12"


@pytest.fixture
async def target(tmp_path: Path) -> AsyncIterator[LoneNode]:
    # Classical only so that Python's own TLS, which may not know the hybrid, can be the attacker.
    async with lone_node(tmp_path, HOMING_NODE_SECURITY_POST_QUANTUM="preferred") as node:
        yield node


@pytest.mark.attack(19)
async def test_a_message_that_is_too_large_is_refused(target: LoneNode) -> None:
    before = target.peak_bytes()
    async with target.channel(("grpc.max_send_message_length", -1)) as channel:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(GET_NODE)
        for size in (MAX_MESSAGE_BYTES + 1, 64 << 20):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(bytes(size), timeout=20)
            assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    await target.answers()
    assert target.peak_bytes() - before < MAY_GROW


@pytest.mark.attack(19)
@pytest.mark.parametrize("count", [1, 400], ids=["one", "many"])
async def test_headers_that_are_too_large_are_refused(target: LoneNode, count: int) -> None:
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


@pytest.mark.attack(19)
async def test_a_compressed_message_is_refused_without_being_unpacked(target: LoneNode) -> None:
    before = target.peak_bytes()
    for _ in range(4):
        async with raw_client(target.port, tls(target.phone)) as client:
            block = headers(GET_NODE, {"grpc-encoding": "gzip"})
            end = await status(client, frame(HEADERS, END_HEADERS, 1, block), in_frames(bomb()))
        assert b"'gzip' is disabled" in end or UNIMPLEMENTED in end
    await target.answers()
    assert target.peak_bytes() - before < MAY_GROW
