"""Refusals are told once at once, then counted; strangers fill no log."""

from __future__ import annotations

from collections import Counter

from homing_core.errors import RefusedError
from homing_core.testing import FakeClock
from homing_crypto.audit.records import NODE, AuditKind
from homing_crypto.guard import Refusal
from homing_crypto.testing import MemoryAudit
from homing_node.devices.refusals import (
    AUDIT_KINDS,
    AUDIT_S,
    LOG_KINDS,
    LOG_S,
    Refusals,
    Window,
)
from homing_node.door.floor import Reason
from hypothesis import given
from hypothesis import strategies as st
from support.told import told

METHOD = "/homing.Some/Method"


def refused(device: str = "d1", method: str = METHOD) -> Refusal:
    return Refusal(method, device, "10.0.0.7", RefusedError("it may not", "Ask."))


async def test_the_first_is_told_at_once_and_the_others_when_the_time_is_over() -> None:
    clock, audit = FakeClock(), MemoryAudit()
    refusals = Refusals(audit, clock)
    with told() as log:
        for _ in range(100):
            refusals.call(refused())
        (first,) = log.of("call.refused")
        assert first["count"] == 1
        assert (first["device"], first["method"], first["address"]) == ("d1", METHOD, "10.0.0.7")
        assert first["reason"] == "it may not"
        clock.advance(LOG_S)
        refusals.tell_due()
        refusals.tell_due()
        assert [entry["count"] for entry in log.of("call.refused")] == [1, 99]


async def test_a_refused_call_is_noted_with_its_device() -> None:
    clock, audit = FakeClock(), MemoryAudit()
    refusals = Refusals(audit, clock)
    with told():
        refusals.call(refused())
        refusals.call(refused())
        clock.advance(AUDIT_S)
        refusals.tell_due()
    detail = {"what": "it may not", "count": 1, "method": METHOD}
    assert audit.entries == [(AuditKind.REFUSED, "d1", "d1", detail)] * 2


async def test_strangers_are_told_by_address_and_noted_by_reason_alone() -> None:
    clock, audit = FakeClock(), MemoryAudit()
    refusals = Refusals(audit, clock)
    with told() as log:
        for number in range(5000):
            refusals.connection(f"10.0.{number // 250}.{number % 250}", Reason.OLD_TLS, 2)
        assert len(log.of("door.refused")) == LOG_KINDS + 1
        assert len(audit.entries) == 1
        clock.advance(AUDIT_S)
        refusals.tell_due()
        lines = log.of("door.refused")
        assert sum(entry["count"] for entry in lines) == 10_000
    assert audit.entries == [
        (AuditKind.REFUSED, NODE, "", {"what": Reason.OLD_TLS.value, "count": count})
        for count in (2, 9_998)
    ]


async def test_what_happens_in_peace_is_not_noted() -> None:
    audit = MemoryAudit()
    with told() as log:
        Refusals(audit, FakeClock()).connection("10.0.0.1", Reason.LEFT, 1)
        assert log.of("door.refused")
    assert audit.entries == []


async def test_many_kinds_of_calls_are_bounded_too() -> None:
    audit = MemoryAudit()
    refusals = Refusals(audit, FakeClock())
    with told() as log:
        for number in range(1000):
            refusals.call(refused(f"d{number}", f"/x/{number}"))
        assert len(log.entries) == LOG_KINDS + 1
    assert len(audit.entries) == AUDIT_KINDS + 1


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5), st.floats(0, 40)), max_size=60))
def test_nothing_is_lost_and_nothing_told_twice(steps: list[tuple[int, int, float]]) -> None:
    window: Window[int] = Window(30, 4)
    now, told_counts, counted = 0.0, Counter[int](), 0
    for kind, count, wait in steps:
        now += wait
        counted += count
        for told_kind, many in window.add(kind, -1, count, now):
            told_counts[told_kind] += many
    for told_kind, many in window.due(now + 100):
        told_counts[told_kind] += many
    assert told_counts.total() == counted


async def test_what_phones_cause_in_peace_is_a_warning_only_where_it_is_much() -> None:
    refusals = Refusals(MemoryAudit(), FakeClock())
    with told() as log:
        refusals.connection("10.0.0.7", Reason.LEFT, 2)
        refusals.connection("10.0.0.8", Reason.NO_PROOF, 50)
        refusals.connection("10.0.0.9", Reason.OLD_TLS, 1)
    levels = [entry["log_level"] for entry in log.of("door.refused")]
    assert levels == ["info", "warning", "warning"]
