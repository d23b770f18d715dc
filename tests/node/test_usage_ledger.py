"""The ledger: what survives what, and what a clock that is set does to it (nothing)."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import IntegrityError, UnavailableError
from homing_core.ids import DeviceId
from homing_core.testing import FakeClock
from homing_node.devices.ledger import UsageLedger
from homing_node.devices.ledger_rows import LOST, RUNNING, Use
from homing_node.devices.ledger_time import LedgerTime, Reading, elapsed
from homing_node.devices.window import DAY_S, UsageWindow
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

PHONE = DeviceId("a" * 64)
YEAR_S = 365.25 * DAY_S
BOOT = "f1c1"


def use(clock: FakeClock, prompt: int = 100, id: str = "gen-1", account: DeviceId = PHONE) -> Use:  # noqa: A002
    return Use(id, account, "", "", clock.now(), prompt)


async def opened(path: Path, clock: FakeClock, boot: str = BOOT) -> UsageLedger:
    ledger = UsageLedger(path / "usage.db", clock, boot=boot)
    await ledger.open()
    return ledger


def rows(path: Path) -> list[tuple[str, int, int, str]]:
    """What another program reads while the ledger is open."""
    with sqlite3.connect(path / "usage.db") as other:
        found = other.execute("SELECT id, prompt, completion, outcome FROM generations").fetchall()
    other.close()
    return found


async def test_a_generation_is_on_disk_before_it_begins_and_others_may_read(tmp_path: Path) -> None:
    clock = FakeClock()
    ledger = await opened(tmp_path, clock)
    await ledger.begin(use(clock))
    assert rows(tmp_path) == [("gen-1", 100, 0, RUNNING)]
    await ledger.close()


async def test_what_was_counted_outlives_a_daemon_that_was_killed(tmp_path: Path) -> None:
    clock = FakeClock()
    killed = await opened(tmp_path, clock)
    one = use(clock)
    await killed.begin(one)
    one.completion = 40
    await killed.update([one], {(PHONE, ""): 2})
    one.completion = 60  # written to no disk: that much is forgotten
    again = await opened(tmp_path, clock)
    assert rows(tmp_path) == [("gen-1", 100, 40, LOST)]
    (counted,) = again.recent
    assert (counted.account, counted.tokens) == (PHONE, 140)
    (day,) = await again.days(1)
    assert (day.generations, day.prompt, day.completion, day.refusals) == (1, 100, 40, 2)
    await again.close()
    await killed.close()


@pytest.mark.parametrize(
    "change_s", [-57 * YEAR_S, -3600, 20 * YEAR_S], ids=["1970", "back", "+20y"]
)
@pytest.mark.parametrize("boot", [BOOT, "another"], ids=["daemon", "machine"])
async def test_a_clock_that_is_set_between_two_runs_brings_nothing(
    tmp_path: Path, change_s: float, boot: str
) -> None:
    clock = FakeClock()
    ledger = await opened(tmp_path, clock)
    one = use(clock)
    await ledger.begin(one)
    await ledger.update([one], {})
    await ledger.close()
    moved = FakeClock(clock.now() + change_s)
    again = await opened(tmp_path, moved, boot)
    assert [counted.tokens for counted in again.recent] == [100]
    moved.advance(DAY_S + 120)
    assert again.time.now() >= again.recent[0].at + DAY_S
    await again.close()


async def test_a_node_that_was_off_for_a_day_has_an_empty_window(tmp_path: Path) -> None:
    clock = FakeClock()
    ledger = await opened(tmp_path, clock)
    one = use(clock)
    await ledger.begin(one)
    await ledger.update([one], {})
    await ledger.close()
    clock.advance(2 * DAY_S)
    again = await opened(tmp_path, clock, "another")
    assert again.recent == ()
    await again.close()


async def test_old_rows_become_sums_and_nothing_is_lost_or_counted_twice(tmp_path: Path) -> None:
    clock = FakeClock()
    ledger = await opened(tmp_path, clock)
    for number in range(3):
        await ledger.begin(use(clock, 10, f"gen-{number}"))
    await ledger.update([], {(PHONE, ""): 1})
    clock.advance(91 * DAY_S)
    await ledger.begin(use(clock, 7, "gen-new"))
    before = await ledger.days(400)
    await ledger.prune()
    await ledger.prune()
    assert await ledger.days(400) == before
    assert [row[0] for row in rows(tmp_path)] == ["gen-new"]
    assert [(day.generations, day.prompt, day.refusals) for day in before] == [
        (1, 7, 0),
        (3, 30, 1),
    ]
    await ledger.close()


async def test_a_damaged_ledger_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "usage.db").write_bytes(b"not a database, and long enough to be looked at")
    with pytest.raises(IntegrityError, match="damaged"):
        await opened(tmp_path, FakeClock())


async def test_a_closed_ledger_takes_nothing(tmp_path: Path) -> None:
    clock = FakeClock()
    ledger = await opened(tmp_path, clock)
    await ledger.close()
    with pytest.raises(UnavailableError):
        await ledger.begin(use(clock))


def test_time_within_one_start_of_the_machine_goes_by_its_own_clock() -> None:
    before = Reading(ledger=50, wall=1000, monotonic=10, boot=BOOT)
    assert elapsed(before, wall=9e9, monotonic=25, boot=BOOT) == 15
    assert elapsed(before, wall=0, monotonic=25, boot=BOOT) == 15
    assert elapsed(before, wall=1015, monotonic=3, boot="") == 15


def test_time_never_goes_back() -> None:
    clock = FakeClock()
    time = LedgerTime(clock, Reading(ledger=500, wall=clock.now() + 1e6), "")
    assert time.now() == 500
    clock.advance(1)
    assert time.now() == 501


@given(
    st.lists(st.tuples(st.floats(0, 40_000), st.integers(0, 1000)), max_size=30), st.floats(0, 1e5)
)
def test_a_window_counts_at_least_what_was_used_in_24_hours(
    uses: list[tuple[float, int]], later: float
) -> None:
    window, at = UsageWindow(), 0.0
    counted: list[tuple[float, int]] = []
    for gap, tokens in uses:
        at += gap
        window.add(at, tokens)
        counted.append((at, tokens))
    now = at + later
    exact = sum(tokens for when, tokens in counted if when > now - DAY_S)
    slack = sum(tokens for when, tokens in counted if when > now - DAY_S - 60)
    assert exact <= window.total(now) <= slack


def test_a_window_says_when_there_is_room_again() -> None:
    window = UsageWindow()
    window.add(30, 50)
    window.add(3630, 50)
    wait = window.below_in(4000, 100)
    assert wait == 60 + DAY_S - 4000
    assert window.total(4000 + wait) == 50
    assert window.below_in(4000, 101) == 0
