"""What becomes of jobs whose device changes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_core.access import DeviceRole, Limits, Scope
from homing_core.errors import RefusedError
from homing_core.ids import new_job_id, new_request_id
from homing_core.jobs import JobState
from homing_core.provenance import Sensitivity
from homing_core.testing import FakeClock
from homing_core.tools import EffectClass
from homing_crypto.testing import MemoryTrustStore, paired_device, throwaway_identity
from homing_node.jobs import rights
from homing_node.jobs.rights import JobRights, Right, right_of
from homing_node.jobs.store import Ending, Entry, JobKey, NewJob
from homing_node.jobs.testing import MemoryJobStore
from support.home_tools import spec

if TYPE_CHECKING:
    from homing_core.ids import ApprovalId, DeviceId, JobId
    from homing_core.jobs import JobEvent, PendingApproval, Settlement
    from homing_crypto.devices import PairedDevice
    from homing_node.jobs.store import JobRow

TOOL = spec("echo", EffectClass.READ).id
NOW = FakeClock().now()
PHONE = paired_device(throwaway_identity(), DeviceRole.MEMBER)
OLD = replace(paired_device(throwaway_identity()), account=PHONE.id, retires_at=1)


def own(device: PairedDevice) -> Limits:
    return device.limits


def nobody(device: PairedDevice) -> Limits:
    msg = f"nobody vouches for {device.name}"
    raise RefusedError(msg)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ((PHONE,), Right.GOES_ON),
        ((OLD, PHONE), Right.GOES_ON),
        ((replace(PHONE, scopes=frozenset({Scope.INFERENCE, Scope.JOBS})),), Right.STOPS),
        ((replace(PHONE, scopes=frozenset({Scope.TOOLS})),), Right.STOPS),
        ((replace(PHONE, limits=Limits(expires_at=int(NOW))),), Right.STOPS),
        ((replace(PHONE, limits=Limits(tools=("other.*",))),), Right.STOPS),
        ((replace(PHONE, limits=Limits(tools=("scripted.echo",))),), Right.GOES_ON),
        ((replace(PHONE, lease_expires_at=int(NOW) - 1),), Right.STOPS),
        ((replace(PHONE, revoked_at=NOW),), Right.FORGOTTEN),
        ((replace(PHONE, revoked_at=NOW), replace(OLD, revoked_at=NOW)), Right.FORGOTTEN),
        ((replace(OLD, revoked_at=NOW), PHONE), Right.GOES_ON),
        ((), Right.STOPS),
    ],
)
def test_what_a_device_may_still_have(keys: tuple[PairedDevice, ...], expected: Right) -> None:
    assert right_of(keys, TOOL, own, NOW) is expected


def test_a_device_that_nobody_vouches_for_stops() -> None:
    assert right_of((PHONE,), TOOL, nobody, NOW) is Right.STOPS


class Told:
    """`ConsoleJobs` that only notes what ends."""

    def __init__(self, kept: MemoryJobStore) -> None:
        self.kept = kept
        self.ended: list[str] = []
        self.cancelled: list[JobKey] = []

    async def end_account(self, account: DeviceId) -> None:
        self.ended.append(account)
        self.kept.drop([account])

    async def cancel_any(self, key: JobKey) -> JobRow:
        self.cancelled.append(key)
        return self.kept.want_cancel(key)

    async def rows(self, most: int) -> tuple[JobRow, ...]:
        raise NotImplementedError

    async def events_any(self, key: JobKey) -> tuple[JobEvent, ...]:
        raise NotImplementedError

    async def pending_any(self) -> tuple[PendingApproval, ...]:
        raise NotImplementedError

    async def answer_any(self, approval: ApprovalId, *, allow: bool) -> JobRow:
        raise NotImplementedError

    async def settle_any(self, key: JobKey, said: Settlement) -> JobRow:
        raise NotImplementedError


class World:
    """Two phones with a job each, and what looks after them."""

    def __init__(self) -> None:
        clock = FakeClock()
        self.store = MemoryTrustStore(clock)
        self.kept = MemoryJobStore()
        self.told = Told(self.kept)
        self.rights = JobRights(self.told, self.kept, self.store, own, clock)
        self.phone, self.other = (
            self.store.add(paired_device(throwaway_identity(), name=name)) for name in ("a", "b")
        )
        self.jobs = [self.job(device) for device in (self.phone, self.other)]

    def job(self, device: PairedDevice, job_id: JobId | None = None) -> JobKey:
        key = JobKey(device.owner, job_id or new_job_id())
        job = NewJob(
            key=key,
            digest="0a" * 32,
            device=device.id,
            peer="",
            request_id=new_request_id(),
            tool=TOOL,
            sensitivity=Sensitivity.HOME_ONLY,
            priority=0,
            at=NOW,
            data_key=bytes(32),
            payload=b"sealed",
            state=JobState.QUEUED,
        )
        self.kept.submit(job, 0, 0)
        return key


async def test_while_nothing_changes_nothing_ends() -> None:
    world = World()
    await world.rights.look_at_all()
    assert (world.told.ended, world.told.cancelled) == ([], [])


async def test_a_revoked_devices_jobs_are_forgotten_also_when_only_the_store_knows() -> None:
    world = World()
    world.store.revoke(world.phone.id)
    await world.rights.look()
    assert world.told.ended == [world.phone.owner]
    assert [row.key for row in world.kept.unended()] == [world.jobs[1]]


async def test_what_had_ended_before_a_killed_revocation_is_forgotten_at_the_start() -> None:
    world = World()
    row = world.kept.claim(world.jobs[0], "den", NOW, 9.0, attempt=0)
    assert row is not None
    world.kept.finish(row.fence, Ending(Entry(NOW, JobState.SUCCEEDED), "done", [b"sealed"]))
    world.store.revoke(world.phone.id)
    await world.rights.look()
    assert world.told.ended == []
    await world.rights.look_at_all()
    assert world.told.ended == [world.phone.owner]
    assert [row.key for row in world.kept.jobs(None, most=9)] == [world.jobs[1]]


@pytest.mark.attack
async def test_others_jobs_under_the_same_id_hide_nobody_who_was_shut_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two guests who agree on an id, around the only ended job of a third who was revoked."""
    monkeypatch.setattr(rights, "_PAGE", 3)
    world = World()
    guests = [world.store.add(paired_device(throwaway_identity(), name=name)) for name in "xy"]
    first = world.job(guests[0])
    mine = world.job(world.store.add(gone := paired_device(throwaway_identity(), name="gone")))
    world.job(guests[1], first.id)
    for _ in range(2):
        world.job(guests[1])
    row = world.kept.claim(mine, "den", NOW, 9.0, attempt=0)
    assert row is not None
    world.kept.finish(row.fence, Ending(Entry(NOW, JobState.SUCCEEDED), "done", [b"sealed"]))
    world.store.revoke(gone.id)
    await world.rights.look_at_all()
    assert world.told.ended == [gone.owner]


async def test_a_device_that_lost_the_scope_has_its_jobs_stopped_once() -> None:
    world = World()
    assert world.kept.claim(world.jobs[0], "den", NOW, 9.0, attempt=0) is not None
    world.store.grant(world.phone.id, DeviceRole.GUEST, frozenset({Scope.INFERENCE}), Limits())
    await world.rights.look()
    await world.rights.look()
    assert world.told.cancelled == [world.jobs[0]]
    assert world.told.ended == []


async def test_a_job_that_nobody_runs_any_more_and_whose_end_is_wanted_is_ended_too() -> None:
    world = World()
    world.store.grant(world.phone.id, DeviceRole.GUEST, frozenset({Scope.INFERENCE}), Limits())
    world.kept.want_cancel(world.jobs[0])  # and then it parked
    await world.rights.look()
    assert world.told.cancelled == [world.jobs[0]]


async def test_a_key_that_was_shut_out_names_its_account() -> None:
    world = World()
    key = replace(paired_device(throwaway_identity()), account=world.phone.id)
    job = world.job(key)
    await world.rights.forget(key.id)
    assert world.phone.owner in world.told.ended
    assert job not in {row.key for row in world.kept.unended()}


async def test_a_store_that_cannot_be_read_ends_nobody() -> None:
    world = World()
    world.store.revoke(world.phone.id)
    world.store.broken = True
    await world.rights.look_at_all()
    assert (world.told.ended, world.told.cancelled) == ([], [])
    world.store.broken = False
    async with asyncio.timeout(9):
        await world.rights.look()
    assert world.told.ended == [world.phone.owner]
