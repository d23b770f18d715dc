"""Changes a key file again and again, each time killed one line later.

Modes: `upgrade` reads a file of version 1, `rotate` makes a new key, `retire` destroys the old one.
Prints one JSON object: how many runs were killed, how many of these had changed the file, and what
was wrong, if anything.
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
from homing_crypto import identity, identity_file, keyring_file, private_files
from homing_crypto.identity import IDENTITY_FILE
from homing_crypto.keyring_file import KeyRing

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

Trace: TypeAlias = "Callable[[FrameType, str, object], Trace | None]"

WATCHED = {module.__file__ for module in (identity, identity_file, keyring_file, private_files)}

DULL = {"_from_fields", "_to_fields", "_encode", "_decode", "_keys_from"}
"""Functions that only turn one form of a key into another."""


def prepare(folder: Path, mode: str) -> KeyRing:
    ring = KeyRing(folder, SystemClock())
    if mode == "retire":
        ring.begin_rotation()
    if mode == "upgrade":
        path = folder / IDENTITY_FILE
        fields = json.loads(path.read_text())
        del fields["previous"]
        path.write_text(json.dumps(fields | {"version": 1}))
    return ring


def ids(ring: KeyRing) -> list[str]:
    return [one.device_id for one in ring.identities]


def act(folder: Path, mode: str) -> None:
    ring = KeyRing(folder, SystemClock())
    if mode == "rotate":
        ring.begin_rotation()
    if mode == "retire":
        ring.retire(ring.earlier[0].identity.device_id)


def run_killed(folder: Path, mode: str, after: int) -> bool:
    """Act in a child that is killed after so many lines; whether it was."""
    child = os.fork()
    if child == 0:
        seen = 0

        def trace(frame: FrameType, event: str, _: object) -> Trace | None:
            nonlocal seen
            if frame.f_code.co_filename not in WATCHED or frame.f_code.co_name in DULL:
                return None
            if event == "line":
                seen += 1
                if seen == after:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)
        act(folder, mode)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def wrong(before: list[str], after: list[str], mode: str) -> str:
    """What is wrong with the keys that a kill left; empty if nothing is."""
    if mode == "rotate":
        fine = after[-1:] == before and len(after) <= 2  # old and new
    else:
        fine = after == before or (mode == "retire" and after == before[:1])
    return "" if fine else f"{mode}: {after}"


def main() -> None:
    root, mode = Path(sys.argv[1]), sys.argv[2]
    killed = changed = 0
    problems: list[str] = []
    while True:
        folder = root / str(killed)
        before = ids(prepare(folder, mode))
        content = (folder / IDENTITY_FILE).read_bytes()
        if not run_killed(folder, mode, killed + 1):
            break
        changed += (folder / IDENTITY_FILE).read_bytes() != content
        try:
            ring = KeyRing(folder, SystemClock())
            problem = wrong(before, ids(ring), mode)
            ring.begin_rotation()  # goes on as if nothing had happened
            left = sorted(path.name for path in folder.iterdir())
            problem = problem or ("" if left == [IDENTITY_FILE] else f"left: {left}")
        except HomingError as error:
            problem = str(error)
        if problem:
            problems.append(f"after line {killed + 1}: {problem}")
        killed += 1
    sys.stdout.write(json.dumps({"killed": killed, "changed": changed, "problems": problems}))


if __name__ == "__main__":
    main()
