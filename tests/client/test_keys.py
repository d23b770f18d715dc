"""A phone's keys: replaced, told to nodes, forgotten, and whatever interrupts that."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from typing import TYPE_CHECKING

import pytest
from homing_client import keys, link, renewal
from homing_client.keys import DAY_S, KEEP_S
from homing_client.rpc import keys_calls
from homing_core.errors import ConflictError, NotFoundError, UnavailableError, UnpairedError
from homing_core.generation import Done, FinishReason, GenerateRequest, TextDelta
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_crypto.keyring_file import KeyRing
from homing_crypto.nodes import PendingPairing
from homing_crypto.rotation import check_succession
from homing_crypto.testing import MemoryAudit
from homing_node import keys as node_keys
from homing_node.devices import rotation, watch
from homing_node.keys import NodeKeys
from homing_node.rpc import keys_service
from support.dying import Died, dying
from support.key_world import REACH_S, KeyPhone, SetClock, introduce, key_node, key_phone
from support.node_rig import within

if TYPE_CHECKING:
    from pathlib import Path

    from support.node_rig import NodeRig

DULL = frozenset({"verify", "_verify_within", "_ask", "_note", "current", "behind", "__init__"})
"""Lines of the link and of the keys that change nothing."""


async def healed(phone: KeyPhone, rig: NodeRig) -> None:
    """Everything has come to one key on both sides, and the node lists one device."""
    await phone.call()
    now = phone.current.device_id
    assert phone.node.known_as in {"", now}
    assert len(phone.ring.identities) == 1
    devices = rig.running.store.devices()
    account = next(device.owner for device in devices if device.id == now)
    listed = [one.id for one in devices if one.listed and one.owner == account]
    assert listed == [now]


async def test_rotating_tells_the_node_at_once_and_destroys_the_old_key(tmp_path: Path) -> None:
    async with key_node(tmp_path / "node") as rig, key_phone(tmp_path / "phone") as phone:
        introduce(phone, rig)
        old = phone.current
        own, (den,) = await within(phone.desk.rotate())
        assert [key.id for key in own] == [phone.current.device_id] != [old.device_id]
        assert (den.known_as, den.problem) == (phone.current.device_id, "")
        await healed(phone, rig)


async def test_a_node_that_is_called_next_is_told_in_the_background(tmp_path: Path) -> None:
    async with key_phone(tmp_path / "phone") as phone:
        async with key_node(tmp_path / "node") as rig:
            introduce(phone, rig)
        await phone.desk.rotate()
        async with key_node(tmp_path / "node") as rig:
            known = asyncio.Event()

            async def changed() -> None:
                if rig.running.store.lookup(phone.current.device_id):
                    known.set()

            rig.running.desk.subscribe(changed)
            await within((await phone.link()).verify(REACH_S))
            await within(known.wait())


async def test_what_runs_over_the_old_connection_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = asyncio.Event()
    look = watch.Watch.look

    async def noted(self: watch.Watch) -> None:
        await look(self)
        looked.set()

    monkeypatch.setattr(watch.Watch, "look", noted)
    monkeypatch.setattr(watch, "WATCH_S", 0.01)
    async with (
        key_node(tmp_path / "node", ready=True) as rig,
        key_phone(tmp_path / "phone") as phone,
    ):
        introduce(phone, rig)
        calls = await (await phone.link()).calls(REACH_S)
        request = GenerateRequest(new_generation_id(), (user("hello"),))
        async with contextlib.aclosing(calls.generate(request)) as events:
            rig.engine.feed(request.id, TextDelta("a"))
            assert (await within(anext(events))).event == TextDelta("a")
            await within(phone.desk.rotate())
            for _ in range(2):  # the node looks after calls whose time is over
                looked.clear()
                await within(looked.wait())
            rig.engine.feed(request.id, TextDelta("b"), Done(FinishReason.STOP))
            rest = [one.event async for one in events]
        assert rest[0] == TextDelta("b")
        await healed(phone, rig)


async def test_a_pairing_under_way_keeps_the_key_as_it_is(tmp_path: Path) -> None:
    async with key_phone(tmp_path / "phone") as phone:
        now = phone.clock.now()
        phone.book.begin_pairing(PendingPairing("id", "homing://pair?", "phone", now))
        before = phone.current
        with pytest.raises(ConflictError):
            await phone.desk.rotate()
        assert phone.current == before
        phone.clock.ahead += 3600
        await phone.desk.rotate()
        assert phone.current != before


async def test_a_key_is_replaced_by_itself_when_it_is_old_enough(tmp_path: Path) -> None:
    async with key_phone(tmp_path / "phone") as phone:
        first = phone.current
        phone.clock.ahead += 364 * DAY_S
        assert not await phone.keys.keep_fresh(365)
        phone.clock.ahead += 2 * DAY_S
        assert not await phone.keys.keep_fresh(0)
        assert await phone.keys.keep_fresh(365)
        assert phone.current != first
        assert not await phone.keys.keep_fresh(365)


async def test_a_node_unheard_of_for_90_days_has_to_be_paired_with_again(tmp_path: Path) -> None:
    async with key_phone(tmp_path / "phone") as phone:
        async with key_node(tmp_path / "node") as rig:
            introduce(phone, rig)
        await phone.desk.rotate()
        phone.clock.ahead += KEEP_S - 60
        await phone.keys.tidy()
        assert len(phone.ring.identities) == 2
        phone.clock.ahead += 120
        await phone.keys.tidy()
        assert len(phone.ring.identities) == 1
        _, (den,), _ = await phone.desk.show()
        assert den.known_as == ""
        async with key_node(tmp_path / "node"):
            with pytest.raises(UnpairedError, match="does not know this phone"):
                await (await phone.link()).verify(REACH_S)


async def test_forgetting_a_node_closes_the_connection_and_drops_its_keys(tmp_path: Path) -> None:
    async with key_phone(tmp_path / "phone") as phone:
        async with key_node(tmp_path / "node") as rig:
            introduce(phone, rig)
            await phone.call()
            held = await phone.link()
        await phone.desk.rotate()
        assert len(phone.ring.identities) == 2
        forgotten = await phone.desk.forget("den")
        assert forgotten.name == "den"
        assert phone.book.nodes() == ()
        assert len(phone.ring.identities) == 1
        assert await phone.homes.links() == ()
        with pytest.raises(UnavailableError):
            await held.verify(0.2)
        with pytest.raises(NotFoundError):
            await phone.desk.forget(forgotten.id)


@pytest.mark.attack(23)
async def test_a_phone_that_is_killed_at_any_line_of_a_rotation_goes_on_afterwards(
    tmp_path: Path,
) -> None:
    """Whatever was done, the next process ends with one key on both sides."""
    rotations: list[bool] = []
    async with key_node(tmp_path / "node") as rig:
        for after in itertools.count(1):
            folder = tmp_path / str(after)
            phone = KeyPhone(folder)
            introduce(phone, rig)
            await phone.call()
            first = phone.current
            with dying(after, keys, link, renewal, keys_calls, dull=DULL) as lines:
                with contextlib.suppress(Died):
                    await within(phone.desk.rotate())
                await asyncio.sleep(0)
            with contextlib.suppress(TimeoutError):  # what died may have held a lock
                await asyncio.wait_for(phone.close(), 0.5)
            async with key_phone(folder) as again:
                await healed(again, rig)
                rotations.append(again.current != first)
            if lines[0] < after:
                break
    assert len(rotations) > 60
    assert True in rotations[:-1]
    assert False in rotations


@pytest.mark.attack(23)
async def test_a_node_that_fails_at_any_line_of_a_phones_rotation_takes_it_afterwards(
    tmp_path: Path,
) -> None:
    lines = [0]
    async with key_node(tmp_path / "node") as rig:
        for after in itertools.count(1):
            folder = tmp_path / str(after)
            phone = KeyPhone(folder)
            introduce(phone, rig)
            await phone.call()
            with dying(after, keys_service, rotation, error=RuntimeError) as lines:
                await within(phone.desk.rotate())
            await phone.close()
            async with key_phone(folder) as again:
                await healed(again, rig)
            if lines[0] < after:
                break
    assert lines[0] > 15


@pytest.mark.attack(23)
async def test_a_node_that_is_killed_at_any_line_of_its_own_rotation_is_still_the_node(
    tmp_path: Path,
) -> None:
    clock = SetClock()
    rotations: list[bool] = []
    for after in itertools.count(1):
        folder = tmp_path / str(after)
        ring = KeyRing(folder, clock)
        old = ring.current
        died = False
        with dying(after, node_keys):
            try:
                await NodeKeys(ring, clock, DAY_S, MemoryAudit()).rotate()
            except Died:
                died = True
        again = NodeKeys(KeyRing(folder, clock), clock, DAY_S, MemoryAudit())
        change = again.since(old.device_id)
        rotations.append(change is not None)
        if change is None:
            assert again.current == old
        else:
            assert check_succession(change, old.certificate).id == again.current.device_id
        if not died:
            break
    assert len(rotations) > 10
    assert rotations == sorted(rotations)
    assert rotations[-1]


async def test_a_rotation_with_a_wrong_clock_is_one_all_the_same(tmp_path: Path) -> None:
    clock = SetClock()
    async with key_node(tmp_path / "node") as rig, key_phone(tmp_path / "phone", clock) as phone:
        introduce(phone, rig)
        clock.set_to(1_000_000.0)
        await within(phone.desk.rotate())
        await healed(phone, rig)
