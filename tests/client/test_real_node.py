"""The phone's link against the real node: its guard, its generations, its memory of them."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING

import pytest
from homing_agent.ports import Need
from homing_core.errors import ConflictError, UnavailableError
from homing_core.generation import (
    Done,
    Failed,
    FinishReason,
    GenerateRequest,
    Numbered,
    TextDelta,
)
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_crypto.testing import paired_device, throwaway_identity
from support.fake_home import FakeHome, home_links
from support.node_rig import NodeRig, node_rig, within

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from pathlib import Path

    from homing_client.homes import HomeLinks
    from homing_crypto.identity import DeviceIdentity

STOP = Done(FinishReason.STOP)


@pytest.fixture
def phone() -> DeviceIdentity:
    return throwaway_identity()


@pytest.fixture
async def rig(tmp_path: Path, phone: DeviceIdentity) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path) as running:
        running.running.store.add(paired_device(phone))
        yield running


@pytest.fixture
async def links(rig: NodeRig, phone: DeviceIdentity) -> AsyncIterator[HomeLinks]:
    node = dataclasses.replace(
        FakeHome().known(f"127.0.0.1:{rig.running.port}"),
        certificate_der=rig.certificate.der,
        id=rig.running.facts.id,
    )
    async with home_links(phone, node) as (made, _):
        yield made


def asking() -> GenerateRequest:
    return GenerateRequest(new_generation_id(), (user("why is the sky blue?"),))


async def rest(events: AsyncGenerator[Numbered, None]) -> list[Numbered]:
    return [event async for event in events]


async def test_an_answer_streams_over_a_change_of_network(rig: NodeRig, links: HomeLinks) -> None:
    remote = await within(links.pick(Need()))
    assert (remote.name, remote.model, remote.stand_in) == ("den", "fed-1b:bf16", True)
    request = asking()
    rig.engine.feed(request.id, TextDelta("one"))
    events = remote.generate(request)
    assert await within(anext(events)) == Numbered(1, TextDelta("one"))
    await within(links.network_changed())
    rig.engine.feed(request.id, TextDelta("two"), STOP)
    assert await within(rest(events)) == [Numbered(2, TextDelta("two")), Numbered(3, STOP)]
    assert rig.engine.started.qsize() == 1  # the model worked on it once


async def test_an_answer_that_nobody_wants_ends_the_models_work(
    rig: NodeRig, links: HomeLinks
) -> None:
    remote = await within(links.pick(Need()))
    request = asking()
    rig.engine.feed(request.id, TextDelta("one"))
    events = remote.generate(request)
    await within(anext(events))
    await within(events.aclose())
    assert await within(rig.engine.closed.get()) == request.id


async def test_a_read_answer_is_forgotten_by_the_node(rig: NodeRig, links: HomeLinks) -> None:
    remote = await within(links.pick(Need()))
    request = asking()
    rig.engine.feed(request.id, STOP)
    assert await within(rest(remote.generate(request))) == [Numbered(1, STOP)]
    await within(links.close())  # waits for what is still to be told
    again = (await within(links.pick(Need()))).generate(request)
    with pytest.raises(ConflictError, match="acknowledged"):
        await within(rest(again))


async def test_a_node_that_stops_ends_its_answers_clearly(rig: NodeRig, links: HomeLinks) -> None:
    remote = await within(links.pick(Need()))
    request = asking()
    rig.engine.feed(request.id, TextDelta("one"))
    events = remote.generate(request)
    await within(anext(events))
    reading = asyncio.ensure_future(anext(events))
    await within(rig.running.generations.stop(0.0))
    end = await asyncio.wait_for(reading, 30)
    assert isinstance(end.event, Failed)
    assert isinstance(end.event.to_error(), UnavailableError)
    await within(events.aclose())
