"""Runs a command with the terminal on standard input as its own, so that Ctrl-C reaches it."""

from __future__ import annotations

import fcntl
import os
import sys
import termios


def main() -> None:
    """Become the command that the arguments name."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606  # the test's own command


if __name__ == "__main__":
    main()
