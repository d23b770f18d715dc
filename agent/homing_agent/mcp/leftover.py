"""Ends the servers of a daemon that was killed.

A server that reads its input notices that its daemon is gone. One that does not would stay for
ever, and so would what it started: a launcher such as `npx` passes on neither signals nor the
kernel's word that a parent has died. So a shell, the smallest program there is, waits beside the
daemon for the end of a pipe that only the daemon holds, and then ends the process groups that it
was told of.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from typing import Final

from homing_agent.runtime.logs import get_logger

_SCRIPT: Final = """
trap '' INT HUP
groups=
while read -r what group; do
  case $what in
    +) groups="$groups $group" ;;
    -) kept=
       for one in $groups; do [ "$one" = "$group" ] || kept="$kept $one"; done
       groups=$kept ;;
  esac
done
[ -n "$groups" ] || exit 0
for one in $groups; do kill -s TERM -- "-$one" 2>/dev/null; done
sleep 2
for one in $groups; do kill -s KILL -- "-$one" 2>/dev/null; done
exit 0
"""
_LEAVE_SECONDS: Final = 5.0
_log = get_logger(__name__)


class Leftovers:
    """The process groups that must not outlive this process."""

    def __init__(self) -> None:
        """Nothing is watched, and nothing started, before the first group."""
        self._watcher: subprocess.Popen[bytes] | None = None
        self._groups: set[int] = set()

    def add(self, group: int) -> None:
        """End this group if this process dies."""
        self._groups.add(group)
        if self._watcher is None or not self._tell(f"+ {group}\n"):
            self._start()

    def remove(self, group: int) -> None:
        """The group has ended; its number may come to mean another."""
        self._groups.discard(group)
        if self._watcher is not None and not self._tell(f"- {group}\n"):
            self._start()

    def close(self) -> None:
        """End what is left and stop watching. Blocks for a moment."""
        watcher, self._watcher = self._watcher, None
        if watcher is None:
            return
        with contextlib.suppress(OSError):
            if watcher.stdin is not None:
                watcher.stdin.close()
        try:
            watcher.wait(_LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            watcher.kill()
            watcher.wait()

    def _start(self) -> None:
        self.close()
        shell = shutil.which("sh")
        if shell is None:
            _log.warning("mcp.unwatched", what="there is no sh")
            return
        try:
            self._watcher = subprocess.Popen(  # noqa: S603  # a fixed script, told numbers only
                [shell, "-c", _SCRIPT, "homing-mcp-watch"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": "/usr/bin:/bin"}
                if shutil.which("sleep", path="/usr/bin:/bin")
                else None,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            _log.warning("mcp.unwatched", what=error.strerror or "no further process")
            return
        for group in self._groups:
            self._tell(f"+ {group}\n")

    def _tell(self, line: str) -> bool:
        stdin = self._watcher.stdin if self._watcher is not None else None
        if stdin is None:
            return False
        try:
            stdin.write(line.encode())
            stdin.flush()
        except OSError:
            return False
        return True
