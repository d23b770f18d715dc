"""A bounded reader of a GGUF file's header: is it one, what is it, and is it all there.

The tensor table says how long the file must be, so a truncated file is found without reading the
weights. Only what the catalog needs is kept; the vocabulary is stepped over.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, BinaryIO

from homing_core.errors import IntegrityError, InvalidDataError
from homing_core.labels import clean_label

from homing_inference.catalog.gguf_types import (
    BLOCKS,
    FILE_TYPES,
    SCALAR_SIZES,
    TYPE_ARRAY,
    TYPE_STRING,
    TYPE_UINT32,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MAX_KEYS = 4_096
_MAX_TENSORS = 65_536
_MAX_NAME = 1_024
_MAX_KEPT_TEXT = 1 << 20
_MAX_DIMENSIONS = 4
_MAX_ARRAY_STRINGS = 4_000_000
_CHUNK = 1 << 20
_DEFAULT_ALIGNMENT = 32
_MAX_ALIGNMENT = 1 << 16

_HINT_TRUNCATED = "Fetch or copy it again."
_HINT_OTHER = "Give a model file in GGUF format, version 2 or 3."


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What a GGUF file says about itself.

    Attributes:
        architecture: such as `qwen2` or `qwen35`.
        name: `general.name`, cleaned; may be empty.
        quantization: from `general.file_type`; `unknown` if it does not say.
        has_chat_template: whether `tokenizer.chat_template` is there and not empty.
        tensors: how many.
        parameters: elements of all tensors.
        expected_size: bytes that the tensor table needs; a lower bound if a tensor's type is new.
        kinds: type of each metadata value, by key; an array's is that of its items, negated.
        numbers: the metadata values of type uint32, by key.
        tensor_kinds: type and number of dimensions of each tensor, by name.
    """

    architecture: str
    name: str
    quantization: str
    has_chat_template: bool
    tensors: int
    parameters: int
    expected_size: int
    kinds: Mapping[str, int] = field(repr=False)
    numbers: Mapping[str, int] = field(repr=False)
    tensor_kinds: Mapping[str, tuple[int, int]] = field(repr=False)


class _MalformedError(Exception):
    """The header contradicts the format; the text says how."""


class _EndOfFileError(Exception):
    """The header goes on behind the end of the file."""


def check_gguf(path: Path) -> GgufHeader:
    """Read the header and compare the file's size with what it announces.

    Raises:
        InvalidDataError: it is not a GGUF file, or its header is malformed.
        IntegrityError: it is shorter than its header says.
        OSError: it cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as stream:
        return read_header(stream, size, path.name)


def read_header(stream: BinaryIO, size: int, name: str) -> GgufHeader:
    """As `check_gguf`, from an open stream that stands at the file's start.

    Args:
        stream: the file.
        size: its length in bytes.
        name: what to call it in an error.
    """
    label = clean_label(name, 120)
    try:
        header = _parse(_Cursor(stream, size))
    except _EndOfFileError as error:
        msg = f"{label} is truncated: its header is cut off"
        raise IntegrityError(msg, _HINT_TRUNCATED) from error
    except _MalformedError as error:
        msg = f"{label} is not a usable GGUF file: {error}"
        raise InvalidDataError(msg, _HINT_OTHER) from error
    if size < header.expected_size:
        msg = f"{label} is truncated: {size:,} of {header.expected_size:,} bytes are there"
        raise IntegrityError(msg, _HINT_TRUNCATED)
    return header


class _Cursor:
    """Reads forward through a file of known size, a chunk at a time."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream = stream
        self._size = size
        self._buffer = b""
        self._at = 0
        self.position = 0

    def take(self, count: int) -> bytes:
        if count > self._size - self.position:
            raise _EndOfFileError
        while len(self._buffer) - self._at < count:
            more = self._stream.read(max(_CHUNK, count))
            if not more:
                raise _EndOfFileError
            self._buffer = self._buffer[self._at :] + more
            self._at = 0
        taken = self._buffer[self._at : self._at + count]
        self._at += count
        self.position += count
        return taken

    def skip(self, count: int) -> None:
        if count > self._size - self.position:
            raise _EndOfFileError
        held = len(self._buffer) - self._at
        if count <= held:
            self._at += count
        else:
            self._stream.seek(count - held, 1)
            self._buffer = b""
            self._at = 0
        self.position += count

    def u32(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def u64(self) -> int:
        return int.from_bytes(self.take(8), "little")

    def text(self, limit: int) -> str:
        length = self.u64()
        if length > self._size - self.position:
            raise _EndOfFileError
        if length > limit:
            msg = f"a text of {length:,} bytes where at most {limit:,} make sense"
            raise _MalformedError(msg)
        return self.take(length).decode("utf-8", "replace")


def _parse(cursor: _Cursor) -> GgufHeader:
    tensors, keys = _preamble(cursor)
    texts, numbers, kinds = _metadata(cursor, keys)
    parameters, data_length, tensor_kinds = _tensor_table(cursor, tensors)
    alignment = numbers.get("general.alignment", _DEFAULT_ALIGNMENT)
    if not 1 <= alignment <= _MAX_ALIGNMENT or alignment % 8:
        msg = f"an alignment of {alignment:,}"
        raise _MalformedError(msg)
    data_start = -(-cursor.position // alignment) * alignment
    return GgufHeader(
        architecture=clean_label(texts.get("general.architecture", ""), fallback=""),
        name=clean_label(texts.get("general.name", ""), fallback=""),
        quantization=FILE_TYPES.get(numbers.get("general.file_type", -1), "unknown"),
        has_chat_template=bool(texts.get("tokenizer.chat_template")),
        tensors=tensors,
        parameters=parameters,
        expected_size=data_start + data_length,
        kinds=kinds,
        numbers=numbers,
        tensor_kinds=tensor_kinds,
    )


def _preamble(cursor: _Cursor) -> tuple[int, int]:
    """Magic, version and the two counts: (tensors, metadata keys)."""
    try:
        magic = cursor.take(4)
    except _EndOfFileError:
        magic = b""
    if magic != _MAGIC:
        msg = "it does not begin as one"
        raise _MalformedError(msg)
    version = cursor.u32()
    if version not in _VERSIONS:
        big_endian = struct.unpack(">I", struct.pack("<I", version))[0] in _VERSIONS
        msg = "it is big-endian" if big_endian else f"its version is {version:,}"
        raise _MalformedError(msg)
    tensors, keys = cursor.u64(), cursor.u64()
    if not 1 <= tensors <= _MAX_TENSORS or keys > _MAX_KEYS:
        msg = f"it announces {tensors:,} tensors and {keys:,} keys"
        raise _MalformedError(msg)
    return tensors, keys


_KEPT_TEXTS = frozenset({"general.architecture", "general.name", "tokenizer.chat_template"})


def _metadata(cursor: _Cursor, keys: int) -> tuple[dict[str, str], dict[str, int], dict[str, int]]:
    """The texts and numbers that are kept, and the type of every value."""
    texts: dict[str, str] = {}
    numbers: dict[str, int] = {}
    kinds: dict[str, int] = {}
    for _ in range(keys):
        key = cursor.text(_MAX_NAME)
        kind = kinds[key] = cursor.u32()
        if key in _KEPT_TEXTS and kind == TYPE_STRING:
            texts[key] = cursor.text(_MAX_KEPT_TEXT)
        elif kind == TYPE_UINT32:
            numbers[key] = cursor.u32()
        elif kind == TYPE_ARRAY:
            kinds[key] = -_skip_array(cursor)
        else:
            _skip_value(cursor, kind)
    return texts, numbers, kinds


def _skip_array(cursor: _Cursor) -> int:
    """Step over an array; gives the type of its items."""
    item, count = cursor.u32(), cursor.u64()
    if item == TYPE_STRING:
        if count > _MAX_ARRAY_STRINGS:
            msg = f"a list of {count:,} texts"
            raise _MalformedError(msg)
        for _ in range(count):
            cursor.skip(cursor.u64())
    else:
        cursor.skip(_scalar_size(item) * count)
    return item


def _skip_value(cursor: _Cursor, kind: int) -> None:
    if kind == TYPE_STRING:
        cursor.skip(cursor.u64())
    else:
        cursor.skip(_scalar_size(kind))


def _scalar_size(kind: int) -> int:
    try:
        return SCALAR_SIZES[kind]
    except KeyError:
        msg = f"a value of unknown type {kind:,}"
        raise _MalformedError(msg) from None


def _tensor_table(cursor: _Cursor, tensors: int) -> tuple[int, int, dict[str, tuple[int, int]]]:
    """Elements of all tensors, how far the last one reaches into the data section, their kinds."""
    parameters = reach = 0
    kinds: dict[str, tuple[int, int]] = {}
    for _ in range(tensors):
        name = cursor.text(_MAX_NAME)
        dimensions = cursor.u32()
        if not 1 <= dimensions <= _MAX_DIMENSIONS:
            msg = f"a tensor of {dimensions:,} dimensions"
            raise _MalformedError(msg)
        shape = [cursor.u64() for _ in range(dimensions)]
        kind, offset = cursor.u32(), cursor.u64()
        kinds[name] = (kind, dimensions)
        elements = prod(shape)
        block, block_bytes = BLOCKS.get(kind, (1, 0))
        if shape[0] % block:
            msg = f"a tensor row of {shape[0]:,} in blocks of {block}"
            raise _MalformedError(msg)
        parameters += elements
        reach = max(reach, offset + elements // block * block_bytes)
    return parameters, reach, kinds
