"""How many threads suit this machine.

ggml's threads work in step, so the slowest one sets the pace. One thread per physical core that
this process may use is best; hyperthreads, a phone's small cores and cores that a container's quota
does not cover make it slower.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Final

_SMALL_CORE: Final = 0.5
"""A core with less than this share of the largest core's capacity is left alone."""


def default_threads(sysfs: Path = Path("/sys"), cpus: frozenset[int] | None = None) -> int:
    """Physical, large cores that this process may use; at least 1.

    Args:
        sysfs: where the kernel describes the machine; what it does not say is not counted against.
        cpus: the logical CPUs to consider; None takes those of this process.
    """
    usable = _allowed_cpus() if cpus is None else cpus
    described = sysfs / "devices/system/cpu"
    capacities = {
        cpu: _number(described / f"cpu{cpu}/cpu_capacity", default=1024) for cpu in usable
    }
    floor = _SMALL_CORE * max(capacities.values(), default=0)
    cores = {
        _text(described / f"cpu{cpu}/topology/thread_siblings_list") or str(cpu)
        for cpu in usable
        if capacities[cpu] >= floor
    }
    quota = _quota(sysfs / "fs/cgroup/cpu.max")
    return max(1, min(len(cores), quota))


def _allowed_cpus() -> frozenset[int]:
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def _quota(path: Path) -> int:
    """Whole cores that the container may use, from cgroup v2's `quota period`."""
    words = _text(path).split()
    try:
        quota, period = (int(word) for word in words)
        return max(1, math.floor(quota / period))
    except (ValueError, ZeroDivisionError):
        return 1 << 16


def _number(path: Path, default: int) -> int:
    try:
        return int(_text(path))
    except ValueError:
        return default


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
