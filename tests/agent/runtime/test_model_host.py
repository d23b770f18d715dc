"""A model that comes, goes and comes back; and what is known of one that is not there."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_agent.runtime.model_host import ModelHost, ModelStatus, Phase
from homing_agent.runtime.model_memory import memory_need
from homing_agent.runtime.model_source import CatalogSource, Wanted, expected_status
from homing_agent.runtime.testing import HeldSource
from homing_core.errors import NotFoundError, UnavailableError
from homing_inference.catalog.store import Store
from homing_inference.synthetic import write_qwen35
from support.fed_engine import INFO, FedEngine
from support.templates import HERMES

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

MIB = 1 << 20
EXPECTED = ModelStatus("fed-1b:bf16", Phase.UNLOADED, quantization="BF16", sha256="a" * 64)


async def settled(host: ModelHost) -> None:
    await asyncio.wait_for(host.settled(), 20)


async def test_an_engine_that_was_given_away_is_loaded_again_when_asked() -> None:
    engine = FedEngine()
    source = HeldSource(engine)
    host = ModelHost("fed-1b:bf16", source, EXPECTED)
    assert host.detach() is None
    host.again()
    await settled(host)
    assert host.info == INFO
    assert host.detach() is engine
    assert (host.engine, host.info) == (None, INFO)
    assert (host.status.phase, host.status.words) == (Phase.UNLOADED, "not loaded")
    assert host.status.quantization == "BF16"
    with pytest.raises(UnavailableError, match="not loaded"):
        host.engine_for("")
    host.again()
    host.again()
    await settled(host)
    assert host.engine is engine
    assert source.loads == 2
    await host.close()
    assert engine.is_closed


async def test_what_is_known_of_a_model_outlives_a_failure() -> None:
    source = HeldSource(FedEngine(), ready=False)
    host = ModelHost("fed-1b:bf16", source, EXPECTED)
    host.again()
    await asyncio.wait_for(source.asked.wait(), 20)
    assert source.report is not None
    source.report(replace(EXPECTED, phase=Phase.LOADING, step="loading", done=4, total=9))
    source.finish(UnavailableError("it stopped"))
    with pytest.raises(UnavailableError):
        await settled(host)
    assert host.status == replace(EXPECTED, phase=Phase.FAILED)
    source.finish()
    host.again()
    await settled(host)
    assert host.error is None


def test_what_the_catalog_knows_of_a_model_that_is_not_here() -> None:
    known = expected_status(Wanted("node", "stand-in-0.5b", stand_in=True))
    assert (known.name, known.quantization, known.stand_in) == (
        "stand-in-0.5b:bf16",
        "BF16",
        True,
    )
    assert expected_status(Wanted("phone")).name == "botpsy-0.8b:q4_k_m"
    assert expected_status(Wanted("phone", "./models/My-Own.gguf")).name == "My-Own"
    with pytest.raises(NotFoundError):
        expected_status(Wanted("node", "qwen9"))


def test_memory_is_estimated_from_the_metadata() -> None:
    """The 0.5B stand-in: 24 layers, 2 heads of 64 for keys and for values, 16 bits each."""
    numbers = {
        "qwen2.block_count": 24,
        "qwen2.attention.head_count": 14,
        "qwen2.attention.head_count_kv": 2,
        "qwen2.embedding_length": 896,
        "qwen2.context_length": 32768,
    }
    bare = memory_need(500 * MIB, "qwen2", numbers, 4096, 2, 4096, MIB)
    assert memory_need(500 * MIB, "qwen2", numbers, 4096, 2, 4096 + 1024, MIB) - bare == 12 * MIB
    chosen = memory_need(500 * MIB, "qwen2", numbers, 0, 0, 0, 0)
    assert chosen == memory_need(500 * MIB, "qwen2", numbers, 8192, 8, 4 * 8192, 256 * MIB)
    assert memory_need(500 * MIB, "", {}, 0, 0, 0, MIB) == (500 + 1 + 150) * MIB


async def test_a_model_is_let_in_before_it_is_loaded(tmp_path: Path) -> None:
    asked: list[int] = []

    def admit(need_bytes: int) -> AbstractAsyncContextManager[None]:
        asked.append(need_bytes)
        msg = "there is no room"
        raise UnavailableError(msg)

    path = write_qwen35(tmp_path / "tiny.gguf", HERMES)
    wanted = Wanted("node", str(path), context_tokens=512, checkpoint_bytes=MIB)
    said: list[ModelStatus] = []
    with pytest.raises(UnavailableError, match="no room"):
        await CatalogSource(wanted, Store(tmp_path)).load(said.append, admit)
    (need,) = asked
    assert path.stat().st_size + 151 * MIB < need < path.stat().st_size + 170 * MIB
    assert said[-1].phase is Phase.LOADING
    assert said[-1].sha256
