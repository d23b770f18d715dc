"""What a fetched page says, as plain text."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from homing_core.errors import InvalidDataError, UnavailableError
from homing_core.labels import clean_label

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from homing_agent.web.fetch import Page

_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_TEXT: Final = frozenset(
    {"application/json", "application/xml", "application/yaml", "application/toml"}
)
_BEGINS_LIKE_HTML: Final = re.compile(rb"\s*(?:<!doctype html|<html|<head|<body)", re.IGNORECASE)
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_SECONDS: Final = 30.0
_MOST_OUTPUT: Final = 16 << 20
_MOST_TITLE: Final = 200
_BLANK_LINES: Final = re.compile(r"\n{3,}")
_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, slots=True)
class ReadText:
    """What a page says.

    Attributes:
        title: one line; empty if it has none.
        text: the rest.
    """

    title: str
    text: str


ReadHtml: TypeAlias = "Callable[[bytes, str], Awaitable[ReadText]]"
"""Takes HTML and its charset (empty if unknown) apart, in another process."""


async def read_page(page: Page, read_html: ReadHtml) -> ReadText:
    """Text of a page.

    Raises:
        InvalidDataError: it is no text, or cannot be taken apart.
        UnavailableError: taking it apart failed.
    """
    kind = page.media_type
    if kind in _HTML or (not kind and _BEGINS_LIKE_HTML.match(page.data)):
        found = await read_html(page.data, page.charset)
        read = ReadText(clean_label(found.title, _MOST_TITLE, ""), _tidy(found.text))
    elif kind.startswith("text/") or kind in _TEXT or kind.endswith(("+json", "+xml")) or not kind:
        if not kind and b"\0" in page.data[:4096]:
            raise _no_text(page, "something without a type")
        read = ReadText("", _tidy(_decode(page.data, page.charset)))
    else:
        raise _no_text(page, kind)
    if not read.text:
        msg = f"there is nothing to read on the page of {page.address.host}"
        raise InvalidDataError(msg, "It may need a browser.")
    return read


async def read_html_apart(data: bytes, charset: str) -> ReadText:
    """Take HTML apart in a process of its own (`readable_worker`).

    Raises:
        InvalidDataError: it cannot be taken apart within the limits.
        UnavailableError: the process cannot be started.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-m",
            "homing_agent.web.readable_worker",
            charset,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={},
        )
    except OSError as error:
        msg = "the page cannot be taken apart: no process can be started"
        raise UnavailableError(msg, "Try again later.") from error
    try:
        async with asyncio.timeout(_SECONDS):
            output, _ = await process.communicate(data)
    except TimeoutError:
        output = b""
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    found = _parsed(output)
    if process.returncode or found is None:
        msg = "the page cannot be taken apart: it is broken, or made to take for ever"
        raise InvalidDataError(msg, "Open it yourself.")
    return found


def _parsed(output: bytes) -> ReadText | None:
    if len(output) > _MOST_OUTPUT:
        return None
    try:
        value: object = json.loads(output)
    except (ValueError, RecursionError):
        return None
    match value:
        case {"title": str(title), "text": str(text)}:
            return ReadText(title, text)
        case _:
            return None


def _decode(data: bytes, charset: str) -> str:
    named = next((name for bom, name in _BOMS if data.startswith(bom)), charset or "utf-8")
    try:
        return data.decode(named, "replace")
    except (LookupError, ValueError):  # unknown, or no encoding of whole texts
        return data.decode("utf-8", "replace")


def _tidy(text: str) -> str:
    kept = "".join(
        char
        for char in unicodedata.normalize("NFC", text.replace("\r\n", "\n"))
        if char in "\n\t" or unicodedata.category(char) not in _HIDDEN
    )
    return _BLANK_LINES.sub("\n\n", kept).strip()


def _no_text(page: Page, kind: str) -> InvalidDataError:
    msg = f"{page.address.host} sends {clean_label(kind)}, which is no page of text"
    return InvalidDataError(msg, "Open it yourself.")
