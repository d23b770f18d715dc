from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import pytest
from homing_core.errors import (
    ConflictError,
    InvalidDataError,
    NotFoundError,
    OverloadedError,
    TooLongError,
    UnavailableError,
)
from homing_core.generation import (
    Done,
    Failed,
    FinishReason,
    GenerateRequest,
    GenerationEvent,
    Numbered,
    TextDelta,
    Usage,
)
from homing_core.ids import DeviceId, new_generation_id
from homing_core.messages import user
from homing_core.testing import FakeClock
from homing_inference.testing import ScriptedEngine
from homing_node.generations.runner import Generations
from homing_node.generations.table import GenerationLimits, GenerationTable
from homing_node.testing import OneEngine
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fed_engine import FedEngine

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from homing_node.generations.events import EventLog

T = TypeVar("T")

PHONE = DeviceId("a" * 64)
OTHER = DeviceId("b" * 64)
STOP = Done(FinishReason.STOP)
CANCELLED = Done(FinishReason.CANCELLED)


class Rig:
    def __init__(self, limits: GenerationLimits | None = None) -> None:
        self.engine = FedEngine()
        table = GenerationTable(limits or GenerationLimits(), FakeClock())
        self.engines = OneEngine(self.engine)
        self.generations = Generations(table, self.engines)

    async def begin(self, request: GenerateRequest | None = None) -> EventLog:
        asked = request or ask()
        log = self.generations.start(PHONE, asked)
        assert (await within(self.engine.started.get())).id == asked.id
        return log

    async def read(self, log: EventLog, after: int = 0) -> list[GenerationEvent]:
        async def collect() -> list[Numbered]:
            return [item async for item in self.generations.read(log, after)]

        items = await within(collect())
        assert [item.seq for item in items] == list(range(after + 1, after + 1 + len(items)))
        return [item.event for item in items]


async def within(work: Coroutine[object, object, T]) -> T:
    return await asyncio.wait_for(work, 20)


def ask(text: str = "hello", deadline_ms: int = 0, model: str = "") -> GenerateRequest:
    request = GenerateRequest(new_generation_id(), (user(text),))
    return replace(request, deadline_ms=deadline_ms, model=model)


async def test_events_arrive_numbered_and_the_last_ends_the_stream() -> None:
    rig = Rig()
    log = await rig.begin()
    usage = Usage(3, 0, 2, 10.0, 20.0)
    rig.engine.feed(log.id, TextDelta("a"), TextDelta("b"), usage, STOP)
    assert await rig.read(log) == [TextDelta("a"), TextDelta("b"), usage, STOP]
    assert rig.generations.last_usage == usage
    assert rig.generations.running() == 0


async def test_the_scripted_engine_runs_through_it_as_a_real_one() -> None:
    engine = ScriptedEngine(["Hel", "lo"], [UnavailableError("the engine is gone")])
    table = GenerationTable(GenerationLimits(), FakeClock())
    generations = Generations(table, OneEngine(engine))
    answered, failed = (generations.start(PHONE, ask()) for _ in range(2))
    texts = [item.event async for item in generations.read(answered)]
    assert texts[:2] == [TextDelta("Hel"), TextDelta("lo")]
    assert isinstance(texts[2], Usage)
    assert texts[3:] == [STOP]
    (only,) = [item.event async for item in generations.read(failed)]
    assert isinstance(only, Failed)
    assert only.retryable
    assert generations.last_usage == texts[2]


async def test_repeating_the_request_attaches_from_the_first_event() -> None:
    rig = Rig()
    request = ask()
    log = await rig.begin(request)
    rig.engine.feed(log.id, TextDelta("a"))
    again = rig.generations.start(PHONE, replace(request, deadline_ms=9))
    assert again is log
    rig.engine.feed(log.id, STOP)
    both = await asyncio.gather(rig.read(log), rig.read(again))
    assert both[0] == both[1] == [TextDelta("a"), STOP]
    assert rig.engine.started.empty()
    assert await rig.read(rig.generations.start(PHONE, request)) == both[0]


async def test_same_id_for_another_request_is_refused() -> None:
    rig = Rig()
    request = ask()
    await rig.begin(request)
    with pytest.raises(ConflictError):
        rig.generations.start(PHONE, replace(request, messages=(user("other"),)))
    other = rig.generations.start(OTHER, replace(request, messages=(user("other"),)))
    assert other.device == OTHER
    await rig.generations.stop(0)


async def test_a_reader_that_leaves_ends_nothing_and_may_come_back() -> None:
    rig = Rig()
    log = await rig.begin()
    rig.engine.feed(log.id, TextDelta("a"))
    async with contextlib.aclosing(rig.generations.read(log)) as events:
        assert await within(anext(events)) == Numbered(1, TextDelta("a"))
    rig.engine.feed(log.id, TextDelta("b"), STOP)
    assert await rig.read(rig.generations.find(PHONE, log.id), 1) == [TextDelta("b"), STOP]


async def test_resume_after_the_last_event_of_an_ended_generation_is_empty() -> None:
    rig = Rig()
    log = await rig.begin()
    rig.engine.feed(log.id, STOP)
    assert await rig.read(log) == [STOP]
    assert await rig.read(log, 1) == []
    with pytest.raises(InvalidDataError):
        await rig.read(log, 2)


async def test_acknowledged_events_are_gone_and_the_rest_is_not() -> None:
    rig = Rig()
    log = await rig.begin()
    rig.engine.feed(log.id, TextDelta("a"), TextDelta("b"), STOP)
    await rig.read(log)
    rig.generations.ack(PHONE, log.id, 2)
    rig.generations.ack(PHONE, log.id, 1)
    assert await rig.read(log, 2) == [STOP]
    with pytest.raises(ConflictError, match="acknowledged"):
        await rig.read(log, 0)
    with pytest.raises(NotFoundError):
        rig.generations.ack(OTHER, log.id, 1)


async def test_cancel_ends_the_engine_and_every_reader() -> None:
    rig = Rig()
    log = await rig.begin()
    rig.engine.feed(log.id, TextDelta("a"))
    readers = [asyncio.create_task(rig.read(log)) for _ in range(3)]
    async with contextlib.aclosing(rig.generations.read(log)) as events:
        await within(anext(events))
    assert rig.generations.cancel(PHONE, log.id)
    for reader in readers:
        assert await reader == [TextDelta("a"), CANCELLED]
    assert await within(rig.engine.closed.get()) == log.id
    assert not rig.generations.cancel(PHONE, log.id)
    with pytest.raises(NotFoundError):
        rig.generations.cancel(OTHER, log.id)
    await rig.generations.stop(0)
    assert rig.engines.leased == 0


async def test_an_engine_is_held_while_an_answer_is_written() -> None:
    rig = Rig()
    log, other = await rig.begin(), await rig.begin()
    assert rig.engines.leased == 2
    rig.engine.feed(log.id, STOP)
    await rig.read(log)
    assert rig.engines.leased == 1
    rig.engine.feed(other.id, ValueError("a fault"))
    await rig.read(other)
    assert rig.engines.leased == 0


async def test_what_is_left_in_the_engine_is_the_asking_devices() -> None:
    rig = Rig()
    for device in (PHONE, OTHER):
        log = rig.generations.start(device, replace(ask(), owner=PHONE))
        taken = await within(rig.engine.started.get())
        assert (taken.id, taken.owner) == (log.id, device)
    await rig.generations.stop(0)


async def test_cancel_before_the_first_step() -> None:
    rig = Rig()
    log = rig.generations.start(PHONE, ask())
    assert rig.generations.cancel(PHONE, log.id)
    assert await rig.read(log) == [CANCELLED]
    await rig.generations.stop(0)
    assert rig.generations.running() == 0


async def test_too_many_are_refused_and_end_when_one_does() -> None:
    rig = Rig(GenerationLimits(running_per_device=1))
    log = await rig.begin()
    with pytest.raises(OverloadedError):
        rig.generations.start(PHONE, ask())
    rig.engine.feed(log.id, STOP)
    await rig.read(log)
    await rig.begin()
    await rig.generations.stop(0)


async def test_what_cannot_start_leaves_its_id_free() -> None:
    rig = Rig()
    request = ask(model="unknown")
    with pytest.raises(NotFoundError):
        rig.generations.start(PHONE, request)
    with pytest.raises(NotFoundError):
        rig.generations.find(PHONE, request.id)


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (TooLongError("the prompt has 9,000 tokens"), "too_long", False),
        (UnavailableError("the engine is gone"), "unavailable", True),
        (ValueError("secret"), "internal", False),
        (TimeoutError(), "internal", False),
    ],
)
async def test_a_failing_engine_ends_its_generation_only(
    error: Exception, code: str, *, retryable: bool
) -> None:
    rig = Rig()
    log, other = await rig.begin(), await rig.begin()
    rig.engine.feed(log.id, TextDelta("a"), error)
    events = await rig.read(log)
    failed = events[-1]
    assert isinstance(failed, Failed)
    assert (failed.code, failed.retryable) == (code, retryable)
    assert "secret" not in failed.what
    rig.engine.feed(other.id, STOP)
    assert await rig.read(other) == [STOP]


async def test_deadline_is_kept() -> None:
    rig = Rig()
    log = await rig.begin(ask(deadline_ms=1))
    (failed,) = await rig.read(log)
    assert isinstance(failed, Failed)
    assert (failed.code, failed.retryable) == ("unavailable", True)
    assert await within(rig.engine.closed.get()) == log.id


async def test_stop_lets_finish_what_can_and_ends_the_rest_retryable() -> None:
    rig = Rig()
    quick, slow = await rig.begin(), await rig.begin()
    rig.engine.feed(slow.id, TextDelta("partial"))
    rig.engine.feed(quick.id, STOP)
    readers = asyncio.gather(rig.read(quick), rig.read(slow))
    await rig.generations.stop(0.05)
    done, cut = await readers
    assert done == [STOP]
    assert cut[0] == TextDelta("partial")
    assert isinstance(cut[1], Failed)
    assert (cut[1].code, cut[1].retryable) == ("unavailable", True)
    with pytest.raises(UnavailableError, match="stopping"):
        rig.generations.start(PHONE, ask())
    assert await rig.read(quick, 0) == [STOP]


async def test_dropping_a_device_ends_and_forgets_its_generations_alone() -> None:
    rig = Rig()
    log = await rig.begin()
    other = rig.generations.start(OTHER, ask())
    await within(rig.generations.drop_device(PHONE))
    assert await within(rig.engine.closed.get()) == log.id
    with pytest.raises(NotFoundError):
        rig.generations.find(PHONE, log.id)
    rig.engine.feed(other.id, STOP)
    assert await rig.read(other) == [STOP]


class Phone:
    """Reads, drops the line, acknowledges and resumes."""

    def __init__(self, rig: Rig, log: EventLog, events: list[GenerationEvent]) -> None:
        self.rig = rig
        self.log = log
        self.events = events
        self.fed = 0
        self.got: list[Numbered] = []
        self.stream = rig.generations.read(log)

    async def act(self, action: str, count: int) -> None:
        match action:
            case "feed":
                self.feed(count)
            case "read":
                ready = min(count, self.fed - len(self.got))
                self.got += [await within(anext(self.stream)) for _ in range(ready)]
            case "drop":
                await self.stream.aclose()
                self.stream = self.rig.generations.read(self.log, len(self.got))
            case _:
                self.rig.generations.ack(PHONE, self.log.id, max(len(self.got) - count, 0))

    def feed(self, count: int) -> None:
        self.rig.engine.feed(self.log.id, *self.events[self.fed : self.fed + count])
        self.fed = min(self.fed + count, len(self.events))

    async def finish(self) -> list[GenerationEvent]:
        await self.act("drop", 0)
        self.got += [item async for item in self.stream]
        assert [item.seq for item in self.got] == list(range(1, len(self.got) + 1))
        return [item.event for item in self.got]


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.text(max_size=4), max_size=12),
    plan=st.lists(
        st.tuples(st.sampled_from(["feed", "read", "drop", "ack"]), st.integers(1, 5)),
        max_size=30,
    ),
    cancel=st.booleans(),
)
def test_broken_streams_lose_and_repeat_nothing(
    *, texts: list[str], plan: list[tuple[str, int]], cancel: bool
) -> None:
    async def scenario() -> None:
        rig = Rig()
        events: list[GenerationEvent] = [TextDelta(text) for text in texts]
        whole = events if cancel else [*events, STOP]
        phone = Phone(rig, await rig.begin(), whole)
        for action, count in plan:
            await phone.act(action, count)
        if cancel:
            rig.generations.cancel(PHONE, phone.log.id)
            seen = await phone.finish()
            assert seen == [*events[: len(seen) - 1], CANCELLED]
        else:
            phone.feed(len(whole))
            assert await phone.finish() == whole
        await rig.generations.stop(0)

    asyncio.run(asyncio.wait_for(scenario(), 30))
