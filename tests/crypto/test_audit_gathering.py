"""A flood of what a device or a stranger can cause at will writes a bounded number of entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_core.testing import FakeClock
from homing_crypto.audit.chain import Draft
from homing_crypto.audit.gathering import ALONE, ALONE_OF_ONE, DAY_S, GATHERED, Gathering
from homing_crypto.audit.log import MOST_ENTRIES, SqliteAudit
from homing_crypto.audit.records import CONSOLE, NODE, AuditKind
from homing_crypto.audit.verify import Verified
from homing_crypto.testing import throwaway_identity

if TYPE_CHECKING:
    from pathlib import Path

IDENTITY = throwaway_identity()
KEPT_BY_DEFAULT_DAYS = 400
HOURS = 24
FLOOD = 2000


def flood(gathering: Gathering, kind: str, days: int, actors: int = 7) -> list[Draft]:
    """Many an hour, from several actors, for days."""
    told: list[Draft] = []
    step = 120.0
    for n in range(int(days * DAY_S / step)):
        for actor in range(actors):
            draft = Draft.of(n * step, kind, f"d{actor}")
            told += gathering.take(draft, n * step)
    told += gathering.due(0, days * DAY_S, all_of_it=True)
    return told


def counted(told: list[Draft]) -> int:
    return sum(json_more(draft) or 1 for draft in told)


def json_more(draft: Draft) -> int:
    return int(draft.detail.split('"more":')[1].split("}")[0]) if "more" in draft.detail else 0


@pytest.mark.attack
@pytest.mark.parametrize("kind", sorted(GATHERED))
def test_a_flood_of_one_kind_is_bounded_and_none_is_lost(kind: str) -> None:
    days = 3
    told = flood(Gathering(), kind, days)
    assert len(told) <= days * (ALONE + HOURS) + 1
    assert counted(told) == 7 * days * 720


@pytest.mark.attack
def test_everybody_together_cannot_fill_the_log_in_the_days_that_it_keeps() -> None:
    gathering, days = Gathering(), 3
    told = sum(len(flood(gathering, kind, days)) for kind in sorted(GATHERED))
    assert told / days * KEPT_BY_DEFAULT_DAYS < MOST_ENTRIES


def test_one_that_floods_leaves_room_for_another() -> None:
    gathering, kind = Gathering(), AuditKind.WITHDRAWN.value
    told = [one for _ in range(FLOOD) for one in gathering.take(Draft.of(0, kind, "loud"), 0)]
    assert len(told) == ALONE_OF_ONE
    assert len(list(gathering.take(Draft.of(0, kind, "quiet"), 0))) == 1


@pytest.mark.parametrize(
    ("kind", "actor"),
    [
        (AuditKind.GRANTED, "d1"),
        (AuditKind.REVOKED, "d1"),
        (AuditKind.PAIRED, CONSOLE),
        (AuditKind.STARTED, NODE),
        (AuditKind.KEY_ROTATED, NODE),
        (AuditKind.KEY_ROTATED, CONSOLE),
    ],
)
def test_what_people_do_and_what_the_chain_needs_is_never_gathered(
    kind: AuditKind, actor: str
) -> None:
    gathering = Gathering()
    told = [one for _ in range(FLOOD) for one in gathering.take(Draft.of(0, kind.value, actor), 0)]
    assert len(told) == FLOOD


def test_the_count_is_on_disk_after_the_node_has_ended_and_the_chain_holds(tmp_path: Path) -> None:
    audit = SqliteAudit(tmp_path / "audit.db", FakeClock(), lambda: IDENTITY)
    for _ in range(FLOOD):
        audit.record(AuditKind.INTRODUCED, actor="home", device="phone")
    audit.close()
    again = SqliteAudit(tmp_path / "audit.db", FakeClock(), lambda: IDENTITY)
    entries = again.file.entries()
    assert isinstance(again.file.check(), Verified)
    again.close()
    assert len(entries) == ALONE_OF_ONE + 1
    assert entries[-1].facts == {"more": FLOOD - ALONE_OF_ONE, "by": ["home"]}
