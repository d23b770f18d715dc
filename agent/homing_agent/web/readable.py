"""What a fetched page or document says, as plain text.

Taking it apart is the work of the process that reads documents (`homing_agent.documents`): without
network, limited, and ended after each page. So hostile HTML never meets the daemon's memory.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Final

from homing_core.errors import InvalidDataError
from homing_core.labels import clean_label

from homing_agent.documents.extractor import Extractor
from homing_agent.documents.kinds import Kind
from homing_agent.documents.limits import ReadLimits
from homing_agent.documents.messages import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from homing_agent.documents.extractor import Reader
    from homing_agent.web.fetch import Page

_OFFICE: Final = "application/vnd.openxmlformats-officedocument"
_KINDS: Final = {
    "text/html": Kind.HTML,
    "application/xhtml+xml": Kind.HTML,
    "application/pdf": Kind.PDF,
    f"{_OFFICE}.wordprocessingml.document": Kind.DOCX,
    f"{_OFFICE}.spreadsheetml.sheet": Kind.XLSX,
    f"{_OFFICE}.presentationml.presentation": Kind.PPTX,
    "application/json": Kind.TEXT,
    "application/xml": Kind.TEXT,
    "application/yaml": Kind.TEXT,
    "application/toml": Kind.TEXT,
}
_PDF: Final = b"%PDF-"
_BEGINS_LIKE_HTML: Final = re.compile(rb"\s*(?:<!doctype html|<html|<head|<body)", re.IGNORECASE)
_BOMS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_LIMITS: Final = ReadLimits(seconds=30, cpu_seconds=20, chars=2_000_000)


def page_reader() -> Reader:
    """A reader for one page."""
    return Extractor(_LIMITS)


async def read_page(page: Page, new_reader: Callable[[], Reader] = page_reader) -> str:
    """Text of a page.

    Args:
        page: what was fetched.
        new_reader: makes what takes it apart.

    Raises:
        InvalidDataError: it is nothing that can be read, or there is no text in it.
        UnavailableError: nothing can be read at all now.
    """
    kind = _kind(page)
    data = page.data if kind not in {Kind.HTML, Kind.TEXT} else _in_utf8(page)
    reader = new_reader()
    try:
        with _file(data) as file:
            found = await reader.read(file.fileno(), kind)
    finally:
        await asyncio.shield(reader.close())
    text = "\n".join(chunk.text for chunk in found.chunks)
    if not text.strip():
        why = found.problem if found.status is not Status.EMPTY else ""
        msg = f"there is nothing to read on the page of {page.address.host}"
        raise InvalidDataError(f"{msg}: {why}" if why else msg, "It may need a browser.")
    return text


def _kind(page: Page) -> Kind:
    named = page.media_type
    kind = _KINDS.get(named)
    if kind is not None:
        return kind
    if not named and page.data.startswith(_PDF):
        return Kind.PDF
    if not named and _BEGINS_LIKE_HTML.match(page.data):
        return Kind.HTML
    if not named or named.startswith("text/") or named.endswith(("+json", "+xml")):
        return Kind.TEXT
    msg = f"{page.address.host} sends {clean_label(named)}, which is no page of text"
    raise InvalidDataError(msg, "Open it yourself.")


def _in_utf8(page: Page) -> bytes:
    """The server's word on the encoding counts before the page's own, which readers find out."""
    if not page.charset or page.data.startswith(_BOMS):
        return page.data
    try:
        return page.data.decode(page.charset, "replace").encode("utf-8", "replace")
    except (LookupError, ValueError):  # unknown, or no encoding of whole texts
        return page.data


@contextmanager
def _file(data: bytes) -> Generator[IO[bytes]]:
    """The page as an open file that has no name and, on Linux, no place on a disk."""
    if hasattr(os, "memfd_create"):
        file: IO[bytes] = os.fdopen(os.memfd_create("page", os.MFD_CLOEXEC), "w+b")
    else:
        file = tempfile.TemporaryFile()  # noqa: SIM115  # closed below
    with file:
        file.write(data)
        file.flush()
        file.seek(0)
        yield file
