"""Open streams of devices whose time runs out while they are open, on a real node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc
import pytest
from homing_core.access import DEFAULT_SCOPES, DeviceRole, Limits
from homing_core.errors import HomingError, UnpairedError
from homing_core.generation import GenerateRequest, TextDelta
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_crypto.rpc_errors import error_from_rpc
from homing_node.devices import watch
from homing_proto.codec.generation import encode_generate_request
from support.node_rig import DEADLINE_S, Generated, NodeRig, next_event, node_rig

if TYPE_CHECKING:
    from pathlib import Path

    from support.node_rig import Phone


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "WATCH_S", 0.02)


async def streaming(rig: NodeRig, phone: Phone) -> Generated:
    request = GenerateRequest(new_generation_id(), (user("hello"),))
    stream = phone.inference.Generate(encode_generate_request(request), timeout=DEADLINE_S)
    rig.engine.feed(request.id, TextDelta("a"))
    assert await next_event(stream) is not None
    return stream


async def end_of(stream: Generated) -> HomingError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await next_event(stream)
    assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
    return error_from_rpc(caught.value)


async def test_a_stream_ends_with_its_devices_time(tmp_path: Path) -> None:
    async with node_rig(tmp_path) as rig:
        guest, other = await rig.phone(DeviceRole.GUEST), await rig.phone(DeviceRole.GUEST)
        ending, going_on = await streaming(rig, guest), await streaming(rig, other)
        rig.running.store.grant(
            guest.identity.device_id,
            DeviceRole.GUEST,
            DEFAULT_SCOPES[DeviceRole.GUEST],
            Limits(expires_at=1),
        )
        error = await end_of(ending)
        assert isinstance(error, UnpairedError)
        assert "over" in error.what
        assert rig.running.generations.running() == 1
        assert not going_on.done()


async def test_a_stream_ends_with_a_revocation_by_another_process(tmp_path: Path) -> None:
    """Only the store says so; the desk knew nothing of it."""
    async with node_rig(tmp_path) as rig:
        phone = await rig.phone()
        stream = await streaming(rig, phone)
        rig.running.store.revoke(phone.identity.device_id)
        assert "revoked" in (await end_of(stream)).what
        assert rig.running.generations.running() == 0
