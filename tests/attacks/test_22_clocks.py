"""The clock of one side stands at 1970, or twenty years ahead.

Expected: phone and node still pair, connect and replace keys, because nothing of that depends on
both clocks; and whatever has an end fails closed: a lease, a limit in time, an old key's overlap
and an approval are over, or out of their bounds, and never begin anew.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_client.pairing import pair_with
from homing_core.access import DeviceRole, Limits
from homing_core.approvals import ApprovalStatement, Verdict
from homing_core.errors import HomingError, RefusedError
from homing_core.ids import ApprovalId, RequestId
from homing_crypto.approvals import MOST_APPROVAL_S, sign_approval, verify_approval
from homing_crypto.certificates import check_certificate
from homing_crypto.testing import paired_device, throwaway_identity
from homing_node.values import Opened
from support.key_world import DAY_S, YEARS_S, SetClock, introduce, key_node, key_phone
from support.node_rig import within

if TYPE_CHECKING:
    from pathlib import Path

    from homing_crypto.devices import PairedDevice

NOW = SetClock().now()
TIMES = {"1970": 0.0, "twenty years ahead": NOW + YEARS_S}
wrong = pytest.mark.parametrize("seconds", TIMES.values(), ids=TIMES.keys())
both = pytest.mark.parametrize("side", ["phone", "node"])


def clocks(side: str, seconds: float) -> dict[str, SetClock]:
    """Both sides' clocks, of which one is wrong."""
    made = {"phone": SetClock(), "node": SetClock()}
    made[side].set_to(seconds)
    return made


@pytest.mark.attack(22)
@both
@wrong
async def test_they_pair_connect_and_replace_their_keys(
    tmp_path: Path, side: str, seconds: float
) -> None:
    set_to = clocks(side, seconds)
    async with (
        key_node(tmp_path / "node", set_to["node"]) as rig,
        key_phone(tmp_path / "phone", set_to["phone"]) as phone,
    ):
        control = await rig.control()
        async with contextlib.aclosing(control.pair(DeviceRole.MEMBER, 60)) as events:
            opened = await within(anext(events))
            assert isinstance(opened, Opened)
            await pair_with(
                opened.link,
                identity=phone.current,
                book=phone.book,
                name="pocket",
                clock=phone.clock,
            )
        await phone.call()
        before = (phone.current, rig.running.keys.current)
        await within(phone.desk.rotate())
        await rig.running.keys.rotate()
        verified = await phone.call()
        assert verified.info.role is DeviceRole.MEMBER
        assert phone.node.id == rig.running.keys.current.device_id != before[1].device_id
        assert phone.node.known_as == phone.current.device_id != before[0].device_id
        assert not rig.running.store.get(before[0].device_id).live(set_to["node"].now())


@pytest.mark.attack(22)
@wrong
async def test_a_clock_that_goes_wrong_afterwards_keeps_nobody_out_who_has_no_end(
    tmp_path: Path, seconds: float
) -> None:
    set_to = {"phone": SetClock(), "node": SetClock()}
    async with (
        key_node(tmp_path / "node", set_to["node"]) as rig,
        key_phone(tmp_path / "phone", set_to["phone"]) as phone,
    ):
        introduce(phone, rig)
        for clock in set_to.values():
            await phone.homes.network_changed()
            clock.set_to(seconds)
            assert (await phone.call()).info.id == rig.running.keys.current.device_id
            clock.ahead = 0.0


def ending(device: PairedDevice, kind: str, now: int) -> PairedDevice:
    match kind:
        case "lease":
            other = throwaway_identity().device_id
            return replace(device, introduced_by=other, lease_expires_at=now + 3600)
        case "limit":
            return replace(device, limits=Limits(expires_at=now + 3600))
        case _:
            return replace(device, retires_at=now + 3600)


@pytest.mark.attack(22)
@wrong
@pytest.mark.parametrize("kind", ["lease", "limit", "overlap"])
def test_what_has_an_end_is_over_while_the_clock_is_wrong(kind: str, seconds: float) -> None:
    now = 1_800_000_000
    seen = replace(paired_device(throwaway_identity()), last_seen_at=float(now))
    device = ending(seen, kind, now)
    assert device.live(now)
    assert not device.live(seconds)
    assert seen.live(seconds)


@pytest.mark.attack(22)
@wrong
@both
def test_an_approval_made_or_read_with_a_wrong_clock_is_refused(side: str, seconds: float) -> None:
    phone = throwaway_identity()
    set_to = clocks(side, seconds)
    statement = ApprovalStatement(
        id=ApprovalId("a"),
        request_id=RequestId("r"),
        step=1,
        tool_hash="1" * 64,
        argument_hash="2" * 64,
        verdict=Verdict.ALLOW,
        device=phone.device_id,
        expires_at=int(set_to["phone"].now()) + 60,
    )
    signed = sign_approval(phone, statement)
    with pytest.raises(RefusedError):
        verify_approval(signed, phone.certificate, set_to["node"].now())
    assert verify_approval(signed, phone.certificate, set_to["phone"].now()) == statement
    assert MOST_APPROVAL_S < YEARS_S


@pytest.mark.attack(22)
async def test_an_old_key_is_not_let_in_again_when_the_nodes_clock_is_set_back(
    tmp_path: Path,
) -> None:
    clock = SetClock()
    async with key_node(tmp_path / "node", clock) as rig, key_phone(tmp_path / "phone") as phone:
        introduce(phone, rig)
        old = phone.current
        await within(phone.desk.rotate())
        for seconds in (0.0, NOW, NOW + YEARS_S, NOW - DAY_S / 2):
            clock.set_to(seconds)
            assert old.certificate.pem not in rig.running.store.roots_pem()
            assert phone.current.certificate.pem in rig.running.store.roots_pem()


@pytest.mark.attack(22)
def test_certificates_hold_at_any_time_that_a_clock_can_show() -> None:
    """TLS asks the machine's own clock, which no test sets: so their validity is looked at."""
    from cryptography import x509  # noqa: PLC0415  # here alone

    certificate = x509.load_der_x509_certificate(throwaway_identity().certificate.der)
    assert certificate.not_valid_before_utc.timestamp() == 0
    assert certificate.not_valid_after_utc.year == 9999
    with pytest.raises(HomingError):
        check_certificate(b"")
