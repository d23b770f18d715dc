"""DNS packets that a parser could loop in, drown in, or be misled by."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_RESPONSE: Final = 0x8400
_HEADER_BYTES: Final = 12
_TXT, _PTR, _IN = 16, 12, 1
_MOST_PACKET: Final = 8900

HOSTILE_LABELS: Final = (
    b"\x1b[31mred\x1b[0m",
    b"\x00\x01\x7f",
    b"\xff\xfe\xfd",
    "\u202egnimoh".encode(),
    b"a.b.c",
    b"homing-" + b"g" * 16,
    b"x" * 63,
)


def header(answers: int) -> bytes:
    return struct.pack("!6H", 0, _RESPONSE, 0, answers, 0, 0)


def record(name: bytes, kind: int, data: bytes) -> bytes:
    return name + struct.pack("!HHIH", kind, _IN, 120, len(data)) + data


def pointer(offset: int) -> bytes:
    return struct.pack("!H", 0xC000 | offset)


def self_loop() -> bytes:
    """A name that is a pointer to itself."""
    return header(1) + record(pointer(_HEADER_BYTES), _TXT, b"")


def long_loop(length: int = 200) -> bytes:
    """Pointers each to the next, and the last to the first."""
    ring = b"".join(pointer(_HEADER_BYTES + 2 * (n + 1)) for n in range(length))
    return header(2) + ring + pointer(_HEADER_BYTES) + record(b"\x00", _TXT, b"")


def chain(length: int = 2000) -> bytes:
    """Pointers each to the one before; the record's name begins at the last of them."""
    start = _HEADER_BYTES + 1 + 10  # after the first record's name, fields and length
    links = [b"\x01a\x00", *(pointer(start + 3 if n else start) for n in range(1))]
    links += [pointer(start + 3 + 2 * n) for n in range(length)]
    data = b"".join(links)
    last = start + len(data) - 2
    return header(2) + record(b"\x00", _TXT, data) + record(pointer(last), _PTR, pointer(last))


def many_names_one_chain(records: int = 600) -> bytes:
    """Each record's name is a pointer to a long name: much to unpack from few bytes."""
    long = b"".join(b"\x3f" + b"n" * 63 for _ in range(3)) + b"\x00"
    one = record(pointer(_HEADER_BYTES), _PTR, pointer(_HEADER_BYTES))
    first = record(long, _TXT, b"")
    return (header(records + 1) + first + one * records)[:_MOST_PACKET]


def hostile_names() -> bytes:
    """Labels with escapes, NULs, bytes that are no text, dots and direction marks."""
    tail = b"\x07_homing\x04_tcp\x05local\x00"
    records = b"".join(
        record(bytes([len(label)]) + label + tail, _TXT, label * 3) for label in HOSTILE_LABELS
    )
    return header(len(HOSTILE_LABELS)) + records


def too_many_promised() -> bytes:
    """A header that promises 65,535 records, and one."""
    return header(0xFFFF) + record(b"\x01a\x00", _TXT, b"\x00")


def too_long_a_name() -> bytes:
    """Far over the 255 bytes that a name may have."""
    return header(1) + record((b"\x3f" + b"l" * 63) * 100 + b"\x00", _TXT, b"")


def bombs(seed: int = 7) -> Iterator[bytes]:
    """Each of them, then garbage behind a valid header."""
    yield from (
        self_loop(),
        long_loop(),
        chain(),
        many_names_one_chain(),
        hostile_names(),
        too_many_promised(),
        too_long_a_name(),
    )
    rng = random.Random(seed)  # noqa: S311  # no secret
    for length in (0, 1, 11, 40, 500, 1400, _MOST_PACKET - _HEADER_BYTES):
        yield header(rng.randrange(1, 0xFFFF)) + rng.randbytes(length)
        yield rng.randbytes(length)
        yield header(0xFFFF) + pointer(_HEADER_BYTES) * (length // 2)
