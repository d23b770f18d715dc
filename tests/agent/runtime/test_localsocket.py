from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import grpc.aio
import pytest
from homing_agent.runtime.localsocket import (
    SocketState,
    add_local_port,
    open_local_channel,
    probe,
)
from homing_agent.runtime.paths import prepare_data_dir, program_paths
from homing_core.errors import ConflictError, UnavailableError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from homing_agent.runtime.paths import ProgramPaths


@pytest.fixture
def paths(tmp_path: Path) -> ProgramPaths:
    found = program_paths("homing-node", "node", tmp_path / "d", environ={})
    prepare_data_dir(found)
    return found


async def echo(request: bytes, _context: object) -> bytes:
    return request


async def say(channel: grpc.aio.Channel, text: bytes) -> bytes:
    call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/t.Echo/Say")
    return await call(text, timeout=10)


def make_server() -> grpc.aio.Server:
    server = grpc.aio.server()
    server.add_registered_method_handlers(
        "t.Echo", {"Say": grpc.unary_unary_rpc_method_handler(echo)}
    )
    return server


async def test_serve_and_call(paths: ProgramPaths) -> None:
    server = make_server()
    path = add_local_port(server, paths)
    await server.start()
    try:
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert probe(path) is SocketState.LIVE
        async with open_local_channel(paths, "homing-node run") as channel:
            assert await say(channel, b"hello") == b"hello"
        with pytest.raises(ConflictError, match="listens"):
            add_local_port(make_server(), paths)
    finally:
        await server.stop(None)


async def test_stale_socket_is_replaced(paths: ProgramPaths) -> None:
    path = paths.run_dir / "control.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    assert probe(path) is SocketState.STALE
    with pytest.raises(UnavailableError, match="does not run") as caught:
        async with open_local_channel(paths, "homing-node run"):
            pass
    assert caught.value.hint == "Start it with: homing-node run"
    server = make_server()
    add_local_port(server, paths)
    await server.start()
    try:
        async with open_local_channel(paths, "homing-node run") as channel:
            assert await say(channel, b"x") == b"x"
    finally:
        await server.stop(None)


async def test_nothing_there(paths: ProgramPaths) -> None:
    assert probe(paths.run_dir / "control.sock") is SocketState.ABSENT
    with pytest.raises(UnavailableError):
        async with open_local_channel(paths, "homing-node run"):
            pass


async def test_a_file_in_the_way_is_not_deleted(paths: ProgramPaths) -> None:
    path = paths.run_dir / "control.sock"
    path.write_text("precious")
    with pytest.raises(UsageError, match="not a socket"):
        add_local_port(make_server(), paths)
    assert path.read_text() == "precious"
