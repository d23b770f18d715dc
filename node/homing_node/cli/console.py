"""What a person sees. Names from devices are never trusted with the terminal."""

from __future__ import annotations

from homing_agent.runtime.device_words import SHORT_ID
from homing_agent.runtime.moments import moment
from homing_core.labels import clean_label
from rich.console import Console
from rich.markup import escape

__all__ = ["SHORT_ID", "err", "moment", "out", "safe"]

out = Console(highlight=False, soft_wrap=True, emoji=False)
"""Results."""
err = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)
"""Everything around them."""


def safe(text: str) -> str:
    """One line without terminal escapes, and without meaning as markup."""
    return escape(clean_label(text, 500, ""))
