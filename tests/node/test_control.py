from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_agent.runtime.localsocket import open_local_channel
from homing_agent.runtime.paths import socket_path
from homing_core.access import DeviceRole
from homing_core.errors import ConflictError, NotFoundError, UnavailableError
from homing_core.generation import GenerateRequest, Numbered, TextDelta
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_core.testing import FakeClock
from homing_crypto.rpc_errors import error_from_rpc
from homing_crypto.testing import paired_device, throwaway_identity
from homing_proto.codec.generation import encode_generate_request
from homing_proto.v1 import node_pb2
from support.node_rig import DEADLINE_S, Events, NodeRig, next_event, node_rig, send_raw, within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

METHODS = ("GetDaemon", "ListPairedDevices", "RevokePairedDevice", "OpenPairing")


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path) as running:
        yield running


async def test_the_daemon_says_how_it_is(rig: NodeRig) -> None:
    daemon = await (await rig.control()).daemon()
    assert daemon.pid == os.getpid()
    assert daemon.node_id == rig.running.facts.id
    assert daemon.addresses == (f"127.0.0.1:{rig.running.port}",)
    assert [model.name for model in daemon.models] == ["fed-1b:bf16"]
    assert daemon.load.running == 0


@pytest.mark.attack
async def test_revocation_ends_what_runs_and_only_that(rig: NodeRig) -> None:
    phone, other = await rig.phone(), await rig.phone(DeviceRole.MEMBER)
    calls: dict[str, Events] = {}
    for one in (phone, other):
        request = GenerateRequest(new_generation_id(), (user("hello"),))
        calls[one.identity.device_id] = one.inference.Generate(
            encode_generate_request(request), timeout=DEADLINE_S
        )
        rig.engine.feed(request.id, TextDelta("a"))
        assert await next_event(calls[one.identity.device_id]) == Numbered(1, TextDelta("a"))
        await within(rig.engine.started.get())

    control = await rig.control()
    revoked = await control.revoke(phone.identity.device_id[:10])
    assert revoked.id == phone.identity.device_id
    assert rig.engine.forgotten == [phone.identity.device_id]
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await next_event(calls[phone.identity.device_id])
    assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
    assert "revoked" in error_from_rpc(caught.value).what
    await within(rig.engine.closed.get())
    assert rig.running.generations.running() == 1

    with pytest.raises(grpc.aio.AioRpcError):  # on the connection that is still open
        await phone.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
    again = await rig.dial(phone.identity)
    with pytest.raises(grpc.aio.AioRpcError):  # and on a new one
        await again.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
    assert [device.id for device in await control.devices()] == [other.identity.device_id]
    await other.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)


@pytest.mark.parametrize("prefix", ["abc", "0123456789", "zz\x1b[2J"])
async def test_revoking_nobody(rig: NodeRig, prefix: str) -> None:
    await rig.phone()
    with pytest.raises(NotFoundError):
        await (await rig.control()).revoke(prefix)
    assert len(await (await rig.control()).devices()) == 1


async def test_stop_is_asked_for(rig: NodeRig) -> None:
    await (await rig.control()).stop()
    assert rig.stop.is_set()


@pytest.mark.attack
@pytest.mark.parametrize("method", METHODS)
async def test_malformed_messages(rig: NodeRig, method: str) -> None:
    async with open_local_channel(rig.paths, "homing-node run") as channel:
        path = f"/homing_proto.v1.NodeControlService/{method}"
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await send_raw(channel, path, b"\xff\xff\xff", stream=method == "OpenPairing")
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert (await (await rig.control()).daemon()).name == "den"


@pytest.mark.attack
async def test_the_main_port_is_not_the_local_one(rig: NodeRig) -> None:
    phone = await rig.phone()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await send_raw(phone.channel, "/homing_proto.v1.NodeControlService/StopDaemon", b"")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert not rig.stop.is_set()


async def test_a_second_node_on_the_data_directory_is_refused(tmp_path: Path) -> None:
    async with node_rig(tmp_path):
        with pytest.raises(ConflictError, match=f"pid {os.getpid()}"):
            async with node_rig(tmp_path):
                pass
    async with node_rig(tmp_path) as again:
        assert (await (await again.control()).daemon()).name == "den"


async def test_pairings_outlive_the_node(tmp_path: Path) -> None:
    identity = throwaway_identity()
    async with node_rig(tmp_path) as rig:
        rig.running.store.add(paired_device(identity))
        node = rig.running.facts.id
    async with node_rig(tmp_path) as rig:
        assert rig.running.facts.id == node
        phone = await rig.dial(identity)
        await phone.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
        (device,) = await (await rig.control()).devices()
        assert device.last_seen_at > FakeClock().now() - 1e9


async def test_without_a_daemon(tmp_path: Path) -> None:
    async with node_rig(tmp_path) as rig:
        control = await rig.control()
        paths = rig.paths
        await control.daemon()
    with pytest.raises(UnavailableError, match="does not run"):
        async with open_local_channel(paths, "homing-node run"):
            pass


@pytest.mark.parametrize("name", ["with a space", "per%41cent", "Zoë's ☎", "a:b,c?d#e"])
async def test_the_data_directory_may_be_called_anything(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(prefix="h") as short:
        monkeypatch.setenv("XDG_RUNTIME_DIR", short)
        async with node_rig(tmp_path / name) as rig:
            assert (await (await rig.control()).daemon()).name == "den"
            assert socket_path(rig.paths).is_socket()


async def test_a_long_path_gets_its_socket_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(prefix="h") as short:
        monkeypatch.setenv("XDG_RUNTIME_DIR", short)
        async with node_rig(tmp_path / ("d" * 150)) as rig:
            monkeypatch.delenv("XDG_RUNTIME_DIR")
            assert (await (await rig.control()).daemon()).name == "den"
            assert not (rig.paths.run_dir / "control.sock").exists()
