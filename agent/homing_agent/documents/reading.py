"""Reading one open file within its limits. Runs in the worker alone."""

from __future__ import annotations

import hashlib
import importlib
import os
import time
from typing import IO, TYPE_CHECKING, Final, cast

from homing_agent.documents.chunks import Chunker, SpentError
from homing_agent.documents.extract.common import NotTextError, UnreadableError
from homing_agent.documents.kinds import Kind
from homing_agent.documents.limits import MIB
from homing_agent.documents.messages import Extract, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_agent.documents.limits import ReadLimits
    from homing_agent.documents.messages import ReadTask

_READERS: Final = {
    Kind.TEXT: ("plain", "read_text"),
    Kind.HTML: ("html", "read_html"),
    Kind.PDF: ("pdf", "read_pdf"),
    Kind.DOCX: ("office", "read_docx"),
    Kind.XLSX: ("office", "read_xlsx"),
    Kind.PPTX: ("office", "read_pptx"),
    Kind.ODF: ("odf", "read_odf"),
}
_PDF_MAGIC: Final = b"%PDF-"
_HASHED: Final = 64 * MIB
_BLOCK: Final = 1 << 20
_SHARE: Final = 0.8
"""Of the seconds that a file may take, after which its reader stops by itself."""
_NO_TEXT: Final = "it holds no text; perhaps its pages are pictures"
_TOO_LONG: Final = "only its beginning was read"


def read(task: ReadTask, file: IO[bytes], limits: ReadLimits) -> Extract:
    """What the file holds; whatever is wrong with it is part of the answer."""
    until = time.monotonic() + limits.seconds * _SHARE
    try:
        digest = _digest(file)
    except OSError:
        return Extract(task.number, Status.UNREADABLE, "the disk does not give it")
    if digest == task.known:
        return Extract(task.number, Status.SAME, sha256=digest)
    chunker = Chunker(limits.chars, until)
    status, problem, pages = _take(task.kind, file, chunker, limits)
    try:
        chunks = chunker.finish()
    except MemoryError:
        chunks, status, problem = (), Status.FAILED, "it takes too much memory to read"
    if status is Status.READ and not chunks:
        status, problem = Status.EMPTY, _NO_TEXT if pages else ""
    if status in {Status.FAILED, Status.NOT_TEXT}:
        chunks = ()
    return Extract(task.number, status, problem, digest, pages, chunks)


def _take(  # noqa: PLR0911  # one for each way in which a file can be bad
    kind: Kind, file: IO[bytes], chunker: Chunker, limits: ReadLimits
) -> tuple[Status, str, int]:
    try:
        pages = _reader(kind, file)(file, chunker, limits)
    except SpentError:
        return Status.PARTLY, _TOO_LONG, 0
    except NotTextError:
        return Status.NOT_TEXT, "it is no text", 0
    except UnreadableError as error:
        return Status.FAILED, str(error), 0
    except MemoryError:
        return Status.FAILED, "it takes too much memory to read", 0
    except RecursionError:
        return Status.FAILED, "it is nested too deeply", 0
    except Exception as error:  # noqa: BLE001  # the libraries fail in every way there is
        # The kind of error alone: its text may quote the document.
        return Status.FAILED, f"it is damaged ({type(error).__name__})", 0
    return Status.PARTLY if chunker.problem else Status.READ, chunker.problem, pages


def _reader(kind: Kind, file: IO[bytes]) -> Callable[[IO[bytes], Chunker, ReadLimits], int]:
    if kind is Kind.TEXT and file.read(len(_PDF_MAGIC)) == _PDF_MAGIC:
        kind = Kind.PDF
    file.seek(0)
    module, name = _READERS[kind]
    found: object = getattr(importlib.import_module(f"{__package__}.extract.{module}"), name)
    return cast("Callable[[IO[bytes], Chunker, ReadLimits], int]", found)


def _digest(file: IO[bytes]) -> str:
    """SHA-256 of the content; of a very large file, of its beginning and size."""
    digest, left = hashlib.sha256(), _HASHED
    while left > 0 and (block := file.read(min(_BLOCK, left))):
        digest.update(block)
        left -= len(block)
    if left == 0:
        digest.update(str(os.fstat(file.fileno()).st_size).encode())
    file.seek(0)
    return digest.hexdigest()
