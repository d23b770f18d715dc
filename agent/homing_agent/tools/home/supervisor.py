"""The process between a node and a recipe's program: when the node goes, so does the program.

It is started by path, needs nothing but Python itself, and reads one line of JSON from its standard
input: what to run. The input then stays open for as long as the program may run. Once it closes,
because its reader was cancelled or the node was killed, the program and everything that it started
is ended: first asked, then killed. Descendants that left the process group come back to this
process (on Linux) and are killed as well.

The plan may say for how long the node may be silent: then the node sends a byte now and then, and
if none comes for so long, because it is stopped or the machine sleeps, the program is ended as
well. Somebody else may have its work by then.

Its exit status is the program's, 128 and the signal's number if that was killed, 127 if it could
not be started, and 125 if it was ended because the node was silent.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

GRACE_S = 2.0
CANNOT_START = 127
SILENCE = 125
"""Exit status; of programs that say it themselves, the node knows how long it was silent."""
_KILLED = 128
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LINUX = sys.platform == "linux"
_ROUNDS = 100
_ROUND_S = 0.01
_LOOK_S = 1.0
"""So often it is looked at the clock: a wait does not count the time of a suspension."""


def main() -> int:
    """Run what standard input says."""
    plan = json.loads(sys.stdin.buffer.readline())
    heard, silence_s = float(plan["heard"]), float(plan["silence_s"])
    if silence_s and _now() - heard >= silence_s:
        return SILENCE
    if _LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the input says when to end
    reading, writing = os.pipe()
    for end in (reading, writing):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _noticed)
    arguments = [_argument(part, plan["links"]) for part in plan["arguments"]]
    child = os.fork()
    if child == 0:
        _become(plan, arguments)
    status = _wait(child, reading, heard, silence_s)
    _end_all(child)
    return status


def _noticed(_number: int, _frame: FrameType | None) -> None:
    """That a child has ended is read from the wake-up descriptor."""


def _argument(part: str | dict[str, object], links: str) -> str:
    """An argument; a path that is held open gets a name that leads to the open file itself."""
    if isinstance(part, str):
        return part
    os.set_inheritable(int(str(part["descriptor"])), False)  # noqa: FBT003  # the call takes no names
    target = f"/proc/{os.getpid()}/fd/{part['descriptor']}" if _LINUX else str(part["path"])
    name = str(part["name"])
    if not _LINUX:
        return f"{part['before']}{target}"
    if part["new"]:
        return f"{part['before']}{target}/{name}"
    folder = os.path.join(links, str(part["descriptor"]))  # noqa: PTH118  # pathlib is slow to load
    os.mkdir(folder, 0o700)  # noqa: PTH102  # as above
    link = os.path.join(folder, name)  # noqa: PTH118  # as above
    os.symlink(target, link)  # noqa: PTH211  # as above
    return f"{part['before']}{link}"


def _become(plan: dict[str, object], arguments: list[str]) -> None:
    """Turn into the program. Never returns."""
    try:
        os.setsid()
        if _LINUX:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.umask(0o077)
        limits: dict[str, int] = plan["limits"]  # type: ignore[assignment]  # our own JSON
        for name, most in limits.items():
            kind = getattr(resource, name)
            _, hard = resource.getrlimit(kind)
            allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (allowed, allowed))
        os.chdir(str(plan["cwd"]))
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        program = str(plan["program"])
        environment: dict[str, str] = plan["env"]  # type: ignore[assignment]  # our own JSON
        os.execve(program, [program, *arguments], environment)  # noqa: S606  # no shell: that is the point
    except BaseException:  # noqa: BLE001  # whatever it is, this process must not go on as its parent
        os._exit(CANNOT_START)


def _wait(child: int, wakeup: int, heard: float, silence_s: float) -> int:
    """The program's exit status; it is ended once nobody wants it any more."""
    watched = [0, wakeup]
    deadline, silent = None, False
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return SILENCE if silent else code if code >= 0 else _KILLED - code
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if left == 0.0:
            _signal(child, signal.SIGKILL)
            deadline, left = None, None
        elif left is None and silence_s and 0 in watched:
            left = min(_LOOK_S, silence_s)
        ready, _, _ = select.select(watched, [], [], left)
        if wakeup in ready:
            os.read(wakeup, 4096)
        over = False
        if 0 in watched:
            over = silent = bool(silence_s) and _now() - heard >= silence_s
        if 0 in ready:
            over, heard = over or not os.read(0, 4096), _now()
        if over:
            watched = [wakeup]
            deadline = time.monotonic() + GRACE_S
            _signal(child, signal.SIGTERM)


def _now() -> float:
    """As `homing_core.clock.boot_time`, which is not to be had here."""
    return time.clock_gettime(time.CLOCK_BOOTTIME if _LINUX else time.CLOCK_MONOTONIC)


def _signal(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return


def _end_all(child: int) -> None:
    """Kill what is left of the group, and what has come back from other groups."""
    _signal(child, signal.SIGKILL)
    for _ in range(_ROUNDS):
        for one in _children():
            try:
                os.kill(one, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(_ROUND_S)


def _children() -> list[int]:
    if not _LINUX:
        return []
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:  # noqa: PTH123  # pathlib is slow to load
            return [int(number) for number in file.read().split()]
    except (OSError, ValueError):
        return []


if __name__ == "__main__":
    sys.exit(main())
