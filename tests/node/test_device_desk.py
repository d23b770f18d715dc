"""Changes to devices: in order, whole, and whatever happens meanwhile."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest
from homing_core.access import DeviceRole, Limits, Scope
from homing_core.errors import InternalError, NotFoundError, RefusedError, UnavailableError
from homing_core.testing import FakeClock
from homing_crypto.audit.records import CONSOLE, AuditKind
from homing_crypto.guard import ShutOut
from homing_crypto.testing import MemoryAudit, MemoryTrustStore, paired_device, throwaway_identity
from homing_node.devices.desk import DeviceDesk
from support.node_rig import within

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from homing_core.errors import HomingError
    from homing_core.ids import DeviceId
    from homing_crypto.devices import PairedDevice

PHONE, OTHER = throwaway_identity(), throwaway_identity()


class Told:
    """A `Work`, and whoever else notices: what happened, in order."""

    def __init__(self, store: Held, shut_out: ShutOut, audit: MemoryAudit) -> None:
        self.store = store
        self.shut_out = shut_out
        self.audit = audit
        self.steps: list[str] = []
        self.fails = False
        self.waits: asyncio.Event | None = None

    async def end(self, account: DeviceId, error: HomingError | None = None) -> int:
        del error
        device = self.store.lookup(account)
        stored = device is not None and bool(device.revoked_at)
        refused = device in self.shut_out
        noted = AuditKind.REVOKED in self.audit.kinds()
        self.steps.append(f"work: stored {stored}, refused {refused}, noted {noted}")
        if self.waits is not None:
            await self.waits.wait()
        if self.fails:
            raise OSError
        return 0

    async def listener(self) -> None:
        self.steps.append(f"told: noted {AuditKind.REVOKED in self.audit.kinds()}")
        if self.fails:
            raise OSError


class Held(MemoryTrustStore):
    """A store whose changes can be held up, as by a slow disk."""

    def __init__(self) -> None:
        super().__init__(FakeClock())
        self.adding = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()
        self.fault: Exception | None = None

    def add(self, device: PairedDevice, link_id: str = "") -> PairedDevice:
        stored = super().add(device, link_id)
        self.adding.set()
        assert self.go_on.wait(10)
        return stored

    def revoke(self, device_id: DeviceId) -> tuple[PairedDevice, ...]:
        if self.fault is not None:
            raise self.fault
        return super().revoke(device_id)


class Rig:
    def __init__(self) -> None:
        self.store, self.shut_out, self.audit = Held(), ShutOut(), MemoryAudit()
        self.told = Told(self.store, self.shut_out, self.audit)
        self.desk = DeviceDesk(self.store, self.shut_out, self.told, self.audit, FakeClock())
        self.desk.subscribe(self.told.listener)

    def is_in(self) -> bool:
        device = self.store.lookup(PHONE.device_id)
        return device is not None and not device.revoked_at and device not in self.shut_out


@pytest.fixture
def rig() -> Rig:
    return Rig()


async def test_a_revocation_takes_its_steps_in_order(rig: Rig) -> None:
    rig.store.add(paired_device(PHONE))
    await rig.desk.revoke(PHONE.device_id, CONSOLE)
    assert rig.told.steps == [
        "work: stored True, refused True, noted False",
        "told: noted True",
    ]
    assert rig.audit.entries[-1][1:] == (CONSOLE, PHONE.device_id, {"stored": True})


@pytest.mark.parametrize("fault", [UnavailableError("the disk is full"), OSError("no words")])
async def test_a_disk_that_fails_keeps_nobody_in_and_is_said(rig: Rig, fault: Exception) -> None:
    rig.store.add(paired_device(PHONE))
    rig.store.fault = fault
    with pytest.raises((UnavailableError, InternalError)) as caught:
        await rig.desk.revoke(PHONE.device_id, CONSOLE)
    assert caught.value.what.startswith("shut out until the node restarts; it could not be stored")
    assert "no words" not in str(caught.value)
    assert "repeat" in caught.value.hint
    assert rig.told.steps[0] == "work: stored False, refused True, noted False"
    assert not rig.is_in()
    assert rig.audit.entries[-1][-1] == {"stored": False}
    assert rig.store.roots_pem(rig.shut_out) == b""

    rig.store.fault = None
    await rig.desk.store_again()
    device = rig.store.get(PHONE.device_id)
    assert device.revoked_at
    assert rig.audit.entries[-1][-1] == {"stored": True}


async def test_one_step_that_fails_keeps_no_other_from_being_taken(rig: Rig) -> None:
    rig.store.add(paired_device(PHONE))
    rig.told.fails = True
    (device,) = await rig.desk.revoke(PHONE.device_id, CONSOLE)
    assert device.revoked_at
    assert AuditKind.REVOKED in rig.audit.kinds()


async def test_whoever_asks_may_go_away(rig: Rig) -> None:
    rig.store.add(paired_device(PHONE))
    rig.told.waits = asyncio.Event()
    asking = asyncio.create_task(rig.desk.revoke(PHONE.device_id, CONSOLE))
    async with asyncio.timeout(10):
        while not rig.told.steps:  # noqa: ASYNC110  # bounded
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        rig.told.waits.set()
        while "told: noted True" not in rig.told.steps:  # noqa: ASYNC110  # bounded
            await asyncio.sleep(0)


async def test_two_revocations_at_once(rig: Rig) -> None:
    rig.store.add(paired_device(PHONE))
    rig.store.add(paired_device(OTHER))
    both = await within(
        _gathered(
            rig.desk.revoke(PHONE.device_id, CONSOLE),
            rig.desk.revoke(PHONE.device_id, OTHER.device_id),
        )
    )
    assert [device.id for concerned in both for device in concerned] == [PHONE.device_id] * 2
    assert not rig.is_in()
    assert rig.store.get(OTHER.device_id).revoked_at == 0


async def _gathered(
    *revocations: Coroutine[object, object, tuple[PairedDevice, ...]],
) -> list[tuple[PairedDevice, ...]]:
    return list(await asyncio.gather(*revocations))


@pytest.mark.attack
@pytest.mark.parametrize("disk_fails", [False, True])
async def test_a_pairing_that_ends_meanwhile_brings_no_revoked_device_in(
    rig: Rig, *, disk_fails: bool
) -> None:
    rig.store.go_on.clear()
    admitting = asyncio.create_task(rig.desk.admit(paired_device(PHONE), CONSOLE, "link"))
    assert await asyncio.to_thread(rig.store.adding.wait, 10)  # it is stored, nobody knows yet
    rig.store.fault = UnavailableError("the disk is full") if disk_fails else None
    revoking = asyncio.create_task(rig.desk.revoke(PHONE.device_id, CONSOLE))
    await asyncio.sleep(0)
    assert not rig.is_in()
    rig.store.go_on.set()
    await admitting
    assert isinstance(await _outcome(revoking), UnavailableError if disk_fails else tuple)
    assert not rig.is_in()
    if disk_fails:  # the store knows nothing of it, so the same link would find it well
        with pytest.raises(RefusedError, match="shut out"):
            await rig.desk.admit(paired_device(PHONE), CONSOLE, "link")
        assert not rig.is_in()


async def _outcome(task: asyncio.Task[tuple[PairedDevice, ...]]) -> object:
    (found,) = await asyncio.gather(task, return_exceptions=True)
    return found


async def test_a_person_may_pair_it_again(rig: Rig) -> None:
    await rig.desk.admit(paired_device(PHONE), CONSOLE, "first")
    rig.store.fault = UnavailableError("the disk is full")
    with pytest.raises(UnavailableError):
        await rig.desk.revoke(PHONE.device_id, CONSOLE)
    await rig.desk.admit(paired_device(PHONE), CONSOLE, "second")
    assert rig.is_in()
    rig.store.fault = None
    await rig.desk.store_again()  # what was to be stored is void
    assert rig.is_in()


async def test_nobody_cannot_be_revoked(rig: Rig) -> None:
    with pytest.raises(NotFoundError):
        await rig.desk.revoke(PHONE.device_id, CONSOLE)
    assert rig.told.steps == []
    rig.store.add(paired_device(PHONE))
    assert rig.is_in()


async def test_what_a_device_may_do_no_more_ends(rig: Rig) -> None:
    rig.store.add(paired_device(PHONE))
    scopes = frozenset({Scope.INFERENCE})
    await rig.desk.grant(PHONE.device_id, DeviceRole.MEMBER, scopes, Limits(), CONSOLE)
    assert len([step for step in rig.told.steps if step.startswith("work")]) == 1
    await rig.desk.grant(PHONE.device_id, DeviceRole.MEMBER, scopes, Limits(jobs=1), CONSOLE)
    assert len([step for step in rig.told.steps if step.startswith("work")]) == 1
