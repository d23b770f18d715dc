"""Text from the network that a person will read: capped, and stripped of what could mislead."""

from __future__ import annotations

import unicodedata

MAX_LABEL = 64
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def clean_label(text: str, limit: int = MAX_LABEL, fallback: str = "unnamed") -> str:
    """One safe line of at most `limit` characters.

    Control characters (terminal escapes), direction marks and unassigned code points are dropped
    and white space is folded. An empty result becomes `fallback`.
    """
    folded = "".join(
        " " if char.isspace() else char
        for char in unicodedata.normalize("NFC", text[: limit * 8])
        if char.isspace() or unicodedata.category(char) not in _HIDDEN
    )
    line = " ".join(folded.split())
    return line[:limit].rstrip() or fallback
