"""A node's pairing window with a short code: the person, the clock, floods, and names that lie."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_client.rpc import code_calls
from homing_core.access import DeviceRole
from homing_core.addresses import Address
from homing_core.errors import (
    ConflictError,
    HomingError,
    InvalidDataError,
    OverloadedError,
    RefusedError,
    UnavailableError,
)
from homing_crypto.credentials import pairing_channel
from homing_crypto.pairing.code_client import accept_recognition, accept_reply
from homing_crypto.pairing.code_machine import MAX_STARTS_OF_ONE
from homing_crypto.pairing.pinned import fetch_unproven
from homing_crypto.testing import throwaway_identity
from homing_discovery.browser import ZeroconfBrowser
from homing_discovery.hints import PAIRING
from homing_discovery.search import search
from homing_node.config import DiscoverySection
from homing_node.pairing.window import Window
from homing_node.values import Asks, Closed, CodeOffer, Paired, WrongCodeTyped
from homing_proto.codec.audit import decode_entries
from homing_proto.v1 import audit_pb2, audit_pb2_grpc
from support.code_pairing import (
    CodePhone,
    by_hand,
    code_door,
    other_code,
    refused,
)
from support.node_pairing import pair
from support.node_rig import DEADLINE_S, LOOPBACK, NodeRig, node_rig, send_raw, within

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable
    from pathlib import Path

    from support.code_pairing import CodeDoor

SERVICE = "/homing_proto.v1.CodePairingService"


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path) as running:
        yield running


@pytest.mark.parametrize("role", [DeviceRole.OWNER, DeviceRole.MEMBER, DeviceRole.GUEST])
async def test_a_device_that_a_person_lets_in_is_known_at_once(
    rig: NodeRig, role: DeviceRole
) -> None:
    phone = CodePhone()
    async with code_door(rig, role=role) as door:
        pairing = asyncio.create_task(phone.pair(door))
        asks = await door.answer(allow=True)
        assert (asks.name, asks.device_id) == ("Pixel 8", phone.identity.device_id)
        event = await door.expect(Paired)
        node = await pairing
    assert (event.device.id, event.device.role) == (phone.identity.device_id, role)
    assert (node.id, node.role) == (rig.running.facts.id, role)
    assert phone.book.nodes() == (node,)
    assert phone.book.pending_pairings() == ()
    (asked,) = phone.asked
    assert (asked.node_name, asked.device_id) == ("den", phone.identity.device_id)


async def test_nothing_is_stored_before_the_person_has_answered(rig: NodeRig) -> None:
    phone = CodePhone()
    async with code_door(rig) as door:
        pairing = asyncio.create_task(phone.is_refused(door))
        asks = await door.expect(Asks)
        assert rig.running.store.devices() == ()
        await door.control.decide(asks.attempt_id, allow=False)
        closed = await door.expect(Closed)
        assert "did not let" in closed.reason
        error = await pairing
    assert isinstance(error, RefusedError)
    assert "said no" in error.what
    assert rig.running.store.devices() == ()
    assert phone.book.nodes() == ()
    assert phone.book.pending_pairings() == ()


@pytest.mark.attack
async def test_a_yes_stores_nothing_for_a_phone_that_does_not_come(rig: NodeRig) -> None:
    """Its certificate may be somebody's who never asked: it must have seen the node's answer."""
    async with code_door(rig) as door, by_hand(door) as hand:
        reply = await code_calls.start(hand.channel, hand.asking.start, DEADLINE_S)
        claim = accept_reply(hand.asking, reply)
        await code_calls.confirm(hand.channel, claim.attempt_id, claim.confirmation, DEADLINE_S)
        await door.answer(allow=True)
        assert rig.running.store.devices() == ()
        await code_calls.enter(hand.channel, claim.attempt_id, DEADLINE_S)
        await door.expect(Paired)
    assert len(rig.running.store.devices()) == 1


async def test_a_phone_that_went_away_while_it_waited_is_said_to_have_gone(
    rig: NodeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("homing_node.pairing.by_code.ANSWER_S", 0.0)
    happened = {"waits": asyncio.Event(), "left": asyncio.Event()}

    def note(name: str, real: Callable[[Window], None]) -> None:
        def noted(window: Window) -> None:
            real(window)
            happened[name].set()

        monkeypatch.setattr(Window, name, noted)

    note("waits", Window.waits)
    note("left", Window.left)
    async with code_door(rig, seconds=3) as door:
        phone = CodePhone()
        pairing = asyncio.create_task(phone.pair(door))
        asks = await door.expect(Asks)
        await within(happened["waits"].wait())
        pairing.cancel()
        await within(happened["left"].wait())
        await door.control.decide(asks.attempt_id, allow=True)
        assert "went away" in (await door.expect(Closed)).reason
    assert rig.running.store.devices() == ()


async def test_a_window_without_a_code_says_that_it_takes_the_link_only(rig: NodeRig) -> None:
    async with code_door(rig, CodeOffer.NONE) as door:
        error = await CodePhone().is_refused(door, "1234-5678")
        assert isinstance(error, RefusedError)
        assert "link only" in error.what


async def test_the_first_right_code_comes_in_unasked_where_that_was_wished(rig: NodeRig) -> None:
    async with code_door(rig, CodeOffer.ACCEPT) as door:
        await CodePhone().pair(door)
        await door.expect(Paired)


async def test_a_wrong_code_can_be_typed_again(rig: NodeRig) -> None:
    phone = CodePhone()
    async with code_door(rig, CodeOffer.ACCEPT) as door:
        error = await phone.is_refused(door, other_code(door.code))
        assert "2 tries left" in error.what
        assert await door.next() == WrongCodeTyped(2)
        assert phone.book.pending_pairings() == ()
        await phone.pair(door)
        await door.expect(Paired)


async def test_whoever_was_let_in_is_answered_again_for_a_while(rig: NodeRig) -> None:
    async with code_door(rig, CodeOffer.ACCEPT) as door, by_hand(door) as hand:
        reply = await code_calls.start(hand.channel, hand.asking.start, DEADLINE_S)
        claim = accept_reply(hand.asking, reply)
        mine = (claim.attempt_id, claim.confirmation)
        recognition = await code_calls.confirm(hand.channel, *mine, DEADLINE_S)
        claim = accept_recognition(claim, recognition)
        entry = await code_calls.enter(hand.channel, claim.attempt_id, DEADLINE_S)
        await door.expect(Paired)
        assert await code_calls.start(hand.channel, hand.asking.start, DEADLINE_S) == reply
        assert await code_calls.confirm(hand.channel, *mine, DEADLINE_S) == recognition
        assert await code_calls.enter(hand.channel, claim.attempt_id, DEADLINE_S) == entry
    assert len(rig.running.store.devices()) == 1


async def test_giving_up_tells_a_phone_that_waits(rig: NodeRig) -> None:
    phone = CodePhone()
    async with code_door(rig) as door:
        pairing = asyncio.create_task(phone.is_refused(door))
        await door.expect(Asks)
    error = await asyncio.wait_for(pairing, DEADLINE_S)
    assert isinstance(error, RefusedError | UnavailableError)
    assert phone.book.nodes() == ()


@pytest.mark.attack
async def test_a_flood_of_starts_leaves_the_link_and_is_bounded(rig: NodeRig) -> None:
    """Nobody comes in, nothing is a guess, and the owner pairs by the link that is shown."""
    async with code_door(rig) as door, contextlib.AsyncExitStack() as stack:
        told: list[HomingError] = []
        for _ in range(MAX_STARTS_OF_ONE + 5):
            hand = await stack.enter_async_context(by_hand(door, other_code(door.code)))
            try:
                await code_calls.start(hand.channel, hand.asking.start, DEADLINE_S)
            except HomingError as error:
                told.append(error)
        assert len(told) == 5
        assert all(isinstance(error, OverloadedError) for error in told)
        identity = throwaway_identity()
        await pair(door.link, identity)
        assert (await door.expect(Paired)).device.id == identity.device_id


@pytest.mark.attack
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("\x1b[2J\x1b[31mden", "[2J[31mden"),
        ("Pixel\u202e 8", "Pixel 8"),
        ("one\ntwo\r\u2028three", "one two three"),
        ("[bold]Pixel[/bold]", "[bold]Pixel[/bold]"),
        ("\u200b\u200d", "unnamed"),
    ],
)
async def test_a_name_that_would_deceive_the_person_is_cleaned(
    rig: NodeRig, name: str, shown: str
) -> None:
    """The phone of an attacker sends its name as it likes; this is what the terminal gets."""
    async with code_door(rig) as door, by_hand(door) as hand:
        asked = replace(hand.asking.start, name=name)
        asking = replace(hand.asking, start=asked)
        reply = await code_calls.start(hand.channel, asked, DEADLINE_S)
        claim = accept_reply(asking, reply)
        await code_calls.confirm(hand.channel, claim.attempt_id, claim.confirmation, DEADLINE_S)
        asks = await door.expect(Asks)
        assert asks.name == shown


@pytest.mark.attack
@pytest.mark.parametrize("name", ["x" * 65, "x" * 10_000])
async def test_a_name_that_is_too_long_is_refused(rig: NodeRig, name: str) -> None:
    async with code_door(rig) as door, by_hand(door) as hand:
        asked = replace(hand.asking.start, name=name)
        error = await refused(code_calls.start(hand.channel, asked, DEADLINE_S))
        assert isinstance(error, InvalidDataError)


@pytest.mark.attack
@pytest.mark.parametrize("method", ["StartCode", "ConfirmCode", "AwaitEntry"])
async def test_bytes_that_are_no_message(rig: NodeRig, method: str) -> None:
    """They are refused as such and are no guess; then the right phone pairs."""
    async with code_door(rig, CodeOffer.ACCEPT) as door:
        node = await fetch_unproven(door.address)
        async with pairing_channel(str(door.address), node) as channel:
            for garbage in (b"", b"\xff\xff", b"\x0a" + b"\xff" * 9, bytes(70_000)):
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await send_raw(channel, f"{SERVICE}/{method}", garbage)
                assert caught.value.code() in {
                    grpc.StatusCode.INVALID_ARGUMENT,
                    grpc.StatusCode.NOT_FOUND,
                    grpc.StatusCode.RESOURCE_EXHAUSTED,
                }
        await CodePhone().pair(door)
        await door.expect(Paired)


async def test_guesses_and_answers_are_in_the_audit_log(rig: NodeRig) -> None:
    liar, phone = CodePhone("liar"), CodePhone()
    async with code_door(rig) as door:
        await liar.is_refused(door, other_code(door.code))
        await door.expect(WrongCodeTyped)
        pairing = asyncio.create_task(liar.is_refused(door))
        await door.answer(allow=False)
        await door.expect(Closed)
        await pairing
        code = door.code
    async with code_door(rig) as door:
        letting_in = asyncio.create_task(phone.pair(door))
        await door.answer(allow=True)
        await door.expect(Paired)
        await letting_in
    owner = await rig.phone()
    stub = audit_pb2_grpc.AuditServiceStub(owner.channel)
    answer = await stub.ListEntries(audit_pb2.ListEntriesRequest(), timeout=DEADLINE_S)
    entries = decode_entries(answer.entries)
    noted = [
        (entry.kind, entry.actor, entry.device, entry.facts)
        for entry in entries
        if entry.kind in {"pairing_refused", "approval", "paired"}
    ]
    theirs, ours = liar.identity.device_id, phone.identity.device_id
    assert [(kind, actor, device) for kind, actor, device, _ in noted] == [
        ("pairing_refused", "node", ""),
        ("pairing_refused", "console", theirs),
        ("approval", "console", ours),
        ("paired", "console", ours),
    ]
    assert (noted[0][3]["reason"], noted[0][3]["left"]) == ("wrong code", 2)
    assert noted[1][3]["reason"] == "declined"
    assert code not in repr(entries)


async def test_the_window_is_announced_while_it_offers_a_code_and_no_longer(
    tmp_path: Path,
) -> None:
    here = ("127.0.0.1",)
    config = replace(LOOPBACK, discovery=DiscoverySection(mdns=True, interfaces=here))

    async def announced(port: int, most_s: float) -> bool:
        browser = ZeroconfBrowser(interfaces=here, service=PAIRING)
        heard = await search(browser, most_s, 0.2)
        return Address("127.0.0.1", port) in {one for hint in heard for one in hint.addresses}

    async with node_rig(tmp_path, config) as rig:
        async with code_door(rig, CodeOffer.NONE) as door:
            assert not await announced(door.address.port, 0.3)
            await pair(door.link, throwaway_identity())
            await door.expect(Paired)
        async with _reopened(rig) as door:
            assert await announced(door.address.port, DEADLINE_S)
            await CodePhone().pair(door)
            await door.expect(Paired)
        async with _reopened(rig):  # so the one before has quite ended
            assert not await announced(door.address.port, 0.3)


@contextlib.asynccontextmanager
async def _reopened(rig: NodeRig) -> AsyncGenerator[CodeDoor]:
    """A window as soon as the one before has quite ended."""
    async with asyncio.timeout(DEADLINE_S), contextlib.AsyncExitStack() as stack:
        while True:
            try:
                door = await stack.enter_async_context(code_door(rig, CodeOffer.ACCEPT))
                break
            except ConflictError:
                await asyncio.sleep(0)
        yield door
