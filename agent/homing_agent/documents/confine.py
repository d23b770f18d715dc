"""What the reader of documents takes from itself before it sees a file.

Each measure is taken where the system has it: limits of memory, computing and file sizes; no
network (an empty network namespace on Linux); and a hook in the interpreter that refuses programs,
sockets and writing, whatever library asks for it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from homing_agent.documents.limits import ReadLimits

_PR_SET_PDEATHSIG: Final = 1
_CLONE_NEWUSER: Final = 0x10000000
_CLONE_NEWNET: Final = 0x40000000
_MOST_OPEN: Final = 64
_REFUSED: Final = (
    "subprocess.",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.system",
    "os.spawn",
    "os.remove",
    "os.rename",
    "socket.__new__",
    "socket.connect",
    "socket.bind",
    "socket.getaddrinfo",
    "ctypes.dlopen",
)
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def die_with_parent() -> None:
    """Ask Linux to end this process when the daemon's does, even in the middle of a file."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def confine(limits: ReadLimits) -> None:
    """Give up what reading documents does not need. Call it once, with a single thread."""
    _limit(resource.RLIMIT_AS, limits.memory_bytes)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_CORE, 0)  # a core file would hold the document
    _limit(resource.RLIMIT_NOFILE, _MOST_OPEN)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        # Without the right to make namespaces, the hook below is what there is.
        if libc.unshare(_CLONE_NEWNET) != 0:
            libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    sys.addaudithook(_refuse)


def allow_computing(seconds: int) -> None:
    """Let this process compute for so long from now on; the kernel ends it after that."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime) + seconds + 1
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))


def resident_bytes() -> int:
    """Memory that this process holds; where the system does not say, the most that it has held."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    # Not `ru_maxrss`: on Linux that begins with what the daemon held when it started this process.
    return pages * resource.getpagesize()


def _limit(kind: int, most: int) -> None:
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(kind)
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (allowed, allowed))


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open":
        flags = arguments[2]
        if isinstance(flags, int) and flags & _WRITING:
            msg = "the reader of documents writes nothing"
            raise PermissionError(msg)
    elif event.startswith(_REFUSED):
        msg = "the reader of documents does nothing but read"
        raise PermissionError(msg)
