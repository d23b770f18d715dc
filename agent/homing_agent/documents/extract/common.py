"""What the readers of formats share."""

from __future__ import annotations

import os
import zipfile
from typing import IO, TYPE_CHECKING, Final

from homing_agent.documents.limits import MIB

if TYPE_CHECKING:
    from homing_agent.documents.limits import ReadLimits

_MOST_MEMBERS: Final = 20_000
_MOST_UNPACKED: Final = 512 * MIB
_MOST_MARKUP: Final = 96 * MIB
"""Unpacked bytes of all XML in an archive: a tree of it takes about ten times as much memory."""
_MARKUP: Final = (".xml", ".rels", ".vml")


class UnreadableError(Exception):
    """A file cannot be read; the text says why, for people, and quotes nothing of it."""


class NotTextError(Exception):
    """A file with an unknown ending is no text."""


def check_size(file: IO[bytes], limits: ReadLimits) -> None:
    """Refuse what is too large to be parsed; raises `UnreadableError`."""
    if os.fstat(file.fileno()).st_size > limits.file_bytes:
        msg = f"it is larger than {limits.file_bytes // MIB} MiB"
        raise UnreadableError(msg)


def check_archive(file: IO[bytes]) -> None:
    """Refuse a bomb by what the archive's own directory says.

    `zipfile` never unpacks more of a member than is said there, so a lie does not help it.

    Raises:
        UnreadableError: it would unpack to too much, or is no archive.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as error:
        msg = "it is damaged, or protected by a password"
        raise UnreadableError(msg) from error
    finally:
        file.seek(0)
    markup = sum(one.file_size for one in members if one.filename.lower().endswith(_MARKUP))
    whole = sum(one.file_size for one in members)
    if len(members) > _MOST_MEMBERS or whole > _MOST_UNPACKED or markup > _MOST_MARKUP:
        msg = "it unpacks to more than a document would"
        raise UnreadableError(msg)
