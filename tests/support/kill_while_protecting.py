"""Protects an identity in another way again and again, each time killed one line later.

Prints one JSON object: how many runs were killed, how many of these left each protection, and what
was wrong, if anything.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from homing_core.clock import SystemClock
from homing_core.errors import HomingError
from homing_crypto import private_files
from homing_crypto.identity import IDENTITY_FILE, DeviceIdentity
from homing_crypto.vault import FileMode, envelope, files
from homing_crypto.vault.directory import DirectoryVault
from homing_crypto.vault.files import protect_all
from homing_crypto.vault.passphrase import Cost, PassphraseVault

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

Trace: TypeAlias = "Callable[[FrameType, str, object], Trace | None]"

WATCHED = {private_files.__file__, envelope.__file__, files.__file__}
WORDS = "correct horse battery staple"
CHEAP = Cost(memory_kib=1024, passes=1, lanes=1)


def protect_killed(folder: Path, after: int, *, closing: bool) -> bool:
    """Change the protection in a child that is killed after so many lines; whether it was."""
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
        target = PassphraseVault(WORDS, CHEAP) if closing else FileMode()
        protect_all([folder / IDENTITY_FILE], DirectoryVault(WORDS), lambda: target)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def main() -> None:
    root = Path(sys.argv[1])
    killed = 0
    problems: list[str] = []
    left: Counter[str] = Counter()
    for closing in (True, False):
        after = 0
        while True:
            after += 1
            folder = root / f"{closing}-{after}"
            before = FileMode() if closing else PassphraseVault(WORDS, CHEAP)
            first = DeviceIdentity.load_or_create(folder, SystemClock(), before)
            if not protect_killed(folder, after, closing=closing):
                break
            killed += 1
            vault = DirectoryVault(WORDS)
            try:
                again = DeviceIdentity.load_or_create(folder, SystemClock(), vault)
                left[vault.protection.value] += 1
                if again.device_id != first.device_id:
                    problems.append(f"another device after line {after}")
                protect_all([folder / IDENTITY_FILE], vault, lambda: PassphraseVault(WORDS, CHEAP))
                found = {path.name: path.read_bytes() for path in folder.iterdir()}
                if set(found) != {IDENTITY_FILE} or b"PRIVATE" in found[IDENTITY_FILE]:
                    problems.append(f"after line {after}: {sorted(found)}")
            except HomingError as error:
                problems.append(f"after line {after}: {error}")
    sys.stdout.write(json.dumps({"killed": killed, "left": left, "problems": problems}))


if __name__ == "__main__":
    main()
