"""Attack 25: the node is killed (kill -9) in the middle of an answer, to be rid of what it counted.

Expected: the prompt was on disk before an engine was asked, and what was written since is
forgotten for a few seconds at most; the budget goes on from there.
"""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import OverloadedError
from homing_crypto.credentials import client_channel
from homing_inference.synthetic import write_qwen35
from support.limited import asked, question, refused
from support.node_process import finished
from support.node_rig import Phone, next_event
from support.real_node import real_node
from support.templates import HERMES

if TYPE_CHECKING:
    from pathlib import Path

    from support.real_node import RealNode

PROMPT = "x" * 900
"""Tokens of the model used here are bytes."""


async def used(node: RealNode) -> int:
    """Tokens that count now, as the operator reads them."""
    done = await finished("devices", "usage", "--json", *node.places, env=node.env)
    assert done.status == 0, done.err
    (line,) = done.out.splitlines()
    found: int = json.loads(line)["tokens_24h"]
    return found


@pytest.mark.attack(25)
async def test_a_node_that_is_killed_in_mid_stream_still_knows_what_was_used(
    tmp_path: Path,
) -> None:
    model = write_qwen35(tmp_path / "tiny.gguf", HERMES)
    async with real_node(tmp_path, model) as node:
        phone, _ = await node.phone("--role", "member")
        words = ("devices", "grant", phone.identity.device_id, "--tokens-per-day", "1200")
        granted = await finished(*words, *node.places, env=node.env)
        assert granted.status == 0, granted.err
        call = asked(phone, question(PROMPT, max_tokens=400))
        assert await next_event(call) is not None
        await node.process.end(signal.SIGKILL)
        call.cancel()
    async with real_node(tmp_path, model) as again:
        counted = await used(again)
        assert counted >= len(PROMPT) // 3
        again.certificate = node.certificate
        phone = await reconnected(again, phone)
        last = question("x" * (3 * (1200 - counted) + 30))
        error = await refused(phone, last)
        assert isinstance(error, OverloadedError)


async def reconnected(node: RealNode, phone: Phone) -> Phone:
    """The same device at the node's new port."""
    assert node.certificate is not None
    channel = client_channel(node.address, phone.identity, node.certificate)
    return Phone(phone.identity, await node.stack.enter_async_context(channel))
