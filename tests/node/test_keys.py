"""A node's own keys: shown, replaced while it runs, announced, destroyed; and its commands."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import NotFoundError
from homing_core.testing import FakeClock
from homing_crypto.audit.records import AuditKind
from homing_crypto.audit.rotation import is_node_key_change
from homing_crypto.keyring_file import KeyRing
from homing_crypto.rotation import check_succession
from homing_crypto.testing import MemoryAudit, throwaway_identity
from homing_discovery.hints import instance_token
from homing_node.key_section import KeysSection
from homing_node.keys import DAY_S, NodeKeys
from homing_node.keys_announced import announce_keys
from homing_node.rpc.keys_control import list_keys, rotate_key
from support.node_rig import DEADLINE_S, node_rig, within

if TYPE_CHECKING:
    from pathlib import Path

    from homing_crypto.identity import DeviceIdentity

OVERLAP_S = 30 * DAY_S


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def ring(tmp_path: Path, clock: FakeClock) -> KeyRing:
    return KeyRing(tmp_path / "node", clock)


async def test_after_a_rotation_both_keys_are_shown_until_the_overlap_ends(
    ring: KeyRing, clock: FakeClock
) -> None:
    keys = NodeKeys(ring, clock, OVERLAP_S, MemoryAudit())
    old = keys.current
    await keys.rotate()
    assert keys.identities() == (keys.current, old)
    assert [key.ends_at for key in keys.own()] == [0, int(clock.now() + OVERLAP_S)]
    clock.advance(OVERLAP_S - 1)
    assert len(keys.identities()) == 2
    clock.advance(1)
    assert keys.identities() == (keys.current,)
    with pytest.raises(NotFoundError, match="no such key"):
        keys.since(old.device_id)
    await keys.destroy_old()
    assert ring.identities == (keys.current,)


async def test_whoever_knows_any_older_key_gets_a_word_from_that_key_itself(
    ring: KeyRing, clock: FakeClock
) -> None:
    keys = NodeKeys(ring, clock, OVERLAP_S, MemoryAudit())
    olds: list[DeviceIdentity] = []
    for _ in range(3):
        olds.append(keys.current)
        await keys.rotate()
    for old in olds:
        change = keys.since(old.device_id)
        assert change is not None
        assert check_succession(change, old.certificate).id == keys.current.device_id
    assert keys.since(keys.current.device_id) is None
    with pytest.raises(NotFoundError):
        keys.since(throwaway_identity().device_id)


async def test_a_rotation_is_noted_with_the_old_keys_word(ring: KeyRing, clock: FakeClock) -> None:
    audit = MemoryAudit()
    keys = NodeKeys(ring, clock, OVERLAP_S, audit)
    await keys.rotate()
    ((kind, _, device, detail),) = audit.entries
    assert (kind, device) == (AuditKind.KEY_ROTATED, keys.current.device_id)
    assert is_node_key_change(detail)


async def test_an_old_key_is_destroyed_by_itself_when_its_overlap_ends(
    ring: KeyRing, clock: FakeClock
) -> None:
    keys = NodeKeys(ring, clock, OVERLAP_S, MemoryAudit())
    await keys.rotate()
    clock.advance(OVERLAP_S)
    gone = asyncio.Event()
    keys.subscribe(gone.set)
    watching = asyncio.create_task(keys.watch())
    try:
        await within(gone.wait())
        assert ring.identities == (keys.current,)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


class Announced:
    """What is announced now, by token."""

    def __init__(self) -> None:
        self.tokens: set[str] = set()
        self.news = asyncio.Event()

    def make(self, token: str) -> OneAnnouncer:
        return OneAnnouncer(self, token)

    async def until(self, tokens: set[str]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while self.tokens != tokens:
                self.news.clear()
                await self.news.wait()


class OneAnnouncer:
    def __init__(self, announced: Announced, token: str) -> None:
        self._announced = announced
        self._token = token

    @property
    def active(self) -> bool:
        return self._token in self._announced.tokens

    async def start(self) -> None:
        self._announced.tokens.add(self._token)
        self._announced.news.set()

    async def refresh(self) -> None:
        await self.start()

    async def close(self) -> None:
        self._announced.tokens.discard(self._token)
        self._announced.news.set()


async def test_the_node_is_announced_under_every_key_that_works(
    ring: KeyRing, clock: FakeClock
) -> None:
    keys = NodeKeys(ring, clock, OVERLAP_S, MemoryAudit())
    announced = Announced()
    announcing = asyncio.create_task(announce_keys(keys, announced.make))
    try:
        first = instance_token(keys.current.device_id)
        await announced.until({first})
        await keys.rotate()
        second = instance_token(keys.current.device_id)
        await announced.until({first, second})
        clock.advance(OVERLAP_S)
        await keys.destroy_old()
        await announced.until({second})
    finally:
        announcing.cancel()
        await asyncio.gather(announcing, return_exceptions=True)
    assert announced.tokens == set()


async def test_its_own_command_line_sees_and_replaces_its_keys(tmp_path: Path) -> None:
    async with node_rig(tmp_path, ready=False) as rig:
        before, protection = await list_keys(rig.paths, "homing-node run")
        assert protection.value == "file"
        after = await rotate_key(rig.paths, "homing-node run")
        assert [key.id for key in after[1:]] == [before[0].id]
        assert rig.running.facts.id == after[0].id == rig.certificate.device_id


@pytest.mark.parametrize("days", [0, -1, 366, float("nan")])
def test_an_overlap_that_makes_no_sense_is_refused(days: float) -> None:
    with pytest.raises(ValueError, match="keys\\."):
        KeysSection(overlap_days=days)
    with pytest.raises(ValueError, match="keys\\."):
        KeysSection(device_overlap_days=days)
