"""Requests of one message, sent by clients that send none, several, too much or for ever."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_core.errors import InvalidDataError, OverloadedError, UnavailableError
from homing_crypto.rpc_errors import error_from_rpc
from homing_crypto.rpc_requests import RequestLimits
from homing_crypto.testing import paired_device, throwaway_identity
from support.guarded import DEADLINE_S, SERVICE, Client, GuardedServer, guarded_server

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from homing_core.errors import HomingError

BYTES = 64


@contextlib.asynccontextmanager
async def paired(limits: RequestLimits) -> AsyncGenerator[tuple[GuardedServer, Client]]:
    phone = throwaway_identity()
    async with guarded_server(requests=limits) as server:
        server.store.add(paired_device(phone, name="phone"))
        async with server.client(phone) as client:
            yield server, client


Call = grpc.aio.StreamStreamCall[bytes, bytes]


def begun(client: Client, method: str, *messages: bytes, end: bool = True) -> Call:
    """A call of one request, made as one that sends these messages, and then ends or does not."""

    async def each() -> AsyncIterator[bytes]:
        for message in messages:
            yield message
        if not end:
            await asyncio.Event().wait()

    call: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = client.channel.stream_stream(
        f"/{SERVICE}/{method}"
    )
    return call(each(), timeout=DEADLINE_S)


async def ended(call: Call) -> HomingError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await asyncio.wait_for(call.read(), DEADLINE_S)
    return error_from_rpc(caught.value)


@pytest.mark.attack
@pytest.mark.parametrize("method", ["Unary", "Stream"])
@pytest.mark.parametrize(
    ("messages", "said"),
    [((), "no message"), ((b"a", b"b"), "more than one"), ((bytes(BYTES + 1),), "larger than 64")],
    ids=["none", "two", "too_large"],
)
async def test_anything_but_one_small_message_is_refused_in_our_words(
    method: str, messages: tuple[bytes, ...], said: str
) -> None:
    async with paired(RequestLimits(most_bytes=BYTES)) as (server, client):
        call = begun(client, method, *messages)
        error = await ended(call)
        assert isinstance(error, InvalidDataError)
        assert said in error.what
        assert await call.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert server.echo.parsed == []
        assert await client.unary("Unary") == "phone: hi"


async def test_methods_that_are_named_as_large_take_more() -> None:
    limits = RequestLimits(most_bytes=BYTES, large=frozenset({f"/{SERVICE}/Stream"}))
    async with paired(limits) as (_server, client):
        letters = [letter async for letter in client.stream("Stream", "x" * (BYTES + 1))]
        assert len(letters) == BYTES + 1


@pytest.mark.attack
@pytest.mark.parametrize("messages", [(), (b"a",)], ids=["nothing", "no_end"])
async def test_a_request_that_does_not_come_is_ended_in_time(messages: tuple[bytes, ...]) -> None:
    async with paired(RequestLimits(seconds=0.2)) as (server, client):
        error = await ended(begun(client, "Unary", *messages, end=False))
        assert isinstance(error, UnavailableError)
        assert "in time" in error.what
        assert server.calls.count() == 0


@pytest.mark.attack
async def test_a_call_without_its_request_is_tracked_and_a_revocation_ends_it() -> None:
    async with paired(RequestLimits()) as (server, client):
        call = begun(client, "Unary", end=False)
        async with asyncio.timeout(DEADLINE_S):
            while not server.calls.count():  # noqa: ASYNC110  # bounded
                await asyncio.sleep(0)
        (account,) = server.calls.keys()
        assert await server.calls.end_calls(account) == 1
        assert "revoked" in (await ended(call)).what


@pytest.mark.attack
async def test_the_call_that_has_waited_longest_for_its_request_gives_way() -> None:
    async with paired(RequestLimits(unread=2)) as (server, client):
        calls: list[Call] = []
        for count in (1, 2):
            calls.append(begun(client, "Unary", end=False))
            async with asyncio.timeout(DEADLINE_S):
                while server.calls.count() < count:  # noqa: ASYNC110  # bounded
                    await asyncio.sleep(0)
        assert await client.unary("Unary") == "phone: hi"
        error = await ended(calls[0])
        assert isinstance(error, OverloadedError)
        assert "place" in error.what
        assert not calls[1].done()


@pytest.mark.attack
async def test_an_account_waits_for_its_own_unfinished_messages_and_others_do_not() -> None:
    other = throwaway_identity()
    async with paired(RequestLimits(seconds=0.5, at_once=2)) as (server, client):
        server.store.add(paired_device(other, name="other"))
        calls = [begun(client, "Unary", end=False) for _ in range(2)]
        async with asyncio.timeout(DEADLINE_S):
            while server.calls.count() < len(calls):  # noqa: ASYNC110  # bounded
                await asyncio.sleep(0)
        async with server.client(other) as another:
            own = asyncio.ensure_future(client.unary("Unary"))
            assert await another.unary("Unary") == "other: hi"
            assert not own.done()
            for call in calls:
                call.cancel()
            assert await own == "phone: hi"
