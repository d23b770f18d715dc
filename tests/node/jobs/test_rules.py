"""Who may run what, and whose word it needs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from homing_core.access import DeviceRole, Limits, Scope
from homing_core.errors import InvalidDataError, NotFoundError, RefusedError
from homing_core.ids import DeviceId, new_request_id
from homing_core.provenance import Sensitivity
from homing_core.tools import EffectClass, Topic
from homing_crypto.testing import paired_device, throwaway_identity
from homing_node.devices.limits import Standing, standing_of
from homing_node.jobs import rules, transitions
from homing_node.jobs.picking import next_job
from homing_node.limit_sections import LimitsSection
from support.job_house import WORKS, Person, ScriptedTool, job, tool_spec
from support.job_rows import new_job

HOME = paired_device(throwaway_identity(), DeviceRole.PEER)
CHANGES = sorted(
    set(EffectClass) - {EffectClass.READ, EffectClass.READ_NETWORK}, key=lambda one: one.value
)


def standing(
    role: DeviceRole,
    tools: tuple[str, ...] = (),
    *,
    of_home: tuple[str, ...] | None = None,
) -> Standing:
    device = replace(paired_device(throwaway_identity(), role, WORKS), limits=Limits(tools=tools))
    if of_home is None:
        return standing_of(device, None, LimitsSection())
    home = replace(HOME, limits=Limits(tools=of_home))
    return standing_of(replace(device, introduced_by=home.id), home, LimitsSection())


@pytest.mark.parametrize("effect", CHANGES, ids=lambda one: one.value)
def test_what_changes_the_computer_needs_an_owner(effect: EffectClass) -> None:
    tool = tool_spec(effect=effect)
    assert rules.needs_person(tool)
    assert not rules.needs_owner(tool, standing(DeviceRole.OWNER))
    for role in (DeviceRole.MEMBER, DeviceRole.GUEST):
        assert rules.needs_owner(tool, standing(role))
        assert not rules.needs_owner(tool, standing(role, ("test.work",)))
        for wide in ("test.*", "*", "test.wor?", "test.[w]ork", "test.work & *"):
            assert rules.needs_owner(tool, standing(role, (wide,)))


@pytest.mark.attack
def test_what_another_home_says_of_its_devices_is_no_owners_word_here() -> None:
    tool = tool_spec(effect=EffectClass.DELETE)
    own_word = standing(DeviceRole.OWNER, ("test.work",), of_home=())
    assert rules.needs_owner(tool, own_word)
    assert rules.needs_owner(tool, standing(DeviceRole.MEMBER, ("test.work",), of_home=("test.*",)))
    assert not rules.needs_owner(tool, standing(DeviceRole.MEMBER, (), of_home=("test.work",)))


def test_reading_needs_nobody_and_topics_always_somebody() -> None:
    assert not rules.needs_person(tool_spec())
    assert rules.needs_person(tool_spec(effect=EffectClass.READ_NETWORK))
    assert not rules.needs_owner(
        tool_spec(effect=EffectClass.READ_NETWORK), standing(DeviceRole.GUEST)
    )
    money = frozenset({Topic.MONEY})
    assert rules.needs_person(tool_spec(topics=money))
    granted = standing(DeviceRole.MEMBER, ("test.work",))
    assert rules.needs_owner(tool_spec(effect=EffectClass.SPEND, topics=money), granted)


@pytest.mark.parametrize("missing", [Scope.TOOLS, Scope.JOBS])
def test_both_scopes_are_needed(missing: Scope) -> None:
    device = paired_device(throwaway_identity(), DeviceRole.OWNER, WORKS - {missing})
    with pytest.raises(RefusedError, match=missing.value):
        rules.check_use(device, Limits(), tool_spec())


def test_a_tool_outside_of_a_devices_limits_does_not_exist_for_it() -> None:
    device = paired_device(throwaway_identity(), DeviceRole.OWNER, WORKS)
    with pytest.raises(NotFoundError):
        rules.check_use(device, Limits(tools=("other.*",)), tool_spec())


def test_a_job_names_the_tool_as_it_is_and_brings_no_data_that_may_not_come() -> None:
    tool = ScriptedTool(tool_spec())
    device = paired_device(throwaway_identity(), DeviceRole.OWNER, WORKS)
    spec = job(tool)

    def check(**changed: object) -> None:
        rules.check_submission(device, replace(spec, **changed), tool.spec, {"a" * 64})  # type: ignore[arg-type]

    check()
    check(tool=replace(spec.tool, node="a" * 64))
    with pytest.raises(NotFoundError):
        check(tool=replace(spec.tool, node="b" * 64))
    with pytest.raises(NotFoundError, match="changed"):
        check(tool=replace(spec.tool, schema_hash="0" * 64))
    with pytest.raises(InvalidDataError):
        check(call=replace(spec.call, name="other"))
    with pytest.raises(RefusedError, match="data"):
        check(sensitivity=Sensitivity.PHONE_ONLY)
    device = replace(device, introduced_by=HOME.id)
    with pytest.raises(RefusedError, match="data"):
        check(sensitivity=Sensitivity.HOME_ONLY)
    check(sensitivity=Sensitivity.TRUSTED_PEERS)
    device = replace(device, hpke_public_key=b"")
    with pytest.raises(RefusedError, match="sealed"):
        check(sensitivity=Sensitivity.TRUSTED_PEERS)


def test_consent_fits_nothing_but_the_call_it_was_given_for() -> None:
    tool = ScriptedTool(tool_spec(effect=EffectClass.SEND))
    identity = throwaway_identity()
    spec = job(tool)
    said = Person(identity, paired_device(identity)).consents(spec).statement
    rules.check_consent(said, spec, tool.spec)
    for other in (
        None,
        replace(said, request_id=new_request_id()),
        replace(said, tool_hash="0" * 64),
        replace(said, argument_hash="0" * 64),
        replace(said, step=0),
    ):
        with pytest.raises(RefusedError):
            rules.check_consent(other, spec, tool.spec)


def test_nobody_but_the_household_goes_before_others() -> None:
    guest = paired_device(throwaway_identity(), DeviceRole.GUEST)
    owner = paired_device(throwaway_identity(), DeviceRole.OWNER)
    lent = replace(owner, introduced_by=HOME.id)
    assert [rules.priority_for(one, 5) for one in (owner, guest, lent)] == [5, 0, 0]
    assert rules.priority_for(owner, 1 << 30) == rules.MOST_PRIORITY
    assert rules.priority_for(guest, -(1 << 30)) == -rules.MOST_PRIORITY


def test_the_next_job_is_the_highest_then_of_whoever_runs_least_then_the_oldest() -> None:
    ann, bob = DeviceId("a" * 64), DeviceId("b" * 64)
    rows = [
        transitions.first(new_job(account, priority=priority))[0]
        for account, priority in ((ann, 0), (ann, 0), (bob, 0), (bob, -1), (ann, 1))
    ]
    assert next_job(rows, []) is rows[4]
    assert next_job(rows[:4], []) is rows[0]
    assert next_job(rows[:4], [ann]) is rows[2]
    assert next_job(rows[:4], [ann, bob]) is rows[0]
    assert next_job(rows[:4], [ann], {rows[2].key}) is rows[0]
    assert next_job(rows, [], {row.key for row in rows}) is None
