"""How much main memory this process may use."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

_SHARE = 0.75
"""Of the machine's memory; the rest is the system's, and everybody else's."""


def memory_budget(memory_mib: int, root: Path = Path("/")) -> int:
    """Bytes that all loaded models may take together.

    Args:
        memory_mib: as configured; 0 takes three quarters of what this process may use.
        root: where the kernel describes the machine.
    """
    return memory_mib << 20 if memory_mib else int(_SHARE * machine_memory(root))


def machine_memory(root: Path = Path("/")) -> int:
    """Bytes of main memory that this process may use: the machine's, or a container's if less.

    Args:
        root: where the kernel describes the machine.
    """
    limits = [_installed(root)]
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not controllers:  # version 2: one tree for everything
            limits += _along(root / "sys/fs/cgroup", path, "memory.max")
        elif "memory" in controllers.split(","):
            limits += _along(root / "sys/fs/cgroup/memory", path, "memory.limit_in_bytes")
    return min(limits)


def _installed(root: Path) -> int:
    for line in _text(root / "proc/meminfo").splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if name == "MemTotal" and words and words[0].isdecimal():
            return int(words[0]) << 10
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _along(tree: Path, path: str, name: str) -> list[int]:
    """Limits from a group up to the tree's root; a group that is not visible here says nothing."""
    groups = [PurePosixPath(path.lstrip("/")), *PurePosixPath(path.lstrip("/")).parents]
    texts = [_text(tree / group / name) for group in groups if ".." not in group.parts]
    return [int(text) for text in texts if text.isdecimal() and int(text) > 0]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
