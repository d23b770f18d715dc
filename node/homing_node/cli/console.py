"""What a person sees. Names from devices are never trusted with the terminal."""

from __future__ import annotations

from datetime import UTC, datetime

from homing_core.labels import clean_label
from rich.console import Console
from rich.markup import escape

SHORT_ID = 12
"""Digits of a device id that are shown; enough to name it."""

out = Console(highlight=False, soft_wrap=True, emoji=False)
"""Results."""
err = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)
"""Everything around them."""


def safe(text: str) -> str:
    """One line without terminal escapes, and without meaning as markup."""
    return escape(clean_label(text, 500, ""))


def moment(seconds: float) -> str:
    """A wall time as a person writes it, in the local time zone."""
    if not seconds:
        return "never"
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
