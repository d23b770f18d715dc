"""How much memory there is, and how much a context takes, by arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_core.errors import OverloadedError
from homing_inference.machine.memory_room import available_memory, check_room, context_bytes

if TYPE_CHECKING:
    from pathlib import Path

_MIB = 1 << 20


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _machine(root: Path, kib: int) -> None:
    _write(root / "proc/meminfo", f"MemTotal: 99999999 kB\nMemAvailable:   {kib} kB\n")


def test_what_linux_calls_available(tmp_path: Path) -> None:
    _machine(tmp_path, 5 * 1024)
    assert available_memory(tmp_path) == 5 * _MIB


def test_what_is_left_in_the_tightest_container(tmp_path: Path) -> None:
    _machine(tmp_path, 500 * 1024)
    _write(tmp_path / "proc/self/cgroup", "0::/outer/inner\n")
    groups = tmp_path / "sys/fs/cgroup"
    _write(groups / "outer/memory.max", f"{100 * _MIB}\n")
    _write(groups / "outer/memory.current", f"{70 * _MIB}\n")
    _write(groups / "outer/memory.stat", f"anon 5\ninactive_file {10 * _MIB}\nactive_file 0\n")
    _write(groups / "outer/inner/memory.max", "max\n")
    assert available_memory(tmp_path) == 40 * _MIB


@pytest.mark.parametrize("meminfo", ["", "MemAvailable: lots kB\n", "MemAvailable:\n", "\0"])
def test_a_system_that_does_not_say(tmp_path: Path, meminfo: str) -> None:
    assert available_memory(tmp_path) is None
    _write(tmp_path / "proc/meminfo", meminfo)
    _write(tmp_path / "proc/self/cgroup", "0::/../..\nnonsense\n")
    assert available_memory(tmp_path) is None


def test_a_container_that_is_over_its_limit_has_nothing_left(tmp_path: Path) -> None:
    _write(tmp_path / "proc/self/cgroup", "0::/\n")
    _write(tmp_path / "sys/fs/cgroup/memory.max", "1000")
    _write(tmp_path / "sys/fs/cgroup/memory.current", "2000")
    assert available_memory(tmp_path) == 0


def test_the_refusal_names_both_numbers() -> None:
    check_room("m.gguf", 10, 10)
    check_room("m.gguf", 10, None)
    with pytest.raises(OverloadedError, match=r"m.gguf needs 2,001 MiB .* 1,999 MiB are available"):
        check_room("m.gguf", 2000 * _MIB + 1, 2000 * _MIB - 1)


def test_the_cache_of_an_attention_model() -> None:
    numbers = {
        "block_count": 24,
        "embedding_length": 896,
        "attention.head_count": 14,
        "attention.head_count_kv": 2,
    }
    # llama.cpp reports 24.00 MiB for the 0.5B stand-in with 2,048 cells.
    assert context_bytes(lambda name: numbers.get(name, 0), 2048, 6) == 24 * _MIB


def test_the_cache_and_states_of_a_hybrid_model() -> None:
    numbers = {
        "block_count": 24,
        "full_attention_interval": 4,
        "attention.head_count": 8,
        "attention.head_count_kv": 2,
        "attention.key_length": 256,
        "attention.value_length": 256,
        "ssm.inner_size": 2048,
        "ssm.state_size": 128,
        "ssm.group_count": 16,
        "ssm.conv_kernel": 4,
    }
    one = context_bytes(lambda name: numbers.get(name, 0), 0, 1)
    assert round(one / _MIB, 1) == 19.3
    assert context_bytes(lambda name: numbers.get(name, 0), 1000, 1) - one == 1000 * 12_288


def test_a_model_that_says_nothing_needs_nothing() -> None:
    assert context_bytes(lambda _: 0, 4096, 8) == 0
