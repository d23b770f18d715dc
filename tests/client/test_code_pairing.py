"""Pairing by code, the phone's side: what is lost, who is killed, and where the node is."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
from typing import TYPE_CHECKING, Any

import pytest
from homing_client import code_pairing
from homing_client.code_pairing import PhoneHere, resume_by_code
from homing_client.pairing import resume_pairings
from homing_client.pairing_server import nobody_listens, only_server
from homing_client.rpc import code_calls
from homing_core.addresses import Address, parse_address
from homing_core.clock import SystemClock
from homing_core.errors import (
    ConflictError,
    HomingError,
    IntegrityError,
    InvalidDataError,
    RefusedError,
    UnavailableError,
)
from homing_crypto.node_book import SqliteNodeBook
from homing_crypto.nodes import PendingPairing
from homing_crypto.pairing.link import parse_link
from homing_crypto.testing import MemoryNodeBook
from homing_discovery.hints import Hint
from homing_node.values import Asks, CodeOffer, Paired
from support.code_pairing import CodePhone, code_door, other_code
from support.commands import ROOT
from support.fake_home import fake_home
from support.node_rig import DEADLINE_S, NodeRig, node_rig, within

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator, AsyncIterator
    from pathlib import Path

NOWHERE = Address("127.0.0.1", 1)


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path) as running:
        yield running


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_pairing, "_PAUSE_S", 0.0)


class KilledError(BaseException):
    """What a kill looks like to whoever is killed: nothing after it runs."""


@pytest.mark.parametrize("call", ["start", "confirm", "enter"])
async def test_a_lost_answer_is_asked_for_again(
    rig: NodeRig, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    real, lost = getattr(code_calls, call), 0

    async def losing(*words: Any) -> Any:  # noqa: ANN401  # whatever the call takes and gives
        nonlocal lost
        answer = await real(*words)
        if lost < 2:
            lost += 1
            msg = "the connection broke"
            raise UnavailableError(msg)
        return answer

    monkeypatch.setattr(code_calls, call, losing)
    phone = CodePhone()
    async with code_door(rig, CodeOffer.ACCEPT) as door:
        await phone.pair(door)
        await door.expect(Paired)
    assert lost == 2
    assert len(phone.book.nodes()) == len(rig.running.store.devices()) == 1


@pytest.mark.parametrize("call", ["confirm", "enter"])
@pytest.mark.parametrize("sent", [False, True], ids=["before", "after"])
async def test_a_phone_that_is_killed_around_a_call_goes_on_at_its_next_start(
    rig: NodeRig,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    call: str,
    sent: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    real = getattr(code_calls, call)

    async def killed(*words: Any) -> Any:  # noqa: ANN401  # whatever the call takes and gives
        if sent:
            await real(*words)
        raise KilledError

    monkeypatch.setattr(code_calls, call, killed)
    path = tmp_path / "nodes.db"
    phone = CodePhone(book=SqliteNodeBook(path))
    async with code_door(rig, CodeOffer.ACCEPT) as door:
        with pytest.raises(KilledError):
            await phone.pair(door)
        assert phone.book.nodes() == ()
        # Stored at the node only where the phone can still learn of it.
        assert len(rig.running.store.devices()) == (call == "enter" and sent)
        monkeypatch.setattr(code_calls, call, real)
        left = SqliteNodeBook(path)  # nobody closed the other: a kill does not
        assert door.code.encode() not in path.read_bytes()
        await within(resume_pairings(identity=phone.identity, book=left, clock=SystemClock()))
        (node,) = left.nodes()
        assert node.id == rig.running.facts.id
        assert left.pending_pairings() == ()
        await door.expect(Paired)
    left.close()
    assert [one.id for one in rig.running.store.devices()] == [phone.identity.device_id]


async def test_typing_the_code_again_goes_on_with_what_was_under_way(
    rig: NodeRig,
) -> None:
    """Ctrl-C while the person is asked, then the same command: it is the same phone."""
    phone = CodePhone()
    async with code_door(rig) as door:
        first = asyncio.create_task(phone.pair(door))
        asks = await door.expect(Asks)
        await asyncio.wait_for(phone.waits.wait(), DEADLINE_S)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        again = asyncio.create_task(phone.pair(door))
        await door.control.decide(asks.attempt_id, allow=True)
        await again
        await door.expect(Paired)
    assert phone.book.pending_pairings() == ()


async def test_what_is_left_of_an_old_window_does_not_disturb_a_new_one(rig: NodeRig) -> None:
    phone = CodePhone()
    async with code_door(rig) as door:
        pairing = asyncio.create_task(phone.pair(door))
        await door.expect(Asks)
        pairing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await pairing
    assert len(phone.book.pending_pairings()) == 1
    async with asyncio.timeout(DEADLINE_S):
        while True:
            with contextlib.suppress(ConflictError):
                async with code_door(rig, CodeOffer.ACCEPT) as later:
                    await phone.pair(later)
                    await later.expect(Paired)
                break
            await asyncio.sleep(0)
    assert len(phone.book.nodes()) == 1


async def test_a_definite_no_is_forgotten(rig: NodeRig) -> None:
    phone = CodePhone()
    async with code_door(rig) as door:
        error = await phone.is_refused(door, other_code(door.code))
        assert isinstance(error, RefusedError)
        assert "2 tries left" in error.what
    assert phone.book.pending_pairings() == ()
    assert phone.book.nodes() == ()


async def test_nobody_at_the_address(rig: NodeRig) -> None:
    phone = CodePhone()
    async with code_door(rig) as door:
        error = await phone.is_refused(door, at=NOWHERE)
    assert isinstance(error, UnavailableError)
    assert "three minutes" in error.hint
    assert phone.book.pending_pairings() == ()


async def test_another_service_at_the_address(rig: NodeRig) -> None:
    """A node's main port, or any other server: an error in words, and nothing kept."""
    phone = CodePhone()
    async with code_door(rig) as door, fake_home() as other:
        error = await phone.is_refused(door, at=parse_address(other.address))
    assert isinstance(error, HomingError)
    assert not isinstance(error, IntegrityError)
    assert phone.book.nodes() == ()


async def test_damaged_notes_are_forgotten() -> None:
    phone = CodePhone()
    phone.book.begin_pairing(PendingPairing("code-1", "homing-code:{}", "phone", 1.0))
    with pytest.raises(InvalidDataError):
        await phone.resume()
    assert phone.book.pending_pairings() == ()


def _hint(token: str, *addresses: Address) -> Hint:
    return Hint(token, addresses, token, 1, 1.0)


def test_the_only_server_is_taken_and_of_several_a_person_chooses() -> None:
    one, two = Address("192.168.1.20", 40123), Address("192.168.1.66", 40124)
    assert only_server((_hint("a" * 16, one, two),)) == (one, two)
    with pytest.raises(UnavailableError) as none:
        only_server(())
    assert "--at" in none.value.hint
    with pytest.raises(ConflictError) as several:
        only_server((_hint("a" * 16, one), _hint("b" * 16, two)))
    assert str(one) in several.value.what
    assert str(two) in several.value.what
    assert "--at" in several.value.hint
    assert "--at" in nobody_listens().hint


# A node that dies --------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.asynccontextmanager
async def daemon(folder: Path, port: int, *more: str) -> AsyncGenerator[tuple[Process, Any]]:
    """A node as a process, with link and code of its window."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "support.pairing_daemon", str(folder), str(port), *more),
        env=dict(os.environ) | {"PYTHONPATH": str(ROOT / "tests")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        yield process, json.loads(await within(process.stdout.readline()))
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await within(process.communicate())


@pytest.mark.attack
async def test_a_node_that_is_killed_between_storing_and_answering_still_ends_paired(
    tmp_path: Path,
) -> None:
    """kill -9 with the device stored and the answer unsent: the phone finds it at the main port."""
    port, phone = free_port(), CodePhone()
    async with daemon(tmp_path, port, "stored") as (process, shown):
        at = parse_link(shown["link"]).addresses
        with pytest.raises(UnavailableError):
            await phone.to_the_end(shown["code"], at)
        assert await within(process.wait()) < 0
    assert phone.book.nodes() == ()
    (pending,) = phone.book.pending_pairings()
    async with daemon(tmp_path, port):
        node = await within(resume_by_code(pending, phone.here))
    assert phone.book.nodes() == (node,)
    assert phone.book.pending_pairings() == ()


@pytest.mark.attack
async def test_the_main_port_of_a_stranger_is_no_proof(rig: NodeRig, tmp_path: Path) -> None:
    """Where the node has gone, whoever has its address has not its key."""
    phone = CodePhone()
    async with code_door(rig) as door:
        pairing = asyncio.create_task(phone.pair(door))
        await door.expect(Asks)
        await asyncio.wait_for(phone.waits.wait(), DEADLINE_S)
        pairing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await pairing
    (pending,) = phone.book.pending_pairings()
    async with node_rig(tmp_path / "other") as other:
        there = f"127.0.0.1:{other.running.port}"
        mine = f"127.0.0.1:{rig.running.port}"
        moved = PendingPairing(
            pending.link_id, pending.link.replace(mine, there), pending.device_name, 1.0
        )
        book = MemoryNodeBook()
        book.begin_pairing(moved)
        here = PhoneHere(phone.identity, book, SystemClock(), "Pixel 8")
        with pytest.raises(HomingError):
            await within(resume_by_code(moved, here))
    assert book.nodes() == ()
