"""What owners' phones may change from afar: the rules, and what is noted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_core.access import DEFAULT_SCOPES, DeviceRole, Limits, Scope
from homing_core.errors import NotFoundError, OverloadedError, RefusedError
from homing_core.testing import FakeClock
from homing_crypto.audit.records import AuditKind
from homing_crypto.guard import Caller, ShutOut
from homing_crypto.testing import MemoryAudit, MemoryTrustStore, paired_device, throwaway_identity
from homing_node.devices.desk import DeviceDesk
from homing_node.devices.recovery import RECOVERY_FILE, Recovery
from homing_node.devices.remote import MOST_CHANGES, Grant, RemoteDesk, check_grant, check_revoke

if TYPE_CHECKING:
    from pathlib import Path

    from homing_core.errors import HomingError
    from homing_core.ids import DeviceId

OWNER, MEMBER, PEER, GUEST = (throwaway_identity() for _ in range(4))
OWNERS = Caller(paired_device(OWNER, DeviceRole.OWNER))
THE_MEMBER = paired_device(MEMBER)


class NoWork:
    async def end(self, account: DeviceId, error: HomingError | None = None) -> int:
        del account, error
        return 0


class Rig:
    def __init__(self, folder: Path) -> None:
        self.store, self.audit = MemoryTrustStore(FakeClock()), MemoryAudit()
        for device in (OWNERS.device, THE_MEMBER):
            self.store.add(device)
        desk = DeviceDesk(self.store, ShutOut(), NoWork(), self.audit, FakeClock())
        recovery = Recovery(folder / RECOVERY_FILE, FakeClock(), self.audit)
        self.remote = RemoteDesk(
            store=self.store,
            desk=desk,
            recovery=recovery,
            work=NoWork(),
            audit=self.audit,
            clock=FakeClock(),
        )


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


async def test_what_a_phone_changes_is_noted_under_its_id_and_may_be_repeated(rig: Rig) -> None:
    grant = Grant(DeviceRole.GUEST, DEFAULT_SCOPES[DeviceRole.GUEST], Limits(tokens_per_day=9))
    for _ in range(2):
        device = await rig.remote.grant(OWNERS, MEMBER.device_id, grant)
        assert (device.role, device.limits.tokens_per_day) == (DeviceRole.GUEST, 9)
    for _ in range(2):
        (gone,) = await rig.remote.revoke(OWNERS, MEMBER.device_id)
        assert gone.revoked_at
    assert [device.id for device in await rig.remote.devices()] == [OWNER.device_id]
    expected = [AuditKind.GRANTED] * 2 + [AuditKind.REVOKED] * 2
    assert [entry[:3] for entry in rig.audit.entries] == [
        (kind, OWNER.device_id, MEMBER.device_id) for kind in expected
    ]
    with pytest.raises(RefusedError, match="revoked"):
        await rig.remote.grant(OWNERS, MEMBER.device_id, grant)
    with pytest.raises(NotFoundError):
        await rig.remote.revoke(OWNERS, GUEST.device_id)


def test_an_owner_without_the_scope_looks_after_nobody() -> None:
    caller = Caller(replace(OWNERS.device, scopes=frozenset({Scope.INFERENCE})))
    with pytest.raises(RefusedError, match="not an owner"):
        check_revoke(caller, THE_MEMBER, [THE_MEMBER], recovery=True)
    check_revoke(caller, caller.device, [caller.device], recovery=False)  # but it may leave


def test_scopes_that_the_console_gave_stay_when_limits_change() -> None:
    special = replace(THE_MEMBER, scopes=THE_MEMBER.scopes | {Scope.INTRODUCE})
    check_grant(
        OWNERS,
        special,
        Grant(DeviceRole.MEMBER, special.scopes, Limits(jobs=1)),
        recovery=False,
    )
    with pytest.raises(RefusedError, match="more than"):
        check_grant(
            OWNERS, special, Grant(DeviceRole.GUEST, special.scopes, Limits()), recovery=False
        )


def test_an_earlier_key_of_an_owner_is_an_owner() -> None:
    other = throwaway_identity()
    owner = replace(paired_device(other, DeviceRole.OWNER), account=other.device_id)
    key = replace(paired_device(GUEST, DeviceRole.OWNER), account=other.device_id)
    with pytest.raises(RefusedError, match="among owners"):
        check_revoke(OWNERS, key, [owner, key], recovery=False)
    # Whatever the key's own entry says, what would go with it counts.
    disguised = replace(key, role=DeviceRole.GUEST)
    with pytest.raises(RefusedError, match="among owners"):
        check_revoke(OWNERS, disguised, [owner, disguised], recovery=False)
    check_revoke(OWNERS, key, [owner, key], recovery=True)


def test_a_peer_and_whom_it_vouches_for_can_be_shut_out() -> None:
    peer = paired_device(PEER, DeviceRole.PEER)
    guest = replace(paired_device(GUEST, DeviceRole.GUEST), introduced_by=PEER.device_id)
    check_revoke(OWNERS, peer, [peer, guest], recovery=False)
    limits = Grant(DeviceRole.PEER, peer.scopes, Limits(tokens_per_day=1))
    check_grant(OWNERS, peer, limits, recovery=False)
    with pytest.raises(RefusedError, match="stays one"):
        check_grant(OWNERS, peer, Grant(DeviceRole.GUEST, frozenset(), Limits()), recovery=True)


@pytest.mark.attack
async def test_an_owners_phone_fills_no_log_with_grants_and_can_still_shut_out(rig: Rig) -> None:
    grant = Grant(DeviceRole.GUEST, DEFAULT_SCOPES[DeviceRole.GUEST], Limits())
    rig.store.add(paired_device(GUEST, DeviceRole.GUEST))
    for _ in range(MOST_CHANGES - 1):
        await rig.remote.grant(OWNERS, MEMBER.device_id, grant)
    for _ in range(2):
        await rig.remote.revoke(OWNERS, MEMBER.device_id)
    with pytest.raises(OverloadedError, match="within a day"):
        await rig.remote.revoke(OWNERS, MEMBER.device_id)
    with pytest.raises(OverloadedError, match="within a day"):
        await rig.remote.grant(OWNERS, GUEST.device_id, grant)
    (gone,) = await rig.remote.revoke(OWNERS, GUEST.device_id)
    assert gone.revoked_at
    assert len(rig.audit.entries) == MOST_CHANGES + 2
