"""A job's result as JSON, and back: its manifest in the sealed form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from homing_core.canonical import canonical_json
from homing_core.errors import InvalidDataError
from homing_core.ids import parse_job_id
from homing_core.jobs import JobResult, ResultFile
from homing_core.provenance import Sensitivity, Trust
from homing_core.strict_json import Fields, read_json

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject, JsonValue

MAX_MANIFEST_BYTES: Final = 16 << 20
"""Of the JSON form; text for a model is far shorter, and what is longer belongs in a file."""
MAX_FILES: Final = 1000
MAX_FILE_BYTES: Final = 1 << 40
MAX_NAME_BYTES: Final = 200
"""Of a file's name in UTF-8: file systems take 255, and a temporary name needs some."""
_MAX_TEXT: Final = 16 << 20
_MAX_SOURCE: Final = 4096
_MAX_MEDIA_TYPE: Final = 255
_VERSION: Final = 1
_WHAT: Final = "a job's result"
_NAMES: Final = (
    "v",
    "job",
    "content",
    "say",
    "is_error",
    "trust",
    "sensitivity",
    "source",
    "files",
)
MEDIA_TYPE: Final = re.compile(r"(?:[\w.+-]+/[\w.+-]+(?:; ?[\w.+-]+=[\w.+-]+)*)?", re.ASCII)
"""Of a file in a result, which may say nothing."""
_RESERVED: Final = re.compile(
    r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE | re.DOTALL
)
"""Names that Windows gives to devices, whatever follows the full stop."""
FORBIDDEN: Final = frozenset('/\\:*?"<>|')
"""What no file's name holds on some system."""


def encode_result(result: JobResult) -> bytes:
    """The JSON form, canonical.

    Raises:
        InvalidDataError: it is too large, or a file's name is not a plain one.
    """
    check_files(result.files)
    form = canonical_json(_to_json(result))
    decode_result(form)  # what could not be read again is not sealed
    return form


def decode_result(data: bytes) -> JobResult:
    """Read the JSON form.

    Raises:
        InvalidDataError: it is none, or a file's name is not a plain one.
    """
    if len(data) > MAX_MANIFEST_BYTES:
        msg = f"{_WHAT} is too long"
        raise InvalidDataError(msg, "What is that long belongs in a file.")
    fields = Fields(read_json(data, _WHAT), _NAMES, _WHAT)
    fields.whole("v", _VERSION, _VERSION)
    files = tuple(_file_from_json(one) for one in fields.items("files", MAX_FILES))
    check_files(files)
    return JobResult(
        parse_job_id(fields.text("job", 64)),
        content=fields.text("content", _MAX_TEXT),
        say=fields.text("say", _MAX_TEXT),
        is_error=fields.flag("is_error"),
        trust=fields.one_of(Trust, "trust"),
        sensitivity=fields.one_of(Sensitivity, "sensitivity"),
        source=fields.text("source", _MAX_SOURCE),
        files=files,
    )


def check_files(files: tuple[ResultFile, ...]) -> None:
    """Refuse names that are not plain file names everywhere, or that name one file.

    Two names that differ in upper and lower case alone name one file on some systems.

    Raises:
        InvalidDataError: one is.
    """
    if len(files) > MAX_FILES:
        msg = f"a job's result has more than {MAX_FILES} files"
        raise InvalidDataError(msg, "Pack them into one.")
    for file in files:
        if not plain_name(file.name):
            msg = "a file in a job's result has a name that is not a plain file name"
            raise InvalidDataError(msg, "Nothing of it was kept.")
    if len({file.name.casefold() for file in files}) != len(files):
        msg = "two files in a job's result have one name"
        raise InvalidDataError(msg, "Nothing of it was kept.")


def plain_name(name: str) -> bool:
    """Whether a name is harmless as the name of a file in a folder that somebody chose."""
    return (
        bool(name)
        and name.isprintable()  # no control characters, no writing direction, no lone surrogates
        and not FORBIDDEN.intersection(name)
        and name[0] not in ". -~"  # hidden, an option of a command, a home folder
        and name[-1] not in ". "  # Windows drops them
        and len(name.encode()) <= MAX_NAME_BYTES
        and _RESERVED.fullmatch(name) is None
    )


def _to_json(result: JobResult) -> JsonObject:
    return {
        "v": _VERSION,
        "job": result.job_id,
        "content": result.content,
        "say": result.say,
        "is_error": result.is_error,
        "trust": result.trust.value,
        "sensitivity": result.sensitivity.value,
        "source": result.source,
        "files": [
            {"name": one.name, "media_type": one.media_type, "size_bytes": one.size_bytes}
            for one in result.files
        ],
    }


def _file_from_json(value: JsonValue) -> ResultFile:
    fields = Fields(value, ("name", "media_type", "size_bytes"), _WHAT)
    media_type = fields.text("media_type", _MAX_MEDIA_TYPE)
    if MEDIA_TYPE.fullmatch(media_type) is None:
        fields.refuse()
    return ResultFile(
        fields.text("name", MAX_NAME_BYTES),
        media_type,
        fields.whole("size_bytes", 0, MAX_FILE_BYTES),
    )
