"""Which limits hold: a device's own, ceilings of its role, and the home behind it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from homing_core.access import DeviceRole, Limits, Scope
from homing_core.errors import InvalidDataError, RefusedError, UnpairedError, UsageError
from homing_core.ids import DeviceId
from homing_core.limit_words import LimitChange
from homing_crypto.testing import paired_device, throwaway_identity
from homing_node.devices.changes import DeviceChange, changed
from homing_node.devices.limits import check_expiry, check_hours, duration, standing_of
from homing_node.devices.rate import CallRates
from homing_node.limit_sections import CeilingSection, LimitsSection
from homing_node.rpc.device_control_codec import decode_change, decode_usage, encode_change
from homing_proto.v1 import device_control_pb2 as wire

SECTION = LimitsSection(
    member=CeilingSection(hours="06:00-23:00"),
    guest=CeilingSection(tokens_per_day=1000, models=("small-*",)),
    introduced=CeilingSection(tokens_per_day=2000, concurrent_streams=2),
)
PHONE = throwaway_identity()
HOME = throwaway_identity()


def test_of_what_was_granted_and_the_roles_ceiling_the_tighter_counts() -> None:
    guest = paired_device(PHONE, DeviceRole.GUEST)
    roomy = replace(guest, limits=Limits(tokens_per_day=5000, models=("small-1", "large")))
    standing = standing_of(roomy, None, SECTION)
    assert standing.limits == Limits(tokens_per_day=1000, models=("small-1",))
    assert dict(standing.tighter()) == {"tokens_per_day": "limits.guest", "models": "limits.guest"}
    tight = replace(guest, limits=Limits(tokens_per_day=10))
    assert standing_of(tight, None, SECTION).limits.tokens_per_day == 10


def test_an_owner_has_no_ceiling() -> None:
    owner = paired_device(PHONE, DeviceRole.OWNER)
    standing = standing_of(owner, None, SECTION)
    assert (standing.limits, standing.tighter(), standing.household) == (Limits(), (), True)


def test_an_introduced_device_stays_within_its_homes_limits_whatever_its_role() -> None:
    home = replace(
        paired_device(HOME, DeviceRole.PEER, name="attic"), limits=Limits(tokens_per_day=500)
    )
    phone = replace(paired_device(PHONE, DeviceRole.OWNER), introduced_by=home.id)
    standing = standing_of(phone, home, SECTION)
    assert standing.limits == Limits(tokens_per_day=500, concurrent_streams=2)
    assert dict(standing.tighter())["tokens_per_day"].startswith("attic")
    assert (standing.peer, standing.household) == (home.owner, False)
    assert (standing.shared.tokens_per_day, standing.shared.concurrent_streams) == (500, 2)
    unlimited = standing_of(phone, replace(home, limits=Limits()), SECTION)
    assert unlimited.shared.tokens_per_day == SECTION.introduced.tokens_per_day
    with pytest.raises(RefusedError):
        standing_of(phone, None, SECTION)


def test_hours_and_ends_are_said() -> None:
    with pytest.raises(RefusedError, match="these hours only"):
        check_hours(Limits(hours="none"), 1_800_000_000.0)
    with pytest.raises(RefusedError, match="cannot be read"):
        check_hours(Limits(hours="whenever"), 1_800_000_000.0)
    with pytest.raises(UnpairedError):
        check_expiry(Limits(expires_at=10), 10.0)
    check_expiry(Limits(expires_at=10), 9.9)
    assert [duration(s) for s in (0, 61, 3599, 3600, 3601)] == [
        *("1 minute", "2 minutes", "60 minutes", "1 hour", "2 hours")
    ]


def test_a_change_touches_only_what_it_names() -> None:
    device = replace(
        paired_device(PHONE, DeviceRole.MEMBER, frozenset({Scope.TOOLS})),
        limits=Limits(tokens_per_day=5, tools=("notes.*",)),
    )
    change = DeviceChange(limits=LimitChange(tokens_per_day=0, hours="8:00"))
    with pytest.raises(UsageError):
        changed(device, change)
    change = DeviceChange(limits=LimitChange(tokens_per_day=0, hours="08:00-09:00"))
    assert changed(device, change) == (
        *(DeviceRole.MEMBER, frozenset({Scope.TOOLS})),
        Limits(tools=("notes.*",), hours="08:00-09:00"),
    )


def test_another_role_comes_with_its_own_scopes_and_a_reset_with_no_limits() -> None:
    owner = replace(paired_device(PHONE, DeviceRole.OWNER), limits=Limits(jobs=1))
    role, scopes, limits = changed(owner, DeviceChange(role=DeviceRole.GUEST))
    assert (role, scopes, limits) == (
        *(DeviceRole.GUEST, frozenset({Scope.INFERENCE})),
        Limits(jobs=1),
    )
    _, scopes, limits = changed(owner, DeviceChange(reset=True, limits=LimitChange(jobs=7)))
    assert Scope.DEVICES in scopes
    assert limits == Limits(jobs=7)


@pytest.mark.parametrize(
    "change",
    [
        DeviceChange(),
        DeviceChange(reset=True, scopes=frozenset()),
        DeviceChange(DeviceRole.PEER, frozenset({Scope.JOBS, Scope.TOOLS})),
        DeviceChange(limits=LimitChange(0, 1, 2, (), ("a", "b"), 0, "")),
        DeviceChange(limits=LimitChange(models=("none",), expires_at=9)),
    ],
)
def test_a_change_crosses_the_wire_whole(change: DeviceChange) -> None:
    request = wire.ChangeDeviceRequest.FromString(encode_change("abcd", change).SerializeToString())
    assert decode_change(request) == change
    assert request.id_prefix == "abcd"


def test_malformed_changes_and_uses_are_refused() -> None:
    with pytest.raises(InvalidDataError):
        decode_change(wire.ChangeDeviceRequest(role=99))  # type: ignore[arg-type]  # hostile
    many = wire.ChangeDeviceRequest()
    many.limits.models.names.extend(["x"] * 5000)
    with pytest.raises(InvalidDataError):
        decode_change(many)
    with pytest.raises(InvalidDataError):
        decode_usage(wire.GetUsageResponse(devices=[wire.DeviceUse()]))


def test_calls_are_limited_by_account() -> None:
    rates = CallRates(per_second=2, burst=3)
    one, two = DeviceId("1" * 64), DeviceId("2" * 64)
    assert [rates.take(one, 0.0) for _ in range(4)] == [0, 0, 0, 0.5]
    assert rates.take(two, 0.0) == 0
    assert rates.take(one, 0.6) == 0
    assert rates.take(one, 0.6) > 0
    assert [rates.take(one, 1000.0) for _ in range(4)] == [0, 0, 0, 0.5]


def test_only_a_device_that_never_listens_is_a_flood() -> None:
    rates = CallRates(per_second=50, burst=20)
    busy, mad = DeviceId("1" * 64), DeviceId("2" * 64)
    now = 0.0
    for _ in range(2000):  # as many as it can, and at each refusal it waits as told
        now += math.ceil(rates.take(busy, now) * 1000) / 1000
        assert not rates.floods(busy)
    for _ in range(100):  # an impatient one: eight at a time, ten times a second
        now += 0.1
        for _ in range(8):
            rates.take(busy, now)
        assert not rates.floods(busy)
    for _ in range(20 * 11):
        rates.take(mad, now)
    assert not rates.floods(busy)
    assert rates.floods(mad)
    rates.take(mad, now + 80)
    assert not rates.floods(mad)
