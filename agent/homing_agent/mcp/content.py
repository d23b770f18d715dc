"""What a server answers, as text for the model and files for the person."""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
import os
import re
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import unquote

import mcp_types as types
from homing_core.labels import clean_label
from homing_crypto.result_names import plain_media_type, plain_names

from homing_agent.tool import OutputFile, ToolOutput

if TYPE_CHECKING:
    from pathlib import Path

    from homing_agent.mcp.words import ServerWords

_KIB: Final = 1 << 10
_MOST_FILES: Final = 64
_NOT_IN_FILE_NAMES: Final = re.compile(r"[^\w.-]+")
_FILE_NAME_CHARS: Final = 80
_NOT_TEXT: Final = {code: None for code in range(32) if chr(code) not in "\n\t"} | {127: None}


def to_output(
    result: types.CallToolResult, words: ServerWords, folder: Path | None, source: str
) -> ToolOutput:
    """A server's answer within the operator's limits. Writes files; blocks.

    Args:
        result: the answer.
        words: how much of it is kept.
        folder: an empty one for files; None keeps none.
        source: a label for people.
    """
    writer = _Writer(words, folder)
    for block in result.content:
        writer.take(block)
    writer.structured(result.structured_content)
    return ToolOutput(
        content=writer.text(),
        source=source,
        files=tuple(writer.files),
        is_error=result.is_error,
    )


def clean_text(text: str) -> str:
    """Text without control characters and without what UTF-8 has no form for."""
    return text.encode("utf-8", "replace").decode("utf-8").translate(_NOT_TEXT)


class _Writer:
    """Collects one answer."""

    def __init__(self, words: ServerWords, folder: Path | None) -> None:
        self._left_bytes = words.output_kib * _KIB
        self._left_file_bytes = words.files_kib * _KIB
        self._words = words
        self._folder = folder
        self._parts: list[str] = []
        self._texts: list[str] = []
        self._cut = 0
        self.files: list[OutputFile] = []

    def take(self, block: types.ContentBlock) -> None:
        match block:
            case types.TextContent():
                self._texts.append(block.text)
                self._say(block.text)
            case types.ImageContent():
                self._file(block.data, block.mime_type, "image", "")
            case types.AudioContent():
                self._file(block.data, block.mime_type, "audio", "")
            case types.EmbeddedResource():
                self._resource(block.resource)
            case types.ResourceLink():
                name = clean_label(block.name)
                self._say(f"[a link to {name}: {clean_label(str(block.uri), 500, 'nowhere')}]")

    def structured(self, value: object) -> None:
        """The structured form, unless a text already says the same, as the specification asks.

        Many servers wrap their text into an object with one member; that says nothing new either.
        """
        said = [value]
        if isinstance(value, dict) and len(cast("dict[str, object]", value)) == 1:
            said.extend(cast("dict[str, object]", value).values())
        if value is None or any(_says(text, each) for text in self._texts for each in said):
            return
        try:
            self._say(json.dumps(value, ensure_ascii=False, allow_nan=False))
        except (ValueError, RecursionError, TypeError):
            self._say("[structured content that cannot be read]")

    def text(self) -> str:
        """All of it; what was cut is said at the end."""
        if self._cut:
            kept = f"{self._words.output_kib} KiB are kept of one answer"
            self._parts.append(f"[cut here: {self._cut:,} bytes more; {kept}]")
        return "\n".join(self._parts) or "[no output]"

    def _say(self, text: str) -> None:
        data = clean_text(text).encode()
        kept = data[: self._left_bytes].decode("utf-8", "ignore")
        self._cut += len(data) - len(kept.encode())
        self._left_bytes -= len(kept.encode())
        if kept or not data:
            self._parts.append(kept)

    def _resource(self, resource: types.TextResourceContents | types.BlobResourceContents) -> None:
        if isinstance(resource, types.TextResourceContents):
            self._say(resource.text)
            return
        name = unquote(str(resource.uri)).rstrip("/").rpartition("/")[2]
        self._file(resource.blob, resource.mime_type or "", "file", name)

    def _file(self, data: str, media_type: str, kind: str, name: str) -> None:
        media = plain_media_type(media_type.lower())
        called = f"{kind} of the type {media}" if media else kind
        if self._folder is None or len(self.files) >= _MOST_FILES:
            self._say(f"[one {called}, which cannot be kept here]")
            return
        try:
            content = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            self._say(f"[one {called}, which cannot be read]")
            return
        if len(content) > self._left_file_bytes:
            most = f"{self._words.files_kib} KiB of files are kept of one answer"
            self._say(f"[one {called} of {len(content):,} bytes, left out: {most}]")
            return
        self._left_file_bytes -= len(content)
        number = len(self.files) + 1
        named = _file_name(name, kind, number, media)
        file_name = plain_names([*(file.name for file in self.files), named])[-1]
        path = self._folder / f"{number:02d}-{file_name}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
                file.write(content)
        except OSError as error:
            why = error.strerror or "the system refused it"
            self._say(f"[one {called} of {len(content):,} bytes, which cannot be kept: {why}]")
            return
        self.files.append(OutputFile(path, file_name, media))
        self._say(f"[one {called} of {len(content):,} bytes, kept as {file_name}]")


def _says(text: str, value: object) -> bool:
    if text == value:
        return True
    try:
        return bool(json.loads(text) == value)
    except (ValueError, RecursionError):
        return False


def _file_name(name: str, kind: str, number: int, media: str) -> str:
    plain = _NOT_IN_FILE_NAMES.sub("_", clean_label(name, 200, "")).strip("._")
    if not plain:
        plain = f"{kind}-{number}"
    if "." not in plain:
        plain += mimetypes.guess_extension(media) or ".bin"
    return plain[-_FILE_NAME_CHARS:].lstrip(".")
