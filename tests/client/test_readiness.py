"""Bringing the phone's model up, and trying again what may work later."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from homing_agent.runtime.model_host import ModelHost, ModelStatus, Phase
from homing_client.local_engine import LocalEngine
from homing_client.readiness import BringUp, Happening, Readiness
from homing_core.errors import (
    HomingError,
    InvalidDataError,
    NotFoundError,
    UnavailableError,
)
from homing_core.generation import Failed, GenerateRequest, TextDelta
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_inference.testing import SCRIPTED, ScriptedEngine
from support.node_rig import within

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_inference.engine import Engine


class Source:
    """A model that comes, or does not, as a test says."""

    def __init__(self) -> None:
        self.outcomes: asyncio.Queue[HomingError | Engine] = asyncio.Queue()
        self.report: Callable[[ModelStatus], None] | None = None
        self.attempts = 0

    async def load(self, report: Callable[[ModelStatus], None]) -> Engine:
        self.report = report
        self.attempts += 1
        outcome = await self.outcomes.get()
        if isinstance(outcome, HomingError):
            raise outcome
        return outcome


class Phone:
    """What brings a model up, and what it told."""

    def __init__(self) -> None:
        self.source = Source()
        self.host = ModelHost("tiny", self.source)
        self.readiness = Readiness()
        self.told: asyncio.Queue[tuple[Happening, str]] = asyncio.Queue()
        self.warm_error: Exception | None = None
        self.bring_up = BringUp(self.host, self._warm, self.readiness, self._tell)
        self.engine = LocalEngine(self.host, 4096)

    async def _warm(self) -> None:
        if self.warm_error is not None:
            error, self.warm_error = self.warm_error, None
            raise error

    def _tell(self, happening: Happening, text: str) -> None:
        self.told.put_nowait((happening, text))

    async def told_of(self, happening: Happening) -> str:
        while True:
            found, text = await within(self.told.get())
            if found is happening:
                return text


@pytest.fixture
async def phone() -> Phone:
    return Phone()


async def running(phone: Phone) -> asyncio.Task[None]:
    phone.host.start()
    return asyncio.create_task(phone.bring_up.run())


async def stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_each_step_is_told_once(phone: Phone) -> None:
    task = await running(phone)
    assert await phone.told_of(Happening.ACTIVITY) == "being fetched"
    assert phone.source.report is not None
    for done in (1, 1, 2):
        phone.source.report(ModelStatus("tiny", Phase.LOADING, "loading tiny", done, 4))
        await asyncio.sleep(0)
    phone.source.outcomes.put_nowait(ScriptedEngine())
    await within(asyncio.wait_for(task, 30))
    lines = [phone.told.get_nowait() for _ in range(phone.told.qsize())]
    texts = [text for happening, text in lines if happening is Happening.ACTIVITY]
    assert texts[-1] == "reading its tools"
    assert len(texts) == len(set(texts))
    assert all("%" in text for text in texts[:-1])
    assert lines[-1] == (Happening.READY, f"{SCRIPTED.model} is ready.")
    assert (phone.readiness.ready, phone.readiness.error) == (True, None)


async def test_what_cannot_be_read_is_not_tried_again(phone: Phone) -> None:
    task = await running(phone)
    phone.source.outcomes.put_nowait(InvalidDataError("it is no model", "Take another."))
    await within(asyncio.wait_for(task, 30))
    assert phone.source.attempts == 1
    assert isinstance(phone.readiness.error, InvalidDataError)
    assert await phone.told_of(Happening.PROBLEM) == "it is no model. Take another."


async def test_after_a_change_of_network_it_is_tried_again(phone: Phone) -> None:
    task = await running(phone)
    phone.source.outcomes.put_nowait(UnavailableError("the hub cannot be reached", "Later."))
    await phone.told_of(Happening.PROBLEM)
    assert not phone.readiness.busy
    phone.bring_up.nudge()
    phone.source.outcomes.put_nowait(ScriptedEngine())
    await within(asyncio.wait_for(task, 30))
    assert phone.source.attempts == 2
    assert (phone.readiness.ready, phone.readiness.error) == (True, None)


async def test_an_old_error_stands_until_there_is_progress(phone: Phone) -> None:
    task = await running(phone)
    phone.source.outcomes.put_nowait(UnavailableError("the hub cannot be reached"))
    await phone.told_of(Happening.PROBLEM)
    phone.bring_up.nudge()
    assert await phone.told_of(Happening.ACTIVITY) == "being fetched"
    assert phone.readiness.error is not None  # whoever asks now need not wait to hear it
    assert phone.source.report is not None
    phone.source.report(ModelStatus("tiny", Phase.FETCHING, "fetching tiny", 1, 2))
    assert await phone.told_of(Happening.ACTIVITY) == "fetching tiny, 50%"
    assert phone.readiness.error is None
    assert phone.readiness.busy
    await stop(task)


async def test_a_prefix_that_could_not_be_computed_is_tried_again(phone: Phone) -> None:
    phone.warm_error = UnavailableError("the engine stopped")
    task = await running(phone)
    phone.source.outcomes.put_nowait(ScriptedEngine())
    await phone.told_of(Happening.PROBLEM)
    phone.bring_up.nudge()
    await within(asyncio.wait_for(task, 30))
    assert phone.readiness.ready


async def test_a_bug_is_told_neutrally(phone: Phone) -> None:
    phone.warm_error = ValueError("the prompt was: my bank balance")
    task = await running(phone)
    phone.source.outcomes.put_nowait(ScriptedEngine())
    await within(asyncio.wait_for(task, 30))
    assert "bank" not in await phone.told_of(Happening.PROBLEM)


def asking() -> GenerateRequest:
    return GenerateRequest(new_generation_id(), (user("hello"),))


async def test_requests_wait_for_the_model(phone: Phone) -> None:
    assert phone.engine.info.model == "tiny"
    assert phone.engine.info.context_tokens == 4096
    phone.host.start()

    async def first() -> object:
        async for event in phone.engine.generate(asking()):
            return event
        return None

    waiting = asyncio.ensure_future(first())
    phone.source.outcomes.put_nowait(ScriptedEngine("hi"))
    assert await asyncio.wait_for(waiting, 30) == TextDelta("hi")
    assert phone.engine.ready
    assert phone.engine.info.model == SCRIPTED.model
    await within(phone.engine.close())


async def test_a_model_that_cannot_be_had_fails_requests_with_its_reason(phone: Phone) -> None:
    phone.host.start()
    phone.source.outcomes.put_nowait(NotFoundError("it does not exist", "Give another path."))
    events = [event async for event in phone.engine.generate(asking())]
    assert events == [Failed("not_found", "it does not exist", "Give another path.")]
    with pytest.raises(NotFoundError):
        await within(phone.engine.warm((), (), asking().thinking))
