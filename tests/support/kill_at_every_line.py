"""Runs `DeviceIdentity.load_or_create` again and again, each time killed one line later.

Prints one JSON object: how many runs were killed, how many of these left an identity, and what was
wrong, if anything.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from homing_core.clock import SystemClock
from homing_core.errors import HomingError
from homing_crypto import identity, identity_file, private_files
from homing_crypto.identity import IDENTITY_FILE, DeviceIdentity

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

Trace: TypeAlias = "Callable[[FrameType, str, object], Trace | None]"

WATCHED = {identity.__file__, identity_file.__file__, private_files.__file__}


def run_killed(folder: Path, after: int) -> bool:
    """Create an identity in a child that is killed after so many lines; whether it was."""
    child = os.fork()
    if child == 0:
        seen = 0

        def trace(frame: FrameType, event: str, _: object) -> Trace | None:
            nonlocal seen
            if frame.f_code.co_filename not in WATCHED:
                return None
            if event == "line":
                seen += 1
                if seen == after:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)
        DeviceIdentity.load_or_create(folder, SystemClock())
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def main() -> None:
    root = Path(sys.argv[1])
    killed = 0
    whole = 0
    problems: list[str] = []
    while True:
        folder = root / str(killed)
        if not run_killed(folder, killed + 1):
            break
        there = (folder / IDENTITY_FILE).exists()
        try:
            first = DeviceIdentity.load_or_create(folder, SystemClock())
            again = DeviceIdentity.load_or_create(folder, SystemClock())
            left = sorted(path.name for path in folder.iterdir())
            if first.device_id != again.device_id or (not there and left != [IDENTITY_FILE]):
                problems.append(f"after line {killed + 1}: {left}")
        except HomingError as error:
            problems.append(f"after line {killed + 1}: {error}")
        killed += 1
        whole += there
    sys.stdout.write(json.dumps({"killed": killed, "whole": whole, "problems": problems}))


if __name__ == "__main__":
    main()
