"""What a person sees. Text from models and nodes is never trusted with the terminal."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import unicodedata
from typing import TYPE_CHECKING

from homing_core.tools import Place
from rich.console import Console

if TYPE_CHECKING:
    from homing_core.canonical import JsonValue

PLACES = {Place.PHONE: "phone", Place.HOME: "home", Place.PEER: "peer"}
"""Names of places in `--json` and in words."""

out = Console(highlight=False)
"""Answers."""
err = Console(stderr=True, highlight=False)
"""Everything around them."""

_KEPT = frozenset("\n\t")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def printable(text: str) -> str:
    """The text without terminal escapes and other control or direction characters."""
    return "".join(
        char for char in text if char in _KEPT or unicodedata.category(char) not in _HIDDEN
    )


def exact(value: JsonValue) -> str:
    """A tool's argument as JSON, so that nothing in it can hide or pose as something else."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(
        _escaped(char) if unicodedata.category(char) in _HIDDEN else char for char in text
    )


def _escaped(char: str) -> str:
    return json.dumps(char)[1:-1]


def tolerate_any_text() -> None:
    """A terminal that cannot show a character shows another one, instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError, OSError):
                stream.reconfigure(errors="replace")


def somebody_watches() -> bool:
    """Whether the answer goes to a terminal."""
    return sys.stdout.isatty()


def write_answer(text: str) -> None:
    """Print a piece of an answer at once, without markup."""
    sys.stdout.write(printable(text))
    sys.stdout.flush()


def aside(text: str, *, end: str = "\n", style: str = "dim") -> None:
    """A quiet line on standard error."""
    err.print(printable(text), style=style, end=end, markup=False, soft_wrap=True)


def seconds(milliseconds: float) -> str:
    """Such as `0.42 s`."""
    return f"{milliseconds / 1000:.2f} s"
