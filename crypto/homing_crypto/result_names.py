"""Names for the files of a job's result, made of whatever a program or a server called them."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

from homing_crypto.result_form import FORBIDDEN, MAX_NAME_BYTES, MEDIA_TYPE, plain_name

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_MEDIA_TYPE: Final = 100
_MOST_SUFFIX: Final = 20
_NUMBER_BYTES: Final = 16
"""Room for what tells two files apart, and from a device."""


def plain_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names that `result_form.check_files` takes, each once, in the same order.

    What may stand in no name becomes `_`; of two that name one file, the later gets a number.
    """
    taken: set[str] = set()
    found: list[str] = []
    for name in names:
        plain = _plain(name)
        stem, suffix = _parts(plain)
        number = 2
        while _key(plain) in taken:
            plain = f"{stem} {number}{suffix}"
            number += 1
        taken.add(_key(plain))
        found.append(plain)
    return tuple(found)


def plain_media_type(text: str) -> str:
    """The media type, or nothing if it has no form that a result takes."""
    return text if len(text) <= _MAX_MEDIA_TYPE and MEDIA_TYPE.fullmatch(text) else ""


def _plain(name: str) -> str:
    composed = unicodedata.normalize("NFC", name[: MAX_NAME_BYTES * 4])
    text = "".join(
        char if char.isprintable() and char not in FORBIDDEN else "_" for char in composed
    )
    text = text.lstrip(". -~").rstrip(". ")
    stem, suffix = _parts(text)
    text = _cut(stem, MAX_NAME_BYTES - _NUMBER_BYTES - len(suffix.encode())) + suffix
    text = text.rstrip(". ")
    if not plain_name(text):  # empty, or a device's name
        text = f"file {text}".strip()
    return text if plain_name(text) else "file"


def _parts(name: str) -> tuple[str, str]:
    """A name before its suffix, and the suffix with its full stop."""
    stem, stop, suffix = name.rpartition(".")
    if not stem or len(suffix.encode()) > _MOST_SUFFIX:
        return name, ""
    return stem, stop + suffix


def _cut(text: str, most_bytes: int) -> str:
    return text.encode()[:most_bytes].decode("utf-8", "ignore")


def _key(name: str) -> str:
    """The same for names that are one file somewhere."""
    return unicodedata.normalize("NFC", name.casefold())
