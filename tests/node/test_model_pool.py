"""Several models: which is loaded when, and who waits for what."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import pytest
from homing_agent.runtime.model_host import ModelStatus, Phase
from homing_agent.runtime.testing import HeldSource
from homing_core.errors import (
    ConfigError,
    InvalidDataError,
    NotFoundError,
    OverloadedError,
    UnavailableError,
)
from homing_core.testing import FakeClock
from homing_inference.engine import EngineState
from homing_node.models import pool as pool_module
from homing_node.models.pool import RETRY_S, ModelPool
from homing_node.models.slots import ConfiguredModel
from support.fed_engine import INFO, FedEngine

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine

    from homing_inference.engine import Engine

T = TypeVar("T")
GIB = 1 << 30


async def within(work: Coroutine[object, object, T]) -> T:
    return await asyncio.wait_for(work, 20)


class Rig:
    """Models `a`, `b` and `c` of 1 GiB each; `a` is the default."""

    def __init__(self, budget_gib: float = 2, *, ready: str = "abc") -> None:
        self.clock = FakeClock()
        self.engines = {name: FedEngine(replace(INFO, model=name)) for name in "abc"}
        self.sources = {
            name: HeldSource(engine, ready=name in ready, need_bytes=GIB)
            for name, engine in self.engines.items()
        }
        self.pool = ModelPool(
            [
                ConfiguredModel(ModelStatus(name, Phase.UNLOADED), source, f"{name}.gguf")
                for name, source in self.sources.items()
            ],
            budget_bytes=int(budget_gib * GIB),
            clock=self.clock,
        )

    @property
    def loaded(self) -> str:
        return "".join(slot.name for slot in self.pool.slots if slot.host.engine is not None)

    async def use(self, name: str) -> None:
        """Ask for a model and be done with it."""
        self.clock.advance(1)
        async with asyncio.timeout(20), self.pool.lease(name) as engine:
            assert engine is self.engines[name.removesuffix(".gguf") or "a"]


@contextlib.asynccontextmanager
async def leased(rig: Rig, name: str) -> AsyncGenerator[Engine]:
    async with contextlib.AsyncExitStack() as stack:
        async with asyncio.timeout(20):
            engine = await stack.enter_async_context(rig.pool.lease(name))
        yield engine


async def test_the_default_loads_at_the_start_and_others_when_asked_for() -> None:
    rig = Rig()
    rig.pool.start()
    await within(rig.pool.settled())
    assert rig.loaded == "a"
    await rig.use("b")
    await rig.use("b.gguf")
    await rig.use("")
    assert rig.loaded == "ab"
    assert [rig.sources[name].loads for name in "abc"] == [1, 1, 0]
    await rig.pool.close()
    assert rig.engines["a"].is_closed
    assert rig.engines["b"].is_closed


async def test_the_one_that_was_not_used_for_longest_makes_room() -> None:
    rig = Rig()
    for name in "abac":
        await rig.use(name)
    assert rig.loaded == "ac"
    assert rig.engines["b"].is_closed
    await rig.use("b")
    assert rig.loaded == "bc"
    assert rig.sources["b"].loads == 2


async def test_a_model_in_use_is_never_unloaded() -> None:
    rig = Rig(budget_gib=1)
    async with leased(rig, "a"):
        with pytest.raises(OverloadedError) as caught:
            await rig.use("b")
        assert caught.value.retry_after_ms > 0
        assert "1,024 MiB" in caught.value.what
        assert not rig.engines["a"].is_closed
        rig.pool.check("b")  # a lack of room is forgotten at once
    await rig.use("b")
    assert rig.loaded == "b"


async def test_what_an_engine_said_before_its_last_answer_ended_keeps_nobody_out() -> None:
    rig = Rig(budget_gib=1)
    await rig.use("a")
    rig.engines["a"].state = EngineState(running=1)
    await rig.use("b")
    assert rig.loaded == "b"


async def test_what_an_engine_says_that_it_takes_counts() -> None:
    rig = Rig(budget_gib=3)
    await rig.use("a")
    await rig.use("b")
    rig.engines["b"].state = EngineState(memory_bytes=2 * GIB)
    await rig.use("c")
    assert rig.loaded == "bc", "a was used before b"


async def test_several_requests_wait_for_one_load() -> None:
    rig = Rig(ready="a")
    waiting = [asyncio.create_task(rig.use("b")) for _ in range(3)]
    await within(rig.sources["b"].asked.wait())
    impatient = asyncio.create_task(rig.use("b"))
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    assert rig.loaded == ""
    rig.sources["b"].finish()
    await within(_all(waiting))
    assert rig.sources["b"].loads == 1


async def test_one_model_loads_at_a_time() -> None:
    rig = Rig(budget_gib=3, ready="")
    first = asyncio.create_task(rig.use("b"))
    await within(rig.sources["b"].asked.wait())
    second = asyncio.create_task(rig.use("c"))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not rig.sources["c"].asked.is_set()
    rig.sources["b"].finish()
    await within(rig.sources["c"].asked.wait())
    rig.sources["c"].finish()
    await within(_all([first, second]))
    assert rig.loaded == "bc"


async def test_room_is_free_before_the_next_one_loads() -> None:
    rig = Rig(budget_gib=1)
    await rig.use("a")
    gate = asyncio.Event()
    slow = rig.engines["a"]

    async def close() -> None:
        await gate.wait()
        slow.is_closed = True

    slow.close = close  # type: ignore[method-assign]  # an engine that takes its time
    asked = asyncio.create_task(rig.use("b"))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not rig.sources["b"].asked.is_set()
    gate.set()
    await within(_all([asked]))
    assert slow.is_closed


async def test_a_model_that_does_not_load_says_why_for_a_while() -> None:
    rig = Rig(ready="ac")
    asked = asyncio.create_task(rig.use("b"))
    await within(rig.sources["b"].asked.wait())
    rig.sources["b"].finish(InvalidDataError("b.gguf is no model", "Fetch it again."))
    with pytest.raises(InvalidDataError, match="no model"):
        await within(_all([asked]))
    for _ in range(2):
        with pytest.raises(InvalidDataError, match="no model"):
            rig.pool.check("b")
        with pytest.raises(InvalidDataError, match="no model"):
            await rig.use("b")
    assert rig.sources["b"].loads == 1
    assert [slot.name for slot in rig.pool.offered] == ["a", "c"]
    await rig.use("a")
    rig.clock.advance(RETRY_S)
    assert [slot.name for slot in rig.pool.offered] == ["a", "b", "c"]
    rig.sources["b"].finish()
    rig.pool.check("b")
    await rig.use("b")
    assert rig.loaded == "ab"


async def test_a_failed_load_gives_its_room_back() -> None:
    rig = Rig(budget_gib=1, ready="ac")
    asked = asyncio.create_task(rig.use("b"))
    await within(rig.sources["b"].asked.wait())
    rig.sources["b"].finish(UnavailableError("it stopped"))
    with pytest.raises(UnavailableError):
        await within(_all([asked]))
    await rig.use("c")
    assert rig.loaded == "c"


async def test_what_is_idle_makes_room_where_other_programs_took_it() -> None:
    rig = Rig(budget_gib=9)
    await rig.use("a")
    taken = OverloadedError("b needs 1,024 MiB of memory, and 300 MiB are available")
    rig.sources["b"].finish(taken)
    async with leased(rig, "c"):
        with pytest.raises(OverloadedError, match="300 MiB"):
            await rig.use("b")
        assert rig.loaded == "c"
    assert rig.sources["b"].loads == 2
    with pytest.raises(OverloadedError, match="300 MiB"):
        await rig.use("b")
    assert rig.sources["b"].loads == 2, "that is remembered for a while"


async def test_a_model_larger_than_the_budget() -> None:
    rig = Rig(budget_gib=0.5)
    with pytest.raises(ConfigError, match="512 MiB"):
        await rig.use("b")


async def test_an_unknown_model_is_told_what_there_is() -> None:
    rig = Rig()
    for ask in (rig.pool.check, rig.use):
        with pytest.raises(NotFoundError) as caught:
            await _maybe(ask("gpt-9"))
        assert "a, b, c" in caught.value.hint


async def test_during_the_first_load_phones_are_told_at_once() -> None:
    rig = Rig(ready="bc")
    rig.pool.start()
    await within(rig.sources["a"].asked.wait())
    with pytest.raises(UnavailableError, match="loading"):
        rig.pool.check("")
    rig.pool.check("b")
    rig.sources["a"].finish()
    await within(rig.pool.settled())
    rig.pool.check("")


async def test_two_models_of_one_name_are_refused() -> None:
    model = ConfiguredModel(ModelStatus("a", Phase.UNLOADED), HeldSource(FedEngine()))
    with pytest.raises(ConfigError, match="served as a"):
        ModelPool([model, model], budget_bytes=GIB, clock=FakeClock())


async def test_closing_ends_a_load_and_whoever_waits_for_it() -> None:
    rig = Rig(ready="")
    asked = asyncio.create_task(rig.use("b"))
    await within(rig.sources["b"].asked.wait())
    asked.cancel()
    await within(rig.pool.close())
    await asyncio.gather(asked, return_exceptions=True)
    assert rig.loaded == ""


async def test_a_server_that_is_away_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "RETRY_S", 0.01)
    here, away = FedEngine(replace(INFO, model="a")), FedEngine(replace(INFO, model="attic"))
    source = HeldSource(away)
    source.finish(UnavailableError("attic does not answer"))
    status = ModelStatus("attic", Phase.UNLOADED)
    pool = ModelPool(
        [
            ConfiguredModel(ModelStatus("a", Phase.UNLOADED), HeldSource(here)),
            ConfiguredModel(status, source, resident=True),
        ],
        budget_bytes=0,
        clock=FakeClock(),
    )
    pool.start()
    host = pool.slots[1].host
    with pytest.raises(UnavailableError, match="attic does not answer"):
        await within(host.settled())
    assert [slot.name for slot in pool.offered] == ["a"]
    source.finish()
    async with asyncio.timeout(20):
        while host.status.phase is not Phase.READY:
            await host.after(host.status)
    assert [slot.name for slot in pool.offered] == ["a", "attic"]
    await pool.close()
    assert away.is_closed


async def _all(tasks: list[asyncio.Task[None]]) -> None:
    await asyncio.gather(*tasks)


async def _maybe(result: Coroutine[object, object, None] | None) -> None:
    if result is not None:
        await result
