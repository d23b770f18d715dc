from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from homing_agent.alarms.base import Alarm, AlarmKind
from homing_agent.alarms.ringer import Ringer
from homing_agent.alarms.store import AlarmStore
from homing_agent.testing import FakeNotifier
from homing_core.clock import SystemClock
from homing_core.errors import IntegrityError, InternalError
from homing_core.testing import FakeClock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator
    from pathlib import Path

    from homing_core.clock import Clock

UTC = ZoneInfo("UTC")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AlarmStore]:
    opened = AlarmStore.open(tmp_path / "alarms.sqlite3")
    yield opened
    opened.close()


def ringer(store: AlarmStore, notifier: FakeNotifier, clock: Clock) -> Ringer:
    return Ringer(store, notifier, clock, UTC)


@contextlib.asynccontextmanager
async def running(alarms: Ringer) -> AsyncGenerator[None]:
    task = asyncio.create_task(alarms.run())
    try:
        async with asyncio.timeout(10):
            yield
    finally:
        task.cancel()
        await asyncio.wait({task})


def timer(due: float, name: str = "a", text: str = "pasta") -> Alarm:
    return Alarm(name, AlarmKind.TIMER, text, due)


async def test_an_alarm_rings_when_its_time_comes_by_the_real_clock(store: AlarmStore) -> None:
    notifier = FakeNotifier()
    clock = SystemClock()
    alarms = ringer(store, notifier, clock)
    async with running(alarms):
        alarms.add(timer(clock.now() + 0.05))
        await notifier.tried.wait()
    assert notifier.shown == [("Timer", "pasta")]
    assert alarms.pending() == ()


async def test_it_does_not_ring_before(store: AlarmStore) -> None:
    notifier, clock = FakeNotifier(), FakeClock()
    alarms = ringer(store, notifier, clock)
    alarms.add(timer(clock.now() + 10))
    assert await alarms.ring_due() == 10
    assert notifier.shown == []
    clock.advance(10)
    assert await alarms.ring_due() is None
    assert await alarms.ring_due() is None
    assert notifier.shown == [("Timer", "pasta")]


async def test_a_new_sooner_alarm_is_not_slept_over(store: AlarmStore) -> None:
    notifier, clock = FakeNotifier(), FakeClock()
    alarms = ringer(store, notifier, clock)
    alarms.add(timer(clock.now() + 3600))
    async with running(alarms):
        alarms.add(timer(clock.now(), "b", "tea"))
        await notifier.tried.wait()
    assert notifier.shown == [("Timer", "tea")]


async def test_alarms_outlive_the_process_and_ring_late_rather_than_never(tmp_path: Path) -> None:
    path, clock = tmp_path / "alarms.sqlite3", FakeClock(1_800_000_000.0)
    first = AlarmStore.open(path)
    ringer(first, FakeNotifier(), clock).add(
        Alarm("a", AlarmKind.REMINDER, "call mum", clock.now() + 60)
    )
    first.close()
    clock.advance(7200)
    again = AlarmStore.open(path)
    notifier = FakeNotifier()
    await ringer(again, notifier, clock).ring_due()
    assert notifier.shown == [("Reminder", "call mum (was due 2027-01-15 08:01)")]
    again.close()


async def test_an_alarm_that_nobody_could_be_told_stays(store: AlarmStore) -> None:
    notifier, clock = FakeNotifier(works=False), FakeClock()
    alarms = ringer(store, notifier, clock)
    alarms.add(timer(clock.now()))
    assert await alarms.ring_due() is not None
    assert len(alarms.pending()) == 1
    notifier.works = True
    await alarms.ring_due()
    assert notifier.shown == [("Timer", "pasta")]
    assert alarms.pending() == ()


async def test_setting_an_alarm_twice_sets_one(store: AlarmStore) -> None:
    alarms = ringer(store, FakeNotifier(), FakeClock())
    alarms.add(timer(5))
    alarms.add(timer(99))
    assert [alarm.due for alarm in alarms.pending()] == [5]


def test_a_damaged_file_is_reported_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "alarms.sqlite3"
    path.write_text("not a database")
    with pytest.raises(IntegrityError) as caught:
        AlarmStore.open(path)
    assert caught.value.hint
    assert path.read_text() == "not a database"


def test_a_closed_store_is_an_error_for_people(store: AlarmStore) -> None:
    store.close()
    with pytest.raises(InternalError):
        store.add(timer(1))
