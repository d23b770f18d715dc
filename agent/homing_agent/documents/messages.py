"""What the daemon and the reader of documents say to each other: JSON in frames, one task a time.

The daemon sends a `ReadTask` together with the open file, as a descriptor (SCM_RIGHTS): the worker
never sees a path. The worker answers with one `Extract`. What comes from the worker is checked as
if it were hostile, since a document may have taken it over.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar, cast

from homing_core.errors import InvalidDataError

from homing_agent.documents.chunks import CHUNK_CHARS, Chunk, Unit, clean_line, clean_text
from homing_agent.documents.kinds import Kind

if TYPE_CHECKING:
    from homing_core.canonical import JsonValue

_E = TypeVar("_E", bound=Enum)
_MOST_COUNT: Final = 1 << 31
_MOST_CHUNKS: Final = 200_000
_MOST_PROBLEM: Final = 200
_MOST_LABEL: Final = 60
_SHA256: Final = re.compile(r"(?:[0-9a-f]{64})?")
_FIELDS: Final = 4


class Status(Enum):
    """What came of reading a file."""

    READ = "read"
    PARTLY = "partly"
    """Its beginning was read; the rest is over a limit."""
    EMPTY = "empty"
    """It holds no text."""
    FAILED = "failed"
    """It is damaged, protected or too much; tried again when it changes."""
    UNREADABLE = "unreadable"
    """The system did not let it be opened; tried again the next time."""
    NOT_TEXT = "not_text"
    SAME = "same"
    """Its content is the known one; nothing was parsed."""


@dataclass(frozen=True, slots=True)
class ReadTask:
    """A file to read.

    Attributes:
        number: of the task; the answer repeats it.
        kind: how it is read.
        known: SHA-256 (hex) of the content that needs no reading; empty for none.
    """

    number: int
    kind: Kind
    known: str = ""


@dataclass(frozen=True, slots=True)
class Extract:
    """What a file holds.

    Attributes:
        number: of the task.
        status: what came of it.
        problem: why not all of it was read, for people; empty if it was.
        sha256: of its content, hex; of a very large file, of its beginning. Empty if unknown.
        pages: pages or slides; 0 where there are none.
        chunks: its text.
        leaving: the worker ends itself after this answer.
    """

    number: int
    status: Status
    problem: str = ""
    sha256: str = ""
    pages: int = 0
    chunks: tuple[Chunk, ...] = ()
    leaving: bool = False


def encode_task(task: ReadTask) -> bytes:
    """The task as JSON."""
    return _json({"number": task.number, "kind": task.kind.value, "known": task.known})


def decode_task(data: bytes) -> ReadTask:
    """Raises `InvalidDataError` if it is no task."""
    fields = _object(data)
    return ReadTask(
        number=_count(fields.get("number")),
        kind=_member(Kind, fields.get("kind")),
        known=_hash(fields, "known"),
    )


def encode_extract(extract: Extract) -> bytes:
    """The answer as JSON."""
    return _json(
        {
            "number": extract.number,
            "status": extract.status.value,
            "problem": extract.problem,
            "sha256": extract.sha256,
            "pages": extract.pages,
            "leaving": extract.leaving,
            "chunks": [
                [chunk.text, chunk.unit.value, chunk.number, chunk.label]
                for chunk in extract.chunks
            ],
        }
    )


def decode_extract(data: bytes) -> Extract:
    """Raises `InvalidDataError` if it is no answer of a worker."""
    fields = _object(data)
    rows = fields.get("chunks")
    if not isinstance(rows, list) or len(cast("list[object]", rows)) > _MOST_CHUNKS:
        _refuse("its chunks are no list")
    return Extract(
        number=_count(fields.get("number")),
        status=_member(Status, fields.get("status")),
        problem=clean_line(_text(fields, "problem"), _MOST_PROBLEM),
        sha256=_hash(fields, "sha256"),
        pages=_count(fields.get("pages")),
        chunks=tuple(_chunk(row) for row in cast("list[object]", rows)),
        leaving=fields.get("leaving") is True,
    )


def _chunk(row: object) -> Chunk:
    if not isinstance(row, list) or len(cast("list[object]", row)) != _FIELDS:
        _refuse("a chunk is not one")
    text, unit, number, label = cast("list[object]", row)
    if not isinstance(text, str) or not isinstance(label, str) or len(text) > CHUNK_CHARS:
        _refuse("a chunk's text is not one")
    line = clean_line(label, _MOST_LABEL)
    return Chunk(clean_text(text), _member(Unit, unit), _count(number), line)


def _json(value: JsonValue) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _object(data: bytes) -> dict[str, object]:
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        msg = "what came from the reader of documents is not JSON"
        raise InvalidDataError(msg) from error
    if not isinstance(value, dict):
        _refuse("it is no object")
    return cast("dict[str, object]", value)


def _text(fields: dict[str, object], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        _refuse(f"{name} is no text")
    return value


def _hash(fields: dict[str, object], name: str) -> str:
    value = _text(fields, name)
    if not _SHA256.fullmatch(value):
        _refuse(f"{name} is no hash")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST_COUNT:
        _refuse("a number is not one")
    return value


def _member(kind: type[_E], value: object) -> _E:
    try:
        return kind(value)
    except ValueError:
        _refuse(f"an unknown {kind.__name__.lower()}")


def _refuse(why: str) -> NoReturn:
    msg = f"what came from the reader of documents is malformed: {why}"
    raise InvalidDataError(msg)
