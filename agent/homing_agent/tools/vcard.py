"""Enough of vCard (RFC 6350) to read names, numbers and addresses, and to write a card.

Reading is lenient, since address books write what they like (versions 2.1 to 4.0): a line that
cannot be read is skipped, but cards that do not begin and end properly are an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from homing_core.errors import InvalidDataError

_FOLD = 75
"""Bytes a line may have, RFC 6350, 3.2."""
_LINE = re.compile(
    r'^(?:[A-Za-z0-9-]+\.)?(?P<name>[A-Za-z0-9-]+)(?:;(?:"[^"]*"|[^":])*)?:(?P<value>.*)$',
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Card:
    """A contact.

    Attributes:
        name: as it is shown (FN, or made from N).
        phones: telephone numbers, as written.
        emails: e-mail addresses, as written.
    """

    name: str
    phones: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()


def parse_cards(text: str) -> list[Card]:
    """The cards of a file.

    Raises:
        InvalidDataError: it is not made of whole cards.
    """
    cards: list[Card] = []
    lines: list[tuple[str, str]] | None = None
    for raw in _unfolded(text):
        if not raw.strip():
            continue
        found = _LINE.match(raw)
        name, value = (found["name"].upper(), found["value"]) if found else ("", "")
        is_mark = value.strip().upper() == "VCARD"
        if name == "BEGIN" and is_mark and lines is None:
            lines = []
        elif name == "END" and is_mark and lines is not None:
            cards.append(_card(lines))
            lines = None
        elif lines is None or (name in {"BEGIN", "END"} and is_mark):
            raise _damaged()
        elif found:
            lines.append((name, value))
    if lines is not None:
        raise _damaged()
    return cards


def write_card(card: Card, uid: str) -> str:
    """The text of one card, version 4.0."""
    family, given = _split_name(card.name)
    lines = [
        "BEGIN:VCARD",
        "VERSION:4.0",
        f"UID:{_escape(uid)}",
        f"FN:{_escape(card.name)}",
        f"N:{_escape(family)};{_escape(given)};;;",
        *(f"TEL:{_escape(phone)}" for phone in card.phones),
        *(f"EMAIL:{_escape(email)}" for email in card.emails),
        "END:VCARD",
    ]
    return "".join(f"{_fold(line)}\r\n" for line in lines)


def _unfolded(text: str) -> list[str]:
    unfolded = re.sub(r"\r?\n[ \t]", "", text)
    return re.split(r"\r?\n", unfolded)


def _card(lines: list[tuple[str, str]]) -> Card:
    def values(wanted: str) -> list[str]:
        return [_unescape(value).strip() for name, value in lines if name == wanted]

    structured = next((value for name, value in lines if name == "N"), "")
    parts = [_unescape(part).strip() for part in re.split(r"(?<!\\);", structured)]
    made = " ".join(part for part in [*parts[1:2], *parts[:1]] if part)
    name = next((value for value in values("FN") if value), "") or made
    phones = (value.removeprefix("tel:") for value in values("TEL"))
    return Card(
        name=name,
        phones=tuple(value for value in phones if value),
        emails=tuple(value for value in values("EMAIL") if value),
    )


def _split_name(name: str) -> tuple[str, str]:
    given, _, family = name.rpartition(" ")
    return (family, given) if given else ("", family)


def _escape(value: str) -> str:
    escaped = re.sub(r"([\\,;])", r"\\\1", value)
    return re.sub(r"\r?\n", r"\\n", escaped)


def _unescape(value: str) -> str:
    return _ESCAPED.sub(lambda m: "\n" if m[1] in "nN" else m[1], value)


def _fold(line: str) -> str:
    """RFC 6350, 3.2: no line over 75 bytes, no character torn apart."""
    pieces: list[str] = []
    current, size = "", 0
    for char in line:
        width = len(char.encode())
        if size + width > _FOLD:
            pieces.append(current)
            current, size = " ", 1
        current, size = current + char, size + width
    return "\r\n".join([*pieces, current])


def _damaged() -> InvalidDataError:
    msg = "that is not a readable contacts file"
    return InvalidDataError(msg)
