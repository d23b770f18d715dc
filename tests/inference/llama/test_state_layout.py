"""Only what has the frame of a state reaches llama.cpp's reader."""

from __future__ import annotations

import struct

import pytest
from homing_inference.llama.state_layout import StateLayout, plausible
from hypothesis import given
from hypothesis import strategies as st

PLAIN = StateLayout(attention_caches=1, recurrent=False, extended_cells=False, windowed=False)
HYBRID = StateLayout(attention_caches=1, recurrent=True, extended_cells=True, windowed=False)
_MAGIC = 0xAF143CD8


def _attention(positions: list[int], *, extended: bool, holders: int = 1) -> bytes:
    extension = bytes(12) if extended else b""
    cells = b"".join(
        struct.pack("<iI", position, holders) + extension + struct.pack("<i", 3)
        for position in positions
    )
    layer = struct.pack("<iQ", 1, 6) + bytes(6 * len(positions))
    head = struct.pack("<II", 1, len(positions))
    return head + cells + struct.pack("<II", 0, 1) + layer * 2


def _recurrent(cells: int, position: int) -> bytes:
    return struct.pack("<IiIII", cells, position, 0, 0, 4) + bytes(64)


def _state(*parts: bytes) -> memoryview:
    return memoryview(struct.pack("<Ii", _MAGIC, 0) + b"".join(parts))


WHOLE = _state(_attention([0, 1, 2], extended=False))
HYBRID_WHOLE = _state(_attention([2, 0, 1], extended=True), _recurrent(1, 2))


def test_states_in_any_order_of_cells_are_taken() -> None:
    assert plausible(WHOLE, 3, PLAIN)
    assert plausible(HYBRID_WHOLE, 3, HYBRID)


@pytest.mark.attack
@pytest.mark.parametrize(
    "state",
    [
        _state(_attention([0, 1, 2], extended=True), _recurrent(2, 2)),
        _state(_attention([0, 1, 2], extended=True), _recurrent(1, 1)),
        _state(_attention([0, 1, 2], extended=True), _recurrent(0, 2)),
        _state(_attention([0, 1, 1], extended=True), _recurrent(1, 2)),
        _state(_attention([0, 1, 3], extended=True), _recurrent(1, 2)),
        _state(_attention([-1, 0, 1], extended=True), _recurrent(1, 2)),
        _state(_attention([0, 1], extended=True), _recurrent(1, 2)),
        _state(_attention([0, 1, 2], extended=True, holders=7), _recurrent(1, 2)),
        _state(_attention([0, 1, 2], extended=True)),
        _state(struct.pack("<II", 1, 0xFFFFFFFF)),
        _state(struct.pack("<II", 2, 3)),
    ],
)
def test_what_would_abort_or_mislead_the_reader_is_refused(state: memoryview) -> None:
    assert not plausible(state, 3, HYBRID)


def test_every_truncation_and_every_addition_is_refused() -> None:
    assert not any(plausible(WHOLE[:length], 3, PLAIN) for length in range(len(WHOLE)))
    assert not plausible(memoryview(bytes(WHOLE) + b"\0"), 3, PLAIN)


def test_another_number_of_tokens_or_another_kind_of_model() -> None:
    assert not plausible(WHOLE, 2, PLAIN)
    assert not plausible(WHOLE, 4, PLAIN)
    assert not plausible(WHOLE, 3, HYBRID)
    assert not plausible(HYBRID_WHOLE, 3, PLAIN)


@given(st.binary(max_size=200), st.integers(1, 5))
def test_any_bytes_are_refused_in_peace(state: bytes, tokens: int) -> None:
    assert not plausible(memoryview(state), tokens, PLAIN)
    assert not plausible(memoryview(struct.pack("<Ii", _MAGIC, 0) + state), tokens, HYBRID)
