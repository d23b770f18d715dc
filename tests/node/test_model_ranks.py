"""Several models and not enough room: the household goes before guests."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_agent.runtime.model_host import ModelStatus, Phase
from homing_agent.runtime.testing import HeldSource
from homing_core.errors import IntegrityError, NotFoundError, OverloadedError
from homing_core.testing import FakeClock
from homing_node.models.pool import ModelPool
from homing_node.models.slots import HOUSEHOLD_KEEPS_S, ConfiguredModel
from support.fed_engine import INFO, FedEngine

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_inference.engine import Engine

GIB = 1 << 30
WAIT_S = 20


class Rig:
    """Models `a` (the default), `b` and `c` of 1 GiB each, and room for one."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.engines = {name: FedEngine(replace(INFO, model=name)) for name in "abc"}
        self.sources = {
            name: HeldSource(engine, ready=name != "c", need_bytes=GIB)
            for name, engine in self.engines.items()
        }
        self.pool = ModelPool(
            [
                ConfiguredModel(ModelStatus(name, Phase.UNLOADED), source, f"{name}.gguf")
                for name, source in self.sources.items()
            ],
            budget_bytes=GIB,
            clock=self.clock,
        )

    @property
    def loaded(self) -> str:
        return "".join(slot.name for slot in self.pool.slots if slot.host.engine is not None)

    async def start(self) -> None:
        self.pool.start()
        await asyncio.wait_for(self.pool.settled(), WAIT_S)

    @contextlib.asynccontextmanager
    async def leased(self, name: str, *, guest: bool = False) -> AsyncGenerator[Engine]:
        async with contextlib.AsyncExitStack() as stack:
            async with asyncio.timeout(WAIT_S):
                engine = await stack.enter_async_context(self.pool.lease(name, yields=guest))
            yield engine


async def test_a_guest_does_not_unload_what_the_household_used_last() -> None:
    rig = Rig()
    await rig.start()
    with pytest.raises(OverloadedError):
        async with rig.leased("b", guest=True):
            pass
    assert rig.loaded == "a"
    async with rig.leased("b"):
        assert rig.loaded == "b"
    with pytest.raises(OverloadedError):
        async with rig.leased("a", guest=True):
            pass
    rig.clock.advance(HOUSEHOLD_KEEPS_S + 1)
    async with rig.leased("a", guest=True):
        assert rig.loaded == "a"


async def test_a_guests_answer_gives_way_to_the_household() -> None:
    rig = Rig()
    await rig.start()
    rig.clock.advance(HOUSEHOLD_KEEPS_S + 1)
    async with rig.leased("b", guest=True):
        assert rig.loaded == "b"
        async with rig.leased("") as engine:
            assert engine is rig.engines["a"]
            assert rig.loaded == "a"
            assert rig.engines["b"].is_closed


async def test_an_answer_of_the_household_gives_way_to_nobody() -> None:
    rig = Rig()
    await rig.start()
    async with rig.leased("a"):
        for guest in (True, False):
            with pytest.raises(OverloadedError):
                async with rig.leased("b", guest=guest):
                    pass
    assert not rig.engines["a"].is_closed


async def test_a_guest_who_shares_a_model_with_the_household_stays() -> None:
    rig = Rig()
    await rig.start()
    async with rig.leased("a"), rig.leased("a", guest=True):
        with pytest.raises(OverloadedError):
            async with rig.leased("b"):
                pass


async def test_a_model_that_cannot_be_loaded_leaves_the_default_loaded_again() -> None:
    rig = Rig()
    await rig.start()
    rig.sources["c"].finish(IntegrityError("the file is damaged"))
    with pytest.raises(IntegrityError):
        async with rig.leased("c"):
            pass
    await asyncio.wait_for(rig.pool.settled(), WAIT_S)
    assert rig.loaded == "a"
    with pytest.raises(IntegrityError):
        async with rig.leased("c"):
            pass
    assert rig.loaded == "a"
    assert rig.sources["a"].loads == 2


def test_a_model_goes_by_its_names() -> None:
    pool = Rig().pool
    assert pool.names("") == pool.names("a.gguf") == ("a", "a.gguf")
    assert pool.all_names()[1] == ("b", "b.gguf")
    assert pool.context_tokens("") == 0
    with pytest.raises(NotFoundError):
        pool.names("d")
