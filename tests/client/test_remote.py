"""Streaming from a node: no token is lost, repeated or left out, whatever the line does."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

import pytest
from homing_agent.ports import Need
from homing_client.config import HomeSection
from homing_core.errors import (
    HomingError,
    InvalidDataError,
    NotFoundError,
    OverloadedError,
    UnavailableError,
)
from homing_core.generation import Done, FinishReason, GenerateRequest, Numbered, TextDelta
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_crypto.testing import throwaway_identity
from support.fake_home import FakeHome, fake_home, home_links
from support.node_rig import within

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from homing_client.homes import HomeLinks
    from homing_client.remote import HomeRemote
    from homing_crypto.identity import DeviceIdentity

STOP = Done(FinishReason.STOP)


@pytest.fixture
def phone() -> DeviceIdentity:
    return throwaway_identity()


@pytest.fixture
async def home(phone: DeviceIdentity) -> AsyncIterator[FakeHome]:
    async with fake_home(phone) as node:
        yield node


@pytest.fixture
async def links(home: FakeHome, phone: DeviceIdentity) -> AsyncIterator[HomeLinks]:
    async with home_links(phone, home.known()) as (made, _):
        yield made


def asking() -> GenerateRequest:
    return GenerateRequest(new_generation_id(), (user("why is the sky blue?"),))


class Reading:
    """A generation as the agent reads it."""

    def __init__(self, remote: HomeRemote) -> None:
        self.request = asking()
        self._events: AsyncGenerator[Numbered, None] = remote.generate(self.request)

    async def next(self) -> Numbered:
        return await within(anext(self._events))

    async def rest(self) -> list[Numbered]:
        async def read() -> list[Numbered]:
            return [event async for event in self._events]

        return await within(read())

    async def fails(self) -> HomingError:
        with pytest.raises(HomingError) as failed:
            await self.rest()
        return failed.value

    async def close(self) -> None:
        await within(self._events.aclose())


@contextlib.asynccontextmanager
async def reading(links: HomeLinks) -> AsyncGenerator[Reading]:
    made = Reading(await within(links.pick(Need())))
    try:
        yield made
    finally:
        await made.close()


async def test_an_answer_streams_and_is_acknowledged(home: FakeHome, links: HomeLinks) -> None:
    async with reading(links) as answer:
        home.feed(answer.request.id, TextDelta("be"), TextDelta("cause"), STOP)
        assert await answer.rest() == [
            Numbered(1, TextDelta("be")),
            Numbered(2, TextDelta("cause")),
            Numbered(3, STOP),
        ]
        assert await within(home.acked.get()) == (answer.request.id, 3)
    assert home.cancelled.empty()


async def test_a_node_that_dies_and_comes_back_is_resumed_at_the_next_word(
    home: FakeHome, links: HomeLinks
) -> None:
    async with reading(links) as answer:
        home.feed(answer.request.id, TextDelta("one"), TextDelta("two"))
        assert [await answer.next(), await answer.next()] == [
            Numbered(1, TextDelta("one")),
            Numbered(2, TextDelta("two")),
        ]
        await home.die()
        home.feed(answer.request.id, TextDelta("three"))  # the node went on meanwhile
        await home.start()
        assert await answer.next() == Numbered(3, TextDelta("three"))
        assert await within(home.resumed.get()) == 2
        home.feed(answer.request.id, STOP)
        assert await answer.rest() == [Numbered(4, STOP)]
        assert home.asked.qsize() == 1


async def test_it_can_die_again_and_again(home: FakeHome, links: HomeLinks) -> None:
    words = [TextDelta(str(number)) for number in range(6)]
    async with reading(links) as answer:
        found: list[Numbered] = []
        for word in words:
            home.feed(answer.request.id, word)
            found.append(await answer.next())
            await home.die()
            await home.start()
        home.feed(answer.request.id, STOP)
        found += await answer.rest()
    assert [event.seq for event in found] == list(range(1, 8))
    assert [event.event for event in found] == [*words, STOP]


async def test_a_break_before_the_first_word_asks_again_under_the_same_id(
    home: FakeHome, links: HomeLinks
) -> None:
    async with reading(links) as answer:
        first = asyncio.ensure_future(answer.next())
        assert (await within(home.asked.get())).generation_id == answer.request.id
        await home.die()
        await home.start()
        assert (await within(home.asked.get())).generation_id == answer.request.id
        home.feed(answer.request.id, TextDelta("now"))
        assert await within(_awaited(first)) == Numbered(1, TextDelta("now"))


async def _awaited(future: asyncio.Future[Numbered]) -> Numbered:
    return await future


async def test_a_change_of_network_is_survived(home: FakeHome, links: HomeLinks) -> None:
    async with reading(links) as answer:
        home.feed(answer.request.id, TextDelta("one"))
        assert await answer.next() == Numbered(1, TextDelta("one"))
        coming = asyncio.ensure_future(answer.next())
        await within(links.network_changed())  # closes the connection under the stream
        home.feed(answer.request.id, TextDelta("two"))
        assert await within(_awaited(coming)) == Numbered(2, TextDelta("two"))
        assert await within(home.resumed.get()) == 1


async def test_a_node_that_lost_the_answer_says_so(home: FakeHome, links: HomeLinks) -> None:
    async with reading(links) as answer:
        home.feed(answer.request.id, TextDelta("half"))
        assert await answer.next() == Numbered(1, TextDelta("half"))
        await home.die()
        home.forget()
        await home.start()
        error = await answer.fails()
        assert isinstance(error, UnavailableError)
        assert error.what == "den was restarted and lost the rest of the answer"


async def test_a_node_that_stays_away_is_given_up(home: FakeHome, phone: DeviceIdentity) -> None:
    async with (
        home_links(phone, home.known(), resume_s=0.3) as (links, _),
        reading(links) as answer,
    ):
        home.feed(answer.request.id, TextDelta("half"))
        await answer.next()
        await home.die()
        error = await answer.fails()
        assert isinstance(error, UnavailableError)
        assert "den went away in the middle of the answer" in error.what


async def test_a_node_that_does_not_run_any_more_is_not_waited_for_long(
    home: FakeHome, phone: DeviceIdentity
) -> None:
    async with (
        home_links(phone, home.known(), resume_s=60.0) as (links, _),
        reading(links) as answer,
    ):
        home.feed(answer.request.id, TextDelta("half"))
        await answer.next()
        await home.die()
        started = time.monotonic()
        error = await answer.fails()
        assert "den went away in the middle of the answer" in error.what
        assert "homing-node run" in error.hint
        assert time.monotonic() - started < 20


async def test_a_hole_in_the_numbers_is_an_error(home: FakeHome, links: HomeLinks) -> None:
    async with reading(links) as answer:
        home.feed(answer.request.id, TextDelta("one"))
        home.feed_numbered(answer.request.id, Numbered(3, TextDelta("three")))
        assert await answer.next() == Numbered(1, TextDelta("one"))
        assert isinstance(await answer.fails(), InvalidDataError)


async def test_what_was_sent_twice_is_shown_once(home: FakeHome, links: HomeLinks) -> None:
    async with reading(links) as answer:
        home.feed(answer.request.id, TextDelta("one"))
        home.feed_numbered(answer.request.id, Numbered(1, TextDelta("one")))
        home.feed_numbered(answer.request.id, Numbered(2, STOP))
        assert await answer.rest() == [Numbered(1, TextDelta("one")), Numbered(2, STOP)]


async def test_an_answer_that_nobody_wants_is_ended_at_the_node(
    home: FakeHome, links: HomeLinks
) -> None:
    async with reading(links) as answer:
        home.feed(answer.request.id, TextDelta("one"))
        await answer.next()
        await answer.close()
        assert await within(home.cancelled.get()) == answer.request.id
        assert await within(home.acked.get()) == (answer.request.id, 1)


async def test_the_end_waits_for_no_acknowledgement(home: FakeHome, links: HomeLinks) -> None:
    async with reading(links) as answer:
        home.feed(answer.request.id, STOP)
        assert await answer.next() == Numbered(1, STOP)
        await home.die()  # nobody takes the acknowledgement any more
        assert await answer.rest() == []


@pytest.mark.parametrize(
    "refusal",
    [
        OverloadedError("enough for now", "Later.", retry_after_ms=10),
        NotFoundError("that model is not served here"),
        UnavailableError("the model is being fetched, 40%"),
    ],
    ids=["overloaded", "not-found", "not-ready"],
)
async def test_a_refusal_is_passed_on_and_not_tried_again(
    home: FakeHome, links: HomeLinks, refusal: HomingError
) -> None:
    async with reading(links) as answer:
        home.error = refusal
        error = await answer.fails()
        assert (type(error), error.what) == (type(refusal), refusal.what)
    assert home.asked.empty()


async def test_the_configured_model_is_asked_for(home: FakeHome, phone: DeviceIdentity) -> None:
    settings = HomeSection(mdns=False, model="small:q4_k_m")
    async with home_links(phone, home.known(), settings=settings) as (links, _):
        remote = await within(links.pick(Need()))
        assert (remote.model, remote.stand_in) == ("small:q4_k_m", True)
        answer = Reading(remote)
        home.feed(answer.request.id, STOP)
        await answer.rest()
        assert (await within(home.asked.get())).model == "small:q4_k_m"


async def test_without_one_the_node_chooses(home: FakeHome, links: HomeLinks) -> None:
    remote = await within(links.pick(Need()))
    assert (remote.model, remote.stand_in, remote.name) == ("big:bf16", False, "den")
    answer = Reading(remote)
    home.feed(answer.request.id, STOP)
    await answer.rest()
    assert (await within(home.asked.get())).model == ""
