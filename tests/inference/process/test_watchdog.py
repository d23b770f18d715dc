"""A silence counts only while there is something to do, and only if it lasts."""

from __future__ import annotations

import asyncio

from homing_inference.process.watchdog import Watchdog
from support.engines import BOUND_S

SILENCE_S = 0.05


class Rig:
    def __init__(self) -> None:
        self.busy = False
        self.silent = asyncio.Event()
        self.dog = Watchdog(SILENCE_S, lambda: self.busy, self.silent.set)

    def ask(self) -> None:
        self.dog.asked()
        self.busy = True

    async def quiet_for(self, seconds: float) -> bool:
        """Whether no silence was noticed in this time."""
        try:
            async with asyncio.timeout(seconds):
                await self.silent.wait()
        except TimeoutError:
            return True
        return False


async def test_silence_is_noticed() -> None:
    rig = Rig()
    rig.ask()
    async with asyncio.timeout(BOUND_S):
        await rig.silent.wait()
    assert rig.busy


async def test_who_has_nothing_to_do_may_be_silent() -> None:
    rig = Rig()
    rig.ask()
    rig.busy = False
    assert await rig.quiet_for(SILENCE_S * 4)
    rig.ask()
    async with asyncio.timeout(BOUND_S):
        await rig.silent.wait()


async def test_a_word_now_and_then_is_enough() -> None:
    rig = Rig()
    rig.ask()
    for _ in range(12):
        rig.dog.heard()
        assert await rig.quiet_for(SILENCE_S / 3)


async def test_nothing_is_noticed_after_it_was_stopped() -> None:
    rig = Rig()
    rig.ask()
    rig.dog.stop()
    rig.dog.stop()
    assert await rig.quiet_for(SILENCE_S * 4)


async def test_what_was_said_while_this_process_stood_still_counts() -> None:
    rig = Rig()
    rig.ask()
    loop = asyncio.get_running_loop()
    noticed: list[bool] = []

    def look() -> None:
        noticed.append(rig.silent.is_set())
        rig.dog.heard()  # read only now
        rig.busy = False

    # Later than its first look, earlier than its second.
    loop.call_at(loop.time() + SILENCE_S * 1.5, look)
    assert await rig.quiet_for(SILENCE_S * 5)
    assert noticed == [False]
