"""Which home tools a device is told of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_core.access import DeviceRole, Limits, Scope
from homing_core.errors import RefusedError
from homing_crypto.testing import paired_device, throwaway_identity
from homing_node.testing import FixedTools
from homing_proto.v1 import node_pb2, node_pb2_grpc
from support.home_tools import EchoTool, FilesTool
from support.node_rig import DEADLINE_S, NodeRig, node_rig, refusal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from homing_crypto.devices import PairedDevice


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path, tools=FixedTools(tools=(EchoTool(), FilesTool()))) as running:
        yield running


async def listing(rig: NodeRig, **changes: object) -> node_pb2_grpc.ToolsServiceAsyncStub:
    """The calls of a member's device that is changed so."""
    identity = throwaway_identity()
    entry: PairedDevice = paired_device(identity, DeviceRole.MEMBER)
    rig.running.store.add(replace(entry, **changes))  # type: ignore[arg-type]  # by name
    phone = await rig.dial(identity)
    return node_pb2_grpc.ToolsServiceStub(phone.channel)


async def names(rig: NodeRig, **changes: object) -> list[str]:
    stub = await listing(rig, **changes)
    answer = await stub.ListTools(node_pb2.ListToolsRequest(), timeout=DEADLINE_S)
    return [tool.name for tool in answer.tools]


async def test_a_device_is_told_of_what_it_may_run_as_jobs(rig: NodeRig) -> None:
    assert await names(rig) == ["echo", "files"]
    assert await names(rig, limits=Limits(tools=("scripted.f*",))) == ["files"]


async def test_without_jobs_or_a_key_to_seal_for_there_is_nothing_to_be_told(rig: NodeRig) -> None:
    assert await names(rig, scopes=frozenset({Scope.TOOLS, Scope.INFERENCE})) == []
    assert await names(rig, hpke_public_key=b"", hpke_signature=b"") == []
    stub = await listing(rig, scopes=frozenset({Scope.JOBS, Scope.INFERENCE}))
    error = await refusal(stub.ListTools(node_pb2.ListToolsRequest(), timeout=DEADLINE_S))
    assert isinstance(error, RefusedError)
