"""What a person answers to a question of a command that goes on meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import termios

_YES = frozenset({"y", "yes"})


def somebody_is_there() -> bool:
    """Whether a person can be asked: input and output are on a terminal."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def is_yes(line: str) -> bool:
    """Whether a line says yes; anything else, and the end of input, is no."""
    return line.strip().lower() in _YES


def forget_typed_ahead() -> None:
    """What was typed before a question was shown is no answer to it."""
    with contextlib.suppress(termios.error, OSError, ValueError):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def read_line() -> str:
    """A line of standard input without blocking the loop; empty at the end of input."""
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]  # it can be closed
        return ""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def readable() -> None:
        if not line.done():
            line.set_result(_read())

    try:
        loop.add_reader(sys.stdin.fileno(), readable)
    except (PermissionError, ValueError):  # a file, which never blocks
        return _read()
    try:
        return await line
    finally:
        loop.remove_reader(sys.stdin.fileno())


def _read() -> str:
    try:
        return sys.stdin.readline()
    except (UnicodeDecodeError, ValueError):
        return ""
