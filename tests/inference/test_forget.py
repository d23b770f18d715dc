"""What a conversation left in a model's memory goes when its owner does."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_core.messages import assistant, user
from homing_inference.host import ChildEngine, ModelFile
from support.engines import SYSTEM, ask, collect, text_of, usage_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.attack
async def test_nothing_of_a_forgotten_owner_is_found_again(tiny_qwen35: Path) -> None:
    async with AsyncExitStack() as stack:
        engine = await ChildEngine.start(
            ModelFile(tiny_qwen35, "tiny"), context_tokens=2048, checkpoint_bytes=64 << 20
        )
        stack.push_async_callback(engine.close)
        await _try(engine)


async def _try(engine: ChildEngine) -> None:
    first = replace(ask("How do I bleed a radiator? " * 4), owner="one")
    words = text_of(await collect(engine, first))
    second = (*first.messages, assistant(words), user("And then?"))

    async def known(owner: str) -> int:
        asked = replace(ask(), messages=second, owner=owner)
        return usage_of(await collect(engine, asked)).cached_tokens

    async def known_to_anybody() -> int:
        asked = replace(ask(), messages=(SYSTEM, user("Something else")), owner="nobody")
        return usage_of(await collect(engine, asked)).cached_tokens

    prefix = await known_to_anybody()
    assert await known("two") == prefix
    assert await known("one") > prefix
    engine.forget("one")
    assert await known("one") == prefix
