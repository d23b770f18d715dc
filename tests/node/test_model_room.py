"""What is unloaded so that another model fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_core.errors import ConfigError
from homing_node.models.memory import machine_memory, memory_budget
from homing_node.models.room import Held, NoRoomError, make_room
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

GIB = 1 << 30
MIB = 1 << 20

helds = st.lists(
    st.builds(
        Held,
        name=st.uuids().map(str),
        bytes=st.integers(0, 8),
        in_use=st.booleans(),
        used_at=st.integers(0, 5).map(float),
    ),
    max_size=6,
    unique_by=lambda one: one.name,
)


def held(name: str, mib: int, used_at: float, *, in_use: bool = False) -> Held:
    return Held(name, mib * MIB, in_use, used_at)


def test_what_fits_unloads_nothing() -> None:
    assert make_room("c", 10, 20, [Held("a", 10, in_use=True, used_at=0.0)]) == ()


def test_the_least_recently_used_goes_first() -> None:
    loaded = [held("new", 100, 9.0), held("old", 100, 1.0), held("middle", 100, 5.0)]
    assert make_room("x", 100 * MIB, 300 * MIB, loaded) == ("old",)
    assert make_room("x", 200 * MIB, 300 * MIB, loaded) == ("old", "middle")
    assert set(make_room("x", 300 * MIB, 300 * MIB, loaded)) == {"old", "middle", "new"}


def test_no_more_goes_than_has_to() -> None:
    loaded = [held("small", 10, 1.0), held("large", 200, 2.0)]
    assert make_room("x", 150 * MIB, 300 * MIB, loaded) == ("large",)


def test_a_model_in_use_stays_and_both_numbers_are_told() -> None:
    loaded = [held("busy", 200, 1.0, in_use=True), held("idle", 50, 2.0)]
    with pytest.raises(NoRoomError) as caught:
        make_room("x", 150 * MIB, 300 * MIB, loaded)
    assert "150 MiB" in caught.value.what
    assert "300 MiB" in caught.value.what
    assert caught.value.retryable
    assert caught.value.retry_after_ms > 0


def test_a_model_that_never_fits_is_a_matter_of_configuration() -> None:
    with pytest.raises(ConfigError, match="2,000 MiB") as caught:
        make_room("x", 2000 * MIB, 1000 * MIB, [])
    assert "memory_mib" in caught.value.hint
    assert not caught.value.retryable


@given(need=st.integers(0, 12), budget=st.integers(0, 12), loaded=helds)
def test_room_is_made_exactly_where_it_can_be(need: int, budget: int, loaded: list[Held]) -> None:
    taken = sum(one.bytes for one in loaded if one.in_use)
    possible = need + taken <= budget
    try:
        gone = make_room("x", need, budget, loaded)
    except (ConfigError, NoRoomError):
        assert not possible
        return
    assert possible
    by_name = {one.name: one for one in loaded}
    assert not any(by_name[name].in_use for name in gone)
    left = sum(one.bytes for one in loaded if one.name not in gone)
    assert need + left <= budget
    for name in gone:  # none of them for nothing
        assert need + left + by_name[name].bytes > budget


def describe(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_a_machine_without_a_container(tmp_path: Path) -> None:
    describe(tmp_path, "proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n")
    assert machine_memory(tmp_path) == 16 * GIB
    assert memory_budget(0, tmp_path) == 12 * GIB
    assert memory_budget(300, tmp_path) == 300 * MIB


def test_a_containers_limit_counts_wherever_it_is_set(tmp_path: Path) -> None:
    describe(tmp_path, "proc/meminfo", "MemTotal: 16777216 kB\n")
    describe(tmp_path, "proc/self/cgroup", "0::/system.slice/homing.service\n")
    describe(tmp_path, "sys/fs/cgroup/system.slice/homing.service/memory.max", "max\n")
    assert machine_memory(tmp_path) == 16 * GIB
    describe(tmp_path, "sys/fs/cgroup/system.slice/memory.max", f"{4 * GIB}\n")
    assert machine_memory(tmp_path) == 4 * GIB
    describe(tmp_path, "sys/fs/cgroup/memory.max", f"{2 * GIB}\n")
    assert machine_memory(tmp_path) == 2 * GIB


def test_the_older_kind_of_container(tmp_path: Path) -> None:
    describe(tmp_path, "proc/meminfo", "MemTotal: 16777216 kB\n")
    describe(tmp_path, "proc/self/cgroup", "4:cpu,memory:/docker/abc\n1:name=systemd:/x\n0::/\n")
    group = "sys/fs/cgroup/memory/memory.limit_in_bytes"
    describe(tmp_path, group, "9223372036854771712\n")
    assert machine_memory(tmp_path) == 16 * GIB
    describe(tmp_path, group, f"{GIB}\n")
    assert machine_memory(tmp_path) == GIB


@pytest.mark.parametrize("groups", ["", "nonsense", ":::\n0::/../../etc\n", "0::"])
def test_a_kernel_that_says_nothing_useful(tmp_path: Path, groups: str) -> None:
    describe(tmp_path, "proc/self/cgroup", groups)
    assert machine_memory(tmp_path) > 0
    describe(tmp_path, "proc/meminfo", "MemTotal: many\n")
    assert machine_memory(tmp_path) > 0
