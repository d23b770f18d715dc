"""How much main memory this process takes, and giving back what it does not use."""

from __future__ import annotations

import contextlib
import ctypes
import resource
import sys
from pathlib import Path


def resident_bytes(statm: Path = Path("/proc/self/statm")) -> int:
    """Main memory that this process takes now; where the system does not say, its most so far.

    Args:
        statm: the kernel's figures in pages, of which the second is the resident set.
    """
    try:
        return int(statm.read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024  # there in bytes, else in KiB


def give_back_unused() -> None:
    """Hand memory that was freed back to the system, where the C library keeps it otherwise.

    Worth while after work that needs much memory for a moment; takes some milliseconds.
    """
    with contextlib.suppress(OSError, AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)
