"""What a person types: the question, and lines while a request runs."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import termios
import unicodedata

from homing_core.errors import TooLongError, UsageError

from homing_client.rpc.phone_codec import MAX_QUESTION_CHARS


def somebody_is_there(*, as_json: bool) -> bool:
    """Whether a person can be asked: input and the prompt are on a terminal."""
    return not as_json and all(
        stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)
    )


def read_text(words: list[str], what: str = "question") -> str:
    """The words as one text, or standard input if they are `-`.

    Raises:
        UsageError: there is none, or it is not text.
        TooLongError: it is far too long.
    """
    text = (_standard_input(what) if words == ["-"] else " ".join(words)).strip()
    if not text:
        msg = f"there is no {what}"
        raise UsageError(msg, "See --help for an example.")
    if len(text) > MAX_QUESTION_CHARS:
        msg = f"the {what} has more than {MAX_QUESTION_CHARS:,} characters"
        raise TooLongError(msg, "Shorten it.")
    return checked_text(text, what)


def ask_line(prompt: str, what: str) -> str:
    """One line that a person types at a prompt on the terminal.

    Raises:
        UsageError: there is none, or it is not text.
    """
    sys.stderr.write(prompt)
    sys.stderr.flush()
    try:
        text = sys.stdin.readline().strip()
    except UnicodeDecodeError as error:
        raise not_text(what) from error
    if not text:
        msg = f"there is no {what}"
        raise UsageError(msg, "See --help for an example.")
    return checked_text(text, what)


def checked_text(text: str, what: str) -> str:
    """The text, unless it holds bytes that Python smuggled through as lone surrogates.

    Raises:
        UsageError: it does.
    """
    if any(unicodedata.category(char) == "Cs" for char in text):
        raise not_text(what)
    return text


def _standard_input(what: str) -> str:
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]  # it can be closed
        return ""
    try:
        return sys.stdin.read(MAX_QUESTION_CHARS + 1)
    except UnicodeDecodeError as error:
        raise not_text(what) from error


def not_text(what: str) -> UsageError:
    """The error for bytes that are no text."""
    return UsageError(f"the {what} is not UTF-8 text", "Convert it first.")


def forget_typed_ahead() -> None:
    """What was typed before a question was shown is no answer to it."""
    with contextlib.suppress(termios.error, OSError, ValueError):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def read_line() -> str:
    """A line of standard input without blocking the loop; empty at the end of input."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def readable() -> None:
        if not line.done():
            line.set_result(sys.stdin.readline())

    loop.add_reader(sys.stdin.fileno(), readable)
    try:
        return await line
    finally:
        loop.remove_reader(sys.stdin.fileno())
