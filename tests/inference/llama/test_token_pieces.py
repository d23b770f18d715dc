"""The texts of a vocabulary, packed."""

from __future__ import annotations

import pytest
from homing_inference.llama.token_pieces import TokenPieces
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.binary(max_size=12), max_size=20))
def test_every_token_has_the_bytes_that_it_was_given(pieces: list[bytes]) -> None:
    packed = TokenPieces(pieces)
    assert list(packed) == pieces
    assert [packed[token] for token in range(len(packed))] == pieces
    assert packed[1:3] == tuple(pieces[1:3])


@pytest.mark.parametrize("number", [2, 100, -1])
def test_a_number_that_is_no_token_has_no_bytes(number: int) -> None:
    with pytest.raises(IndexError):
        TokenPieces([b"a", b"b"])[number]
