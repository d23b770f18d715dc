"""What fuzzing has found, once each, so that it stays mended."""

from __future__ import annotations

import pytest
from fuzz.targets import all_targets

_FOUND = [
    # A nested text in the place of a pairing that was under way: recursion without end.
    ("crypto.claiming", b"homing-code:" + b"[" * 100_000),
    ("crypto.claiming", b"homing-code:" + b'{"a":' * 100_000),
    # A wheel that names a place before its beginning.
    (
        "model.wheel",
        b"PK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00\x2e\x00\x00\x00\xff\xff\xff\x7f\x00\x00",
    ),
    # A place, a state or a verdict that there is not, in a row of the journal.
    *(("journal.rows", bytes([column]) + b"\x00") for column in range(40)),
]


@pytest.mark.parametrize(("name", "data"), _FOUND)
def test_it_is_refused_in_our_words(name: str, data: bytes) -> None:
    all_targets()[name].attempt(data)
