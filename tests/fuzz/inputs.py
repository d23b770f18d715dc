"""Inputs made from valid ones: flipped, cut, repeated, spliced, nested. A seed gives them again."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_BYTES = 64 * 1024
_NUMBERS = (0, 1, 0x7F, 0x80, 0xFF)
_WORDS = (
    b"\x00" * 8,
    b"\xff" * 8,
    b"\x80" * 9 + b"\x01",  # a varint of 64 bits
    b"\xff\xff\xff\xff\x0f",
    b"\x7f\xff\xff\xff",
    b"9" * 400,
    b"1e999",
    b"-1",
    b"NaN",
    b"[" * 2000,
    b'{"a":' * 2000,
    b"\x0a\x7f" * 2000,  # a message in a message
    b"\x0b" * 2000,  # groups that never end
    b"\xed\xa0\x80",  # a lone surrogate
    b"\xf0\x9f\x98\x80",
    b"\x1b[31m",
    b"\r\n",
    b"\\u0000",
    b"../" * 20,
    b"%2F%00",
    b'"',
    b"'",
    b"<",
    b"&",
    b":",
    b",",
    b"=",
)


def mutated(seed: int, corpus: Sequence[bytes], count: int) -> Iterator[bytes]:
    """So many inputs; the same ones for the same seed."""
    chance = random.Random(seed)  # noqa: S311  # to be repeatable, not secret
    for _ in range(count):
        yield _one(chance, corpus)


def _one(chance: random.Random, corpus: Sequence[bytes]) -> bytes:
    if not corpus or chance.random() < 0.1:
        data = bytearray(chance.randbytes(chance.choice((0, 1, 2, 8, 40, 200))))
    else:
        data = bytearray(chance.choice(corpus))
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3, 6))):
        _change(chance, data, corpus)
    return bytes(data[:MOST_BYTES])


def _change(chance: random.Random, data: bytearray, corpus: Sequence[bytes]) -> None:
    at = chance.randrange(len(data) + 1)
    end = min(len(data), at + chance.choice((1, 1, 2, 4, 16, 64)))
    match chance.randrange(8):
        case 0 if at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        case 1 if at < len(data):
            data[at] = chance.choice(_NUMBERS)
        case 2:
            del data[at:end]
        case 3:
            data[at:at] = chance.randbytes(end - at)
        case 4:
            data[at:at] = data[at:end] * chance.choice((1, 2, 50))
        case 5:
            del data[at:]
        case 6 if corpus:
            other = chance.choice(corpus)
            data[at:] = other[chance.randrange(len(other) + 1) :]
        case _:
            data[at:end] = chance.choice(_WORDS)
