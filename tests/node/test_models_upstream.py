"""A model behind another server, as phones see it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from homing_agent.runtime.model_host import ModelStatus, Phase
from homing_core.errors import UnavailableError
from homing_core.generation import Done, FinishReason, GenerateRequest, TextDelta
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_node.config import UpstreamSection
from homing_node.models import pool
from homing_node.models.slots import ConfiguredModel
from homing_node.models.upstream import UpstreamSource
from homing_proto.codec.generation import encode_generate_request
from homing_proto.codec.nodes import decode_node_info
from homing_proto.v1 import node_pb2
from support.node_rig import DEADLINE_S, Phone, all_events, node_rig, refusal
from support.openai_server import FakeOpenAI, finish, sse, text, usage

if TYPE_CHECKING:
    from pathlib import Path

    from support.node_rig import Events

KEY = "sk-only-for-the-server"


def generate(phone: Phone, model: str) -> Events:
    request = GenerateRequest(new_generation_id(), (user("hello"),), model)
    return phone.inference.Generate(encode_generate_request(request), timeout=DEADLINE_S)


async def names(phone: Phone) -> list[str]:
    info = decode_node_info(await phone.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S))
    return [model.name for model in info.models]


async def test_a_server_may_be_away_at_the_start_and_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = FakeOpenAI()
    async with server:
        pass  # it has a port now, at which nobody listens
    key = tmp_path / "key"
    key.write_text(KEY)
    key.chmod(0o600)
    section = UpstreamSection(server.url, "small", str(key))
    status = ModelStatus("attic", Phase.UNLOADED)
    attic = ConfiguredModel(status, UpstreamSource("attic", section), "attic", resident=True)
    async with node_rig(tmp_path, also=(attic,)) as rig:
        phone = await rig.phone()
        host = rig.running.models.slots[1].host
        with pytest.raises(UnavailableError):
            await asyncio.wait_for(host.settled(), DEADLINE_S)
        assert await names(phone) == ["fed-1b:bf16"]
        error = await refusal(generate(phone, "attic"))
        assert isinstance(error, UnavailableError)
        assert "127.0.0.1" in error.what

        async with server:
            server.chat(sse(text("Hello"), text(" there"), finish("stop"), usage(9, 2)))
            monkeypatch.setattr(pool, "RETRY_S", 0.0)
            assert await names(phone) == ["fed-1b:bf16", "attic"]
            events = [item.event for item in await all_events(generate(phone, "attic"))]
            said = "".join(event.text for event in events if isinstance(event, TextDelta))
            assert (said, events[-1]) == ("Hello there", Done(FinishReason.STOP))
            assert all(asked.headers["authorization"] == f"Bearer {KEY}" for asked in server.asked)
            (body,) = server.chats
            assert phone.identity.device_id not in str(body)
