"""Taking a tool's arguments out of the object that the schema has passed."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from homing_core.errors import InvalidDataError

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject

MOST_CHARS = 2000
_UNWANTED = frozenset({"Cc", "Cs", "Co", "Cn"})


def text_argument(
    arguments: JsonObject, name: str, *, most: int = MOST_CHARS, lines: bool = False
) -> str:
    """A text that says something, without control characters.

    Args:
        arguments: the call's.
        name: of the parameter.
        most: characters at most.
        lines: keep line breaks; otherwise white space is folded.

    Raises:
        InvalidDataError: there is nothing in it, or too much.
    """
    text = optional_text(arguments, name, most=most, lines=lines)
    if not text:
        msg = f"{name!r} is empty"
        raise InvalidDataError(msg, "Give it a value and call the tool again.")
    return text


def optional_text(
    arguments: JsonObject, name: str, *, most: int = MOST_CHARS, lines: bool = False
) -> str:
    """The same, empty where the argument is missing.

    Raises:
        InvalidDataError: there is too much in it.
    """
    value = arguments.get(name, "")
    raw = value if isinstance(value, str) else str(value)
    if len(raw) > most:
        msg = f"{name!r} is longer than {most} characters"
        raise InvalidDataError(msg, "Shorten it and call the tool again.")
    kept = "".join(
        char
        for char in unicodedata.normalize("NFC", raw)
        if char in "\n\t" or unicodedata.category(char) not in _UNWANTED
    )
    return kept.strip() if lines else " ".join(kept.split())
