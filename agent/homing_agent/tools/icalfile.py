"""One iCalendar file (RFC 5545) that grows at its end.

A new entry is put before the file's last `END:VCALENDAR`, and every byte that was there stays:
what other programs wrote, or what this one does not know, is never rewritten. The file is read
before and after, and one that cannot be read is reported and left as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.errors import HomingError, InternalError, InvalidDataError
from icalendar import Calendar

from homing_agent.tools.files import locked, read_text, replace_text

if TYPE_CHECKING:
    from pathlib import Path

    from icalendar import Component

_PRODUCT = "-//Homing//Homing//EN"
_HEAD = f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:{_PRODUCT}\r\n"
_END = "END:VCALENDAR"


def read_entries(path: Path, kind: str) -> list[Component]:
    """The file's entries of one kind, such as `VTODO`; none if there is no file.

    Raises:
        InvalidDataError: the file is damaged.
    """
    return [entry for entry in _parse(read_text(path), path) if entry.name == kind]


def append_entry(path: Path, entry: Component) -> None:
    """Add an entry, unless one with its UID is there, so that a repeat adds nothing.

    Raises:
        InvalidDataError: the file is damaged; it was left as it is.
        InternalError: it could not be written; it was left as it is.
    """
    with locked(path.parent):
        text = read_text(path)
        before = _parse(text, path)
        if any(other.get("UID") == entry.get("UID") for other in before):
            return
        written = entry.to_ical().decode()
        if text.strip():
            end = text.rindex(_END)
            line_end = "" if text[:end].endswith("\n") else "\r\n"
            grown = text[:end] + line_end + written + text[end:]
        else:
            grown = f"{_HEAD}{written}{_END}\r\n"
        try:
            after = _parse(grown, path)
        except HomingError as error:
            raise _unwritable(path) from error
        if len(after) != len(before) + 1:
            raise _unwritable(path)
        replace_text(path, grown)


def put(entry: Component, name: str, value: object, **parameters: str) -> None:
    """Add a property, such as `SUMMARY`, with its parameters."""
    entry.add(name, value, parameters=parameters)  # pyright: ignore[reportUnknownMemberType]  # untyped there


def _parse(text: str, path: Path) -> list[Component]:
    """Every entry of the file's calendars."""
    if not text.strip():
        return []
    if _unbalanced(text):
        raise _damaged(path)
    try:
        calendars = Calendar.from_ical(text, multiple=True)
    # A time zone's name is looked for as a file, and may be no file's name.
    except (ValueError, LookupError, TypeError, AttributeError, OSError) as error:
        raise _damaged(path) from error
    if not calendars or any(calendar.name != "VCALENDAR" for calendar in calendars):
        raise _damaged(path)
    return [entry for calendar in calendars for entry in calendar.subcomponents]


def _unbalanced(text: str) -> bool:
    """Whether BEGIN and END lines do not nest; the parser accepts some of that."""
    is_open: list[str] = []
    for line in text.splitlines():
        mark, _, name = line.strip().upper().partition(":")
        if mark == "BEGIN":
            is_open.append(name)
        elif mark == "END" and (not is_open or is_open.pop() != name):
            return True
    return bool(is_open) or not text.rstrip().upper().endswith(_END) or _END not in text


def _damaged(path: Path) -> InvalidDataError:
    msg = f"{path.name} is not a readable calendar file, so it was left as it is"
    return InvalidDataError(msg, f"Repair {path}, or move it away to start a new one.")


def _unwritable(path: Path) -> InternalError:
    msg = f"the entry could not be written to {path.name}, so it was left as it is"
    return InternalError(msg, "Use plainer text.")
