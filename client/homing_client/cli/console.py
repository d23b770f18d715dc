"""What a person sees. Text from models and nodes is never trusted with the terminal."""

from __future__ import annotations

import sys
import unicodedata

from homing_core.tools import Place
from rich.console import Console

PLACES = {Place.PHONE: "phone", Place.HOME: "home", Place.PEER: "peer"}
"""Names of places in `--json` and in words."""

out = Console(highlight=False)
"""Answers."""
err = Console(stderr=True, highlight=False)
"""Everything around them."""

_KEPT = frozenset("\n\t")


def printable(text: str) -> str:
    """The text without terminal escapes and other control or direction characters."""
    return "".join(
        char
        for char in text
        if char in _KEPT or unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Cn"}
    )


def write_answer(text: str) -> None:
    """Print a piece of an answer at once, without markup."""
    sys.stdout.write(printable(text))
    sys.stdout.flush()


def seconds(milliseconds: float) -> str:
    """Such as `0.42 s`."""
    return f"{milliseconds / 1000:.2f} s"
