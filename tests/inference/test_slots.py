"""Places and a queue for them."""

from __future__ import annotations

import asyncio

import pytest
from homing_core.errors import OverloadedError, UnavailableError
from homing_core.generation import Priority
from homing_inference.slots import Slots
from support.engines import BOUND_S


async def _turn() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_as_many_run_as_there_are_places_and_persons_go_first() -> None:
    slots, order = Slots(2, 8), list[str]()

    async def enter(name: str, priority: Priority) -> None:
        await slots.enter(priority)
        order.append(name)

    waiting = [
        asyncio.create_task(enter(name, priority))
        for name, priority in [
            ("a", Priority.JOB),
            ("b", Priority.INTERACTIVE),
            ("job", Priority.JOB),
            ("first", Priority.INTERACTIVE),
            ("second", Priority.INTERACTIVE),
        ]
    ]
    await _turn()
    assert (slots.running, slots.waiting) == (2, 3)
    for _ in range(5):
        slots.leave()
        await _turn()
    async with asyncio.timeout(BOUND_S):
        await asyncio.gather(*waiting)
    assert order == ["a", "b", "first", "second", "job"]
    assert (slots.running, slots.waiting) == (0, 0)


async def test_a_full_queue_refuses() -> None:
    slots = Slots(1, 1)
    await slots.enter(Priority.JOB)
    waiting = asyncio.create_task(slots.enter(Priority.JOB))
    await _turn()
    with pytest.raises(OverloadedError) as refusal:
        await slots.enter(Priority.INTERACTIVE)
    assert refusal.value.retry_after_ms > 0
    slots.leave()
    await waiting


async def test_who_stops_waiting_takes_no_place() -> None:
    slots = Slots(1, 2)
    await slots.enter(Priority.JOB)
    with pytest.raises(UnavailableError, match="5 ms"):
        await slots.enter(Priority.JOB, 5)
    gone, patient = (asyncio.create_task(slots.enter(Priority.JOB)) for _ in range(2))
    await _turn()
    gone.cancel()
    await _turn()
    assert slots.waiting == 1
    slots.leave()
    await patient
    assert (slots.running, slots.waiting) == (1, 0)


async def test_a_place_given_to_one_who_leaves_at_that_moment_goes_on() -> None:
    slots = Slots(1, 2)
    await slots.enter(Priority.JOB)
    gone, patient = (asyncio.create_task(slots.enter(Priority.JOB)) for _ in range(2))
    await _turn()
    slots.leave()
    gone.cancel()
    async with asyncio.timeout(BOUND_S):
        await patient
    assert gone.cancelled()
    assert slots.running == 1
