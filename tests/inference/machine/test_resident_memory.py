"""How much memory a process takes, with and without the kernel's help."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_inference.machine.resident_memory import give_back_unused, resident_bytes

if TYPE_CHECKING:
    from pathlib import Path

_SANE = range(8 << 20, 1 << 40)


def test_it_is_what_the_kernel_says(tmp_path: Path) -> None:
    assert resident_bytes() in _SANE
    statm = tmp_path / "statm"
    statm.write_text("900 30 5 1 0 7 0\n")
    assert resident_bytes(statm) % 30 == 0


@pytest.mark.parametrize("content", [None, "", "x y", "900"])
def test_without_the_kernel_it_is_the_most_so_far(tmp_path: Path, content: str | None) -> None:
    statm = tmp_path / "statm"
    if content is not None:
        statm.write_text(content)
    assert resident_bytes(statm) in _SANE


def test_memory_that_is_not_used_goes_back_and_what_is_used_stays() -> None:
    kept = [bytes(100) for _ in range(1000)]
    before = resident_bytes()
    give_back_unused()
    assert resident_bytes() <= before + (1 << 20)
    assert kept == [bytes(100)] * 1000
