"""Fakes for the catalog: a source, a small GGUF file, a wheel. They ship with the package.

`fake_depot` beside this is a server that stands in for the hub and the package index.
"""

from __future__ import annotations

import io
import struct
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.errors import HomingError

    from homing_inference.catalog.models import ModelEntry
    from homing_inference.catalog.progress import Progress
    from homing_inference.catalog.store import Store, StoredModel


def gguf_bytes(
    payload: int = 4096, *, architecture: str = "llama", file_type: int = 0, filler: int = 0
) -> bytes:
    """A well-formed GGUF file with one F32 tensor; nothing a model could run on.

    Args:
        payload: elements of the tensor.
        architecture: `general.architecture`.
        file_type: `general.file_type`, llama.cpp's number.
        filler: the tensor's bytes all have this value, so that files can differ.
    """

    def text(value: str) -> bytes:
        raw = value.encode()
        return struct.pack("<Q", len(raw)) + raw

    metadata = (
        text("general.architecture") + struct.pack("<I", 8) + text(architecture),
        text("general.file_type") + struct.pack("<II", 4, file_type),
        text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 3) + text("a") * 3,
        text("tokenizer.chat_template") + struct.pack("<I", 8) + text("{{ messages }}"),
    )
    tensor = text("token_embd.weight") + struct.pack("<IQIQ", 1, payload, 0, 0)
    header = b"GGUF" + struct.pack("<IQQ", 3, 1, len(metadata)) + b"".join(metadata) + tensor
    return header + bytes(-len(header) % 32) + bytes([filler]) * (payload * 4)


def wheel_bytes(package: str, version: str, members: Mapping[str, bytes]) -> bytes:
    """A pure wheel that pip accepts, holding `members` (name inside the zip -> content)."""
    info = f"{package}-{version}.dist-info"
    name = package.replace("_", "-")
    files = {
        f"{package}/__init__.py": b"raise SystemExit('a stand-in wheel is never imported')\n",
        **members,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in files.items():
            archive.writestr(member, content)
    return buffer.getvalue()


class RecordedProgress:
    """A `Progress` that keeps everything it is told."""

    def __init__(self) -> None:
        """Nothing was told yet."""
        self.calls: list[tuple[int, int, str]] = []

    def __call__(self, done: int, total: int, label: str, /) -> None:
        """See `Progress`."""
        self.calls.append((done, total, label))

    @property
    def labels(self) -> list[str]:
        """The stages, each once, in order."""
        return list(dict.fromkeys(label for _, _, label in self.calls))

    def stage(self, label: str) -> list[tuple[int, int]]:
        """(done, total) of one stage, in order."""
        return [(done, total) for done, total, name in self.calls if name == label]


class FakeSource:
    """A `Source` that needs no network.

    Args:
        content: file content by catalog name.
        error: raised instead, as long as it is set.
    """

    def __init__(self, content: Mapping[str, bytes], error: HomingError | None = None) -> None:
        """Nothing was asked for yet."""
        self._content = content
        self.error = error
        self.fetched: list[str] = []

    async def fetch(self, entry: ModelEntry, store: Store, progress: Progress) -> StoredModel:
        """Put the content into the store as a real source would."""
        self.fetched.append(entry.name)
        if self.error is not None:
            raise self.error
        partial = store.partial(entry)
        partial.resume(entry.name)
        partial.restart()
        with partial.append() as stream:
            stream.write(self._content[entry.name])
        progress(partial.size, partial.size, f"fetching {entry.name}")
        return await store.adopt(entry, partial, "a fake", progress)
