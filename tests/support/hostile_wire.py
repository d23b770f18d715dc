"""Hostile requests for any method of our protocol, made from what the `.proto` files say."""

from __future__ import annotations

import importlib
import pkgutil
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import homing_proto.v1
from google.protobuf.descriptor import FieldDescriptor

if TYPE_CHECKING:
    from collections.abc import Iterator

_F = FieldDescriptor
_VARINT, _LENGTH = 0, 2
_MANY = 30_000
_DEEP = 20_000
_NUMBERS = {
    _F.TYPE_UINT32: b"\xff\xff\xff\xff\x0f",
    _F.TYPE_UINT64: b"\xff" * 9 + b"\x01",
    _F.TYPE_INT32: b"\xff" * 9 + b"\x01",
    _F.TYPE_INT64: b"\xff" * 9 + b"\x01",
    _F.TYPE_BOOL: b"\x02",
    _F.TYPE_ENUM: b"\xff\xff\xff\xff\x07",
}


@dataclass(frozen=True)
class Method:
    """A method that a port or socket of ours may serve.

    Attributes:
        path: `/package.Service/Method`.
        request: descriptor of its request.
        asks: whether requests come as a stream.
        tells: whether answers do.
    """

    path: str
    request: Any
    asks: bool
    tells: bool


def methods() -> list[Method]:
    """All that our `.proto` files know, and the health service; wherever they are served."""
    found: list[Method] = []
    ours = pkgutil.iter_modules(homing_proto.v1.__path__, "homing_proto.v1.")
    names = [module.name for module in ours if module.name.endswith("_pb2")]
    for name in [*names, "grpc_health.v1.health_pb2"]:
        loaded: Any = importlib.import_module(name)
        for service in loaded.DESCRIPTOR.services_by_name.values():
            found += [
                Method(
                    f"/{service.full_name}/{one.name}",
                    one.input_type,
                    one.client_streaming,
                    one.server_streaming,
                )
                for one in service.methods
            ]
    return sorted(found, key=lambda one: one.path)


def malformed(request: Any) -> Iterator[tuple[str, bytes]]:  # noqa: ANN401  # a descriptor
    """Bytes that are no message of this kind, and what is wrong with each."""
    yield "a tag cut short", b"\xff\xff\xff"
    yield "a length of 4 GiB", b"\x0a\xff\xff\xff\xff\x0f"
    yield "a length past the end", _tag(15_000, _LENGTH) + b"\x7f" + b"x"
    yield "groups in groups without end", b"\x0b" * _DEEP
    yield "an end of a group that never began", b"\x0c"
    yield "a wire type that there is not", b"\x0e\x01"
    yield "a varint without end", b"\x08" + b"\xff" * 30
    for field in request.fields:
        name = field.name
        if field.type == _F.TYPE_STRING:
            yield f"{name} that is not UTF-8", _bytes(field.number, b"\xff\xfe")
            yield f"{name} with half a character", _bytes(field.number, b"\xed\xa0\x80")
        elif field.type == _F.TYPE_MESSAGE:
            yield f"{name} that is no message", _bytes(field.number, b"\xff\xff\xff")
            yield f"{name} full of groups", _bytes(field.number, b"\x0b" * _DEEP)


def absurd(request: Any) -> Iterator[tuple[str, bytes]]:  # noqa: ANN401  # a descriptor
    """Messages of this kind that nobody sends in good faith, and what each is."""
    yield "very many unknown fields", (_tag(15_000, _VARINT) + b"\x01") * _MANY
    for field in request.fields:
        number, name = field.number, field.name
        if field.type in _NUMBERS:
            yield f"{name} far out of range", _tag(number, _VARINT) + _NUMBERS[field.type]
            yield f"{name} as text", _bytes(number, b"text")
        elif field.type in {_F.TYPE_DOUBLE, _F.TYPE_FLOAT}:
            for value in (float("nan"), float("inf"), -1e308):
                yield f"{name} is {value}", _float(field, value)
        else:
            yield f"{name} as a number", _tag(number, _VARINT) + b"\x05"
        if field.type == _F.TYPE_STRING:
            for text in (b"[" * _DEEP, b'{"a":' * _DEEP, b"\x1b[31m\r\n\x00", b"x" * 200_000):
                yield f"{name} is {text[:6]!r}…", _bytes(number, text)
        if field.type == _F.TYPE_BYTES:
            yield f"{name} is long", _bytes(number, b"\x00" * 200_000)
        if field.is_repeated and field.type not in _NUMBERS:
            yield f"very many of {name}", _bytes(number, b"") * _MANY
        if field.type == _F.TYPE_MESSAGE:
            yield f"{name} in itself", _nested(number, 90)


def _nested(number: int, depth: int) -> bytes:
    content = b""
    for _ in range(depth):
        content = _bytes(number, content)
    return content


def _float(field: Any, value: float) -> bytes:  # noqa: ANN401  # a descriptor
    if field.type == _F.TYPE_DOUBLE:
        return _tag(field.number, 1) + struct.pack("<d", value)
    return _tag(field.number, 5) + struct.pack("<f", max(-3e38, value))


def _bytes(number: int, content: bytes) -> bytes:
    return _tag(number, _LENGTH) + _number(len(content)) + content


def _tag(number: int, wire_type: int) -> bytes:
    return _number(number << 3 | wire_type)


def _number(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
