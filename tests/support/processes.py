"""Other processes, seen from outside."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

from support.node_rig import within


def engines(daemon_pid: int) -> list[int]:
    """Process ids of a daemon's engines."""
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            if (
                parent == daemon_pid
                and b"homing_inference" in stat.with_name("cmdline").read_bytes()
            ):
                found.append(int(stat.parent.name))
    return found


async def gone(pid: int) -> None:
    """Wait until a process that is not our child has ended."""
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid)
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(descriptor, ended.set)
        try:
            await within(ended.wait())
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)
