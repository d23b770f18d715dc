"""Attack 19: a paired device sends a message, headers or a compressed message that is too large.

Expected: a clear refusal of that call, memory that stays bounded, and a node that goes on; also if
the messages are of a size that is allowed, but many, and none of them ever ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import zlib
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_crypto.transport import MAX_MESSAGE_BYTES, MAX_METADATA_BYTES
from support.lone_node import GET_NODE, LoneNode, lone_node
from support.raw_h2 import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PING,
    PREFACE,
    SETTINGS,
    WINDOW_UPDATE,
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
GENERATE = "/homing_proto.v1.InferenceService/Generate"


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


UNENDED = 62
"""Calls: nearly all that an account may have open."""
SILENCE_S = 1.5
MAY_HOLD = 100 << 20
"""Bytes; the messages that are begun have 248 MiB."""


async def send_all_but_the_end(client: RawClient, method: str) -> int:
    """As much of many messages of the largest size as the node takes; how many bytes that was."""
    message = b"\x00" + (MAX_MESSAGE_BYTES - 64).to_bytes(4, "big") + bytes(MAX_MESSAGE_BYTES - 128)
    windows = dict.fromkeys(range(1, 2 * UNENDED, 2), 65535)
    sent = dict.fromkeys(windows, 0)
    whole = 65535
    await client.send(
        PREFACE,
        frame(SETTINGS, 0, 0),
        *(frame(HEADERS, END_HEADERS, stream, headers(method)) for stream in windows),
    )
    frames = client.frames()
    # Once it takes no more, it is silent: a deadline of its own comes later than this.
    with contextlib.suppress(TimeoutError):
        while True:
            for stream, window in windows.items():
                left = min(window, whole, len(message) - sent[stream])
                for at in range(sent[stream], sent[stream] + left, 16384):
                    part = message[at : min(at + 16384, sent[stream] + left)]
                    await client.send(frame(DATA, 0, stream, part))
                sent[stream] += left
                windows[stream] -= left
                whole -= left
            async with asyncio.timeout(SILENCE_S):
                kind, flags, stream, content = await anext(frames)
            if kind == WINDOW_UPDATE and stream == 0:
                whole += int.from_bytes(content, "big")
            elif kind == WINDOW_UPDATE:
                windows[stream] += int.from_bytes(content, "big")
            elif kind in {PING, SETTINGS} and not flags & ACK:
                await client.send(frame(kind, ACK, 0, content if kind == PING else b""))
    return sum(sent.values())


@pytest.mark.attack(19)
@pytest.mark.parametrize("method", [GET_NODE, GENERATE], ids=["small", "large"])
async def test_many_messages_that_never_end_leave_memory_bounded(
    target: LoneNode, method: str
) -> None:
    before = target.peak_bytes()
    async with raw_client(target.port, tls(target.phone)) as client:
        sent = await send_all_but_the_end(client, method)
        assert sent > 2 * MAX_MESSAGE_BYTES  # the attack was one
        assert target.peak_bytes() - before < MAY_HOLD
    await target.answers()
    assert target.peak_bytes() - before < MAY_HOLD
