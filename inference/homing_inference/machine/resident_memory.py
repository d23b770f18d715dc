"""How much main memory this process takes."""

from __future__ import annotations

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
