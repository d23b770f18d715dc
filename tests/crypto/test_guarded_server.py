"""A real server and client over loopback: who gets in, what they are told, what ends when."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_core.access import DeviceRole, Limits, Scope
from homing_core.errors import (
    IntegrityError,
    InternalError,
    InvalidDataError,
    NotFoundError,
    OverloadedError,
    RefusedError,
    UnavailableError,
    UnpairedError,
)
from homing_crypto.rpc_errors import error_from_rpc
from homing_crypto.testing import paired_device, throwaway_identity
from support.guarded import PROMPT, GuardedServer, guarded_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

    from homing_core.errors import HomingError
    from homing_crypto.identity import DeviceIdentity


@pytest.fixture
async def server() -> AsyncIterator[GuardedServer]:
    async with guarded_server() as running:
        yield running


@pytest.fixture
def phone() -> DeviceIdentity:
    return throwaway_identity()


async def failure(call: Awaitable[object]) -> HomingError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return error_from_rpc(caught.value)


@pytest.mark.attack
async def test_an_unpaired_device_is_shut_out_and_told_what_to_try(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    async with server.client(phone) as client:
        error = await failure(client.unary("Unary"))
    assert isinstance(error, UnavailableError)
    assert "pair again" in error.hint


async def test_a_paired_device_can_use_all_four_kinds_of_call(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    server.store.add(paired_device(phone, name="Ada's phone"))
    async with server.client(phone) as client:
        assert await client.unary("Unary", "hello") == "Ada's phone: hello"
        assert [letter async for letter in client.stream("Stream", "abc")] == ["a", "b", "c"]
        assert [letter async for letter in client.stream("Writer", "abc")] == ["a", "b", "c"]
        assert await client.collect(b"a", b"b") == "ab"
        assert await client.both(b"a", b"b") == ["A", "B"]
    assert server.calls.count() == 0


async def test_a_device_paired_while_the_server_runs_gets_in(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    first = throwaway_identity()
    server.store.add(paired_device(first))
    async with server.client(phone) as client:
        assert isinstance(await failure(client.unary("Unary")), UnavailableError)
    server.store.add(paired_device(phone, name="late"))
    async with server.client(phone) as client, server.client(first) as other:
        assert await client.unary("Unary", "now") == "late: now"
        assert await other.unary("Unary", "too") == "phone: too"


@pytest.mark.attack
async def test_revoking_ends_a_live_stream_at_once_and_refuses_new_calls(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    server.store.add(paired_device(phone))
    bystander = throwaway_identity()
    server.store.add(paired_device(bystander, name="bystander"))
    async with server.client(phone) as client, server.client(bystander) as other:
        stream = client.stream("Endless")
        assert await anext(aiter(stream)) == "hi"
        await server.echo.started.wait()
        server.store.revoke(phone.device_id)
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert await server.calls.end_calls(phone.device_id) == 1
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await asyncio.wait_for(anext(aiter(stream)), 5)
        assert loop.time() - began < 1.0
        assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
        assert isinstance(error_from_rpc(caught.value), UnpairedError)
        await asyncio.wait_for(server.echo.finished.wait(), 5)
        # The same connection still stands: the check on every call refuses it.
        error = await failure(client.unary("Unary"))
        assert isinstance(error, UnpairedError)
        assert "revoked" in error.what
        assert await other.unary("Unary", "fine") == "bystander: fine"
    async with server.client(phone) as client:  # and a new connection fails in TLS
        assert isinstance(await failure(client.unary("Unary")), UnavailableError)


@pytest.mark.attack
async def test_revoking_ends_a_unary_call_and_a_stream_that_nobody_reads(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    server.store.add(paired_device(phone))
    async with server.client(phone) as client:
        flood = client.stream("Flood", "x")
        await server.echo.started.wait()
        waiting = asyncio.ensure_future(client.unary("Waiting"))
        await until_calls(server, phone, 2)
        server.store.revoke(phone.device_id)
        assert await asyncio.wait_for(server.calls.end_calls(phone.device_id), 5) == 2
        assert isinstance(await failure(waiting), UnpairedError)
        await asyncio.wait_for(server.echo.finished.wait(), 5)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async for _ in flood:
                pass
        assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
    await until_calls(server, phone, 0)
    assert server.calls.count() == 0


@pytest.mark.attack
@pytest.mark.parametrize("rounds", range(6))
async def test_revoking_reaches_a_stream_whose_first_message_is_on_its_way(
    server: GuardedServer, phone: DeviceIdentity, rounds: int
) -> None:
    server.store.add(paired_device(phone))
    async with server.client(phone) as client:
        flood = client.stream("Flood", "x")
        await server.echo.started.wait()
        for _ in range(rounds):  # of the loop: the first message is at another stage in each
            await asyncio.sleep(0)
        server.store.revoke(phone.device_id)
        assert await server.calls.end_calls(phone.device_id) == 1
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async for _ in flood:
                pass
        assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED


async def until_calls(server: GuardedServer, phone: DeviceIdentity, count: int) -> None:
    async with asyncio.timeout(5):
        while server.calls.count(phone.device_id) != count:  # noqa: ASYNC110  # bounded
            await asyncio.sleep(0)  # lets the server's tasks run


async def test_ending_all_calls_tells_each_why(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    server.store.add(paired_device(phone))
    async with server.client(phone) as client:
        waiting = asyncio.ensure_future(client.unary("Waiting"))
        await server.echo.started.wait()
        stopping = UnavailableError("the node is stopping", "Try again in a minute.")
        assert await server.calls.end_all(stopping) == 1
        error = await failure(waiting)
    assert isinstance(error, UnavailableError)
    assert error.what == "the node is stopping"


@pytest.mark.attack
async def test_a_server_with_another_key_is_refused_as_such(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    server.store.add(paired_device(phone))
    async with server.client(phone, node=throwaway_identity()) as client:
        error = await failure(client.unary("Unary"))
    assert isinstance(error, IntegrityError)
    assert "key" in error.what


async def test_nobody_listening_is_told_apart_from_a_wrong_key(phone: DeviceIdentity) -> None:
    async with guarded_server() as running:
        running.store.add(paired_device(phone))
    async with running.client(phone) as client:
        error = await failure(client.unary("Unary"))
    assert isinstance(error, UnavailableError)
    assert error.what == "the node cannot be reached"


async def test_a_bundle_that_cannot_be_read_lets_nobody_in(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    server.store.add(paired_device(phone))
    async with server.client(phone) as client:
        assert await client.unary("Unary", "1") == "phone: 1"

        def unreadable() -> bytes:
            raise OSError

        server.bundle = unreadable
        async with server.client(phone) as second:
            assert isinstance(await failure(second.unary("Unary")), UnavailableError)


async def test_a_store_that_cannot_be_read_closes_calls_on_open_connections(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    server.store.add(paired_device(phone))
    async with server.client(phone) as client:
        assert await client.unary("Unary", "1") == "phone: 1"
        server.store.broken = True
        error = await failure(client.unary("Unary"))
        assert type(error) is RefusedError
        server.store.broken = False
        assert await client.unary("Unary", "2") == "phone: 2"


@pytest.mark.attack
async def test_a_stale_bundle_does_not_let_a_revoked_device_call(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    server.store.add(paired_device(phone))
    stale = server.store.roots_pem()
    server.bundle = lambda: stale
    server.store.revoke(phone.device_id)
    async with server.client(phone) as client:
        assert isinstance(await failure(client.unary("Unary")), UnpairedError)


@pytest.mark.attack
async def test_a_device_in_the_bundle_but_unknown_to_the_store_is_refused(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    server.bundle = lambda: phone.certificate.pem
    async with server.client(phone) as client:
        error = await failure(client.unary("Unary"))
    assert isinstance(error, UnpairedError)
    assert "pair" in error.hint.lower()


@pytest.mark.attack
async def test_role_and_scope_are_checked_on_every_call(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    server.store.add(paired_device(phone, DeviceRole.GUEST))
    async with server.client(phone) as client:
        for method in ("OwnersOnly", "NeedsTools", "Closed"):
            error = await failure(client.unary(method))
            assert type(error) is RefusedError, method
        server.store.grant(phone.device_id, DeviceRole.OWNER, frozenset({Scope.TOOLS}), Limits())
        assert await client.unary("OwnersOnly", "a") == "phone: a"
        assert await client.unary("NeedsTools", "b") == "phone: b"
        assert type(await failure(client.unary("Closed"))) is RefusedError


@pytest.mark.attack
async def test_a_device_whose_time_is_over_is_refused(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    server.store.add(paired_device(phone))
    ends = int(server.clock.now()) + 60
    server.store.grant(phone.device_id, DeviceRole.GUEST, frozenset(), Limits(expires_at=ends))
    async with server.client(phone) as client:
        assert await client.unary("Unary", "yet") == "phone: yet"
        server.clock.advance(61)
        error = await failure(client.unary("Unary"))
    assert isinstance(error, UnpairedError)
    assert "over" in error.what


async def test_a_call_is_noted_as_a_sign_of_life(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    server.store.add(paired_device(phone))
    async with server.client(phone) as client:
        await client.unary("Unary")
    assert server.store.get(phone.device_id).last_seen_at == server.clock.now()


@pytest.mark.attack
@pytest.mark.parametrize("method", ["Unary", "Crash"])
async def test_malformed_bytes_are_the_callers_fault(
    server: GuardedServer, phone: DeviceIdentity, method: str
) -> None:
    server.store.add(paired_device(phone))
    async with server.client(phone) as client:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.raw_unary(method, b"\xff\xfe")
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "codec" not in (caught.value.details() or "")
    assert isinstance(error_from_rpc(caught.value), InvalidDataError)


@pytest.mark.attack
async def test_malformed_bytes_in_a_request_stream_are_too(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    server.store.add(paired_device(phone))
    async with server.client(phone) as client:
        assert isinstance(await failure(client.collect(b"a", b"\xff")), InvalidDataError)
        assert isinstance(await failure(client.both(b"a", b"\xff")), InvalidDataError)


@pytest.mark.attack
async def test_a_refused_callers_bytes_are_not_even_parsed(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    server.bundle = lambda: phone.certificate.pem
    async with server.client(phone) as client:
        assert isinstance(await failure(client.raw_unary("Unary", b"\xff")), UnpairedError)
        assert isinstance(await failure(client.collect(b"a")), UnpairedError)
    assert server.echo.parsed == []


@pytest.mark.attack
@pytest.mark.parametrize("method", ["Crash", "Unwritable"])
async def test_an_exceptions_text_does_not_leak(
    server: GuardedServer, phone: DeviceIdentity, method: str, capfd: pytest.CaptureFixture[str]
) -> None:
    server.store.add(paired_device(phone))
    async with server.client(phone) as client:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.unary(method)
    told = f"{caught.value.details()} {caught.value.trailing_metadata()}"
    assert caught.value.code() is grpc.StatusCode.INTERNAL
    assert "Error:" not in told
    assert PROMPT not in told
    assert isinstance(error_from_rpc(caught.value), InternalError)
    logged = "".join(capfd.readouterr())
    assert "rpc.failed" in logged
    assert PROMPT not in logged


async def test_what_was_streamed_before_an_error_still_arrives(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    server.store.add(paired_device(phone))
    async with server.client(phone) as client:
        for method, kind in (("CrashMidway", InternalError), ("RefusedMidway", RefusedError)):
            stream = aiter(client.stream(method, "part"))
            assert await anext(stream) == "part"
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await anext(stream)
            assert type(error_from_rpc(caught.value)) is kind
            assert PROMPT not in (caught.value.details() or "")


async def test_a_homing_error_arrives_whole(server: GuardedServer, phone: DeviceIdentity) -> None:
    server.store.add(paired_device(phone))
    async with server.client(phone) as client:
        error = await failure(client.unary("Overloaded"))
    assert isinstance(error, OverloadedError)
    assert error.what == "the node has its hands full"
    assert error.hint == "Wait, then ask again: später."
    assert error.retry_after_ms == 1500


async def test_a_handler_that_ends_in_cancellation_does_not_hang_its_client(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    server.store.add(paired_device(phone))
    async with server.client(phone) as client:
        error = await asyncio.wait_for(failure(client.unary("Cancelled")), 5)
    assert isinstance(error, UnavailableError)
    assert error.retryable


async def test_a_client_that_leaves_ends_its_handler_and_is_forgotten(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    server.store.add(paired_device(phone))
    async with server.client(phone) as client:
        stream = client.stream("Endless")
        assert await anext(aiter(stream)) == "hi"
        await server.echo.started.wait()
        stream.cancel()
        await asyncio.wait_for(server.echo.finished.wait(), 5)
        assert await client.unary("Unary", "still here") == "phone: still here"
    await until_calls(server, phone, 0)
    assert server.calls.count() == 0


async def test_statuses_that_handlers_set_themselves_pass_through(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    server.store.add(paired_device(phone))
    async with server.client(phone) as client:
        with pytest.raises(grpc.aio.AioRpcError, match="not yet") as aborted:
            await client.unary("OwnAbort", "not yet")
        with pytest.raises(grpc.aio.AioRpcError, match="no such thing") as unset:
            await client.unary("OwnStatus", "no such thing")
    assert aborted.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert unset.value.code() is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize("method", ["NotBuilt", "Unknown"])
async def test_what_is_not_built_says_so(
    server: GuardedServer, phone: DeviceIdentity, method: str
) -> None:
    server.store.add(paired_device(phone))
    async with server.client(phone) as client:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.unary(method)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    error = error_from_rpc(caught.value)
    assert isinstance(error, NotFoundError)
    assert "versions" in error.hint


async def test_calls_are_told_apart_by_key_and_the_one_that_asks_is_spared(
    server: GuardedServer, phone: DeviceIdentity
) -> None:
    successor = throwaway_identity()
    server.store.add(paired_device(phone))
    server.store.add(replace(paired_device(successor), account=phone.device_id))
    async with server.client(phone) as client, server.client(successor) as other:
        waiting = [asyncio.ensure_future(one.unary("Waiting")) for one in (client, other)]
        await until_calls(server, phone, 2)
        keys = frozenset({phone.device_id, successor.device_id})
        assert server.calls.keys() == {phone.device_id: keys}
        gone = UnpairedError("this key was replaced", "Use the new one.")
        assert await server.calls.end_calls(phone.device_id, gone, phone.device_id) == 1
        assert "replaced" in (await failure(waiting[0])).what
        await until_calls(server, phone, 1)
        assert server.calls.keys() == {phone.device_id: frozenset({successor.device_id})}
        assert await server.calls.end_calls(phone.device_id) == 1
        assert "revoked" in (await failure(waiting[1])).what
