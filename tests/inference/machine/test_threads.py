"""How many threads are used, from what the kernel says of the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_inference.machine.threads import default_threads

if TYPE_CHECKING:
    from pathlib import Path

CPUS = frozenset(range(8))


def _describe(root: Path, cpu: int, siblings: str = "", capacity: str = "") -> None:
    folder = root / f"devices/system/cpu/cpu{cpu}"
    (folder / "topology").mkdir(parents=True)
    if siblings:
        (folder / "topology/thread_siblings_list").write_text(f"{siblings}\n")
    if capacity:
        (folder / "cpu_capacity").write_text(f"{capacity}\n")


def _quota(root: Path, text: str) -> None:
    (root / "fs/cgroup").mkdir(parents=True)
    (root / "fs/cgroup/cpu.max").write_text(text)


def test_a_machine_that_says_nothing_gets_a_thread_for_each_cpu(tmp_path: Path) -> None:
    assert default_threads(tmp_path, CPUS) == 8


def test_hyperthreads_of_one_core_count_once(tmp_path: Path) -> None:
    for cpu in range(8):
        _describe(tmp_path, cpu, siblings=f"{cpu % 4},{cpu % 4 + 4}")
    assert default_threads(tmp_path, CPUS) == 4
    assert default_threads(tmp_path, frozenset({0, 4})) == 1


def test_a_phones_small_cores_are_left_alone(tmp_path: Path) -> None:
    for cpu in range(8):
        _describe(tmp_path, cpu, siblings=str(cpu), capacity="1024" if cpu >= 4 else "400")
    assert default_threads(tmp_path, CPUS) == 4
    assert default_threads(tmp_path, frozenset({0, 1})) == 2


def test_a_containers_quota_is_kept(tmp_path: Path) -> None:
    _quota(tmp_path, "250000 100000\n")
    assert default_threads(tmp_path, CPUS) == 2


def test_less_than_a_core_is_still_a_thread(tmp_path: Path) -> None:
    _quota(tmp_path, "50000 100000\n")
    assert default_threads(tmp_path, CPUS) == 1
    assert default_threads(tmp_path, frozenset()) == 1


def test_no_quota_and_nonsense_are_no_limit(tmp_path: Path) -> None:
    _quota(tmp_path, "max 100000\n")
    assert default_threads(tmp_path, CPUS) == 8
    _describe(tmp_path, 0, capacity="soon")
    assert default_threads(tmp_path, CPUS) == 8


def test_this_machine_gets_at_least_one() -> None:
    assert default_threads() >= 1
