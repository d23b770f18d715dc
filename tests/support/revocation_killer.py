"""Revokes a device again and again, each time killed one line later; see attack 9.

Prints one JSON object: how many runs were killed, how many of these left the device shut out, how
many had said so, and what was wrong, if anything.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from homing_agent.runtime.logs import silence_logging
from homing_core.access import AccessRule, DeviceRole
from homing_core.clock import SystemClock
from homing_core.errors import RefusedError
from homing_crypto import database, truststore
from homing_crypto.audit.records import CONSOLE
from homing_crypto.guard import Guard, ShutOut
from homing_crypto.testing import MemoryAudit, paired_device, throwaway_identity
from homing_crypto.truststore import SqliteTrustStore
from homing_node.devices import desk as desk_module
from homing_node.devices.desk import DeviceDesk

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from homing_core.errors import HomingError
    from homing_core.ids import DeviceId
    from homing_crypto.identity import DeviceIdentity

Trace: TypeAlias = "Callable[[FrameType, str, object], Trace | None]"

WATCHED = {module.__file__ for module in (database, truststore, desk_module)}
DULL = {"_from_row", "_to_row"}
"""Functions that only turn one form of an entry into another."""
METHOD = "/test.Service/Method"

STOLEN, NEXT_KEY, GUEST, HONEST = (throwaway_identity() for _ in range(4))
"""The device, the key that replaced its own, a device it vouches for, and somebody else's."""
GOING = (STOLEN, NEXT_KEY, GUEST)


class NoWork:
    """Nothing is under way."""

    async def end(self, account: DeviceId, error: HomingError | None = None) -> int:
        del account, error
        return 0


def prepare(folder: Path) -> None:
    store = SqliteTrustStore(folder / "trust.db", SystemClock())
    store.add(paired_device(STOLEN))
    store.add(replace(paired_device(NEXT_KEY), account=STOLEN.device_id))
    lease = int(SystemClock().now()) + 3600
    introduced = replace(
        paired_device(GUEST, DeviceRole.GUEST),
        introduced_by=STOLEN.device_id,
        lease_expires_at=lease,
    )
    store.add(introduced)
    store.add(paired_device(HONEST))
    store.close()


def run_killed(folder: Path, after: int) -> bool:
    """Revoke in a child that is killed after so many lines; whether it was."""
    child = os.fork()
    if child == 0:
        lock, seen = threading.Lock(), 0

        def trace(frame: FrameType, event: str, _: object) -> Trace | None:
            nonlocal seen
            code = frame.f_code
            if code.co_filename not in WATCHED or code.co_name in DULL:
                return None
            if event == "line":
                with lock:
                    seen += 1
                    if seen == after:
                        os.kill(os.getpid(), signal.SIGKILL)
            return trace

        store = SqliteTrustStore(folder / "trust.db", SystemClock())
        asyncio.run(revoke(store, folder, trace))
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


async def revoke(store: SqliteTrustStore, folder: Path, trace: Trace) -> None:
    desk = DeviceDesk(store, ShutOut(), NoWork(), MemoryAudit(), SystemClock())
    threading.settrace(trace)
    sys.settrace(trace)
    await desk.revoke(STOLEN.device_id, CONSOLE)
    sys.settrace(None)
    (folder / "said").touch()  # the command answers: shut out


def let_in(store: SqliteTrustStore, identity: DeviceIdentity) -> bool:
    """Whether a node that has just started lets the device in, by both layers."""
    said = {
        "x509_pem_cert": [identity.certificate.pem],
        "ssl_tls_version": [b"TLSv1.3"],
    }
    try:
        Guard({METHOD: AccessRule()}, store, SystemClock()).authorize(METHOD, said)
    except RefusedError:
        called = False
    else:
        called = True
    assert called == (identity.certificate.pem in store.roots_pem())
    return called


def wrong_after(folder: Path) -> tuple[bool, str]:
    """Whether the device is out after a restart, and what is wrong."""
    store = SqliteTrustStore(folder / "trust.db", SystemClock())
    inside = {let_in(store, identity) for identity in GOING}
    out = inside == {False}
    problem = ""
    if len(inside) != 1:
        problem = "some of what hangs on it is in, some is out"
    elif (folder / "said").exists() and not out:
        problem = "it was said to be out, and is in"
    elif not let_in(store, HONEST):
        problem = "somebody else is out"
    desk = DeviceDesk(store, ShutOut(), NoWork(), MemoryAudit(), SystemClock())
    asyncio.run(desk.revoke(STOLEN.device_id, CONSOLE))  # repeating it is harmless
    if any(let_in(store, identity) for identity in GOING):
        problem = "it cannot be shut out any more"
    store.close()
    return out, problem


def main() -> None:
    silence_logging()  # what it prints is read by a program
    root = Path(sys.argv[1])
    template = root / "template"
    template.mkdir(mode=0o700)
    prepare(template)
    killed = stored = said = 0
    problems: list[str] = []
    while True:
        folder = root / str(killed)
        shutil.copytree(template, folder)
        was_killed = run_killed(folder, killed + 1)
        out, problem = wrong_after(folder)
        said += (folder / "said").exists()
        if problem:
            problems.append(f"after line {killed + 1}: {problem}")
        shutil.rmtree(folder)
        if not was_killed:
            break
        killed += 1
        stored += out
    result = {"killed": killed, "stored": stored, "said": said, "problems": problems}
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    main()
