"""Frames survive any split of the stream; a false length is refused."""

from __future__ import annotations

import pytest
from homing_core.errors import InvalidDataError
from homing_proto.frames import MAX_FRAME_BYTES, FrameReader, frame
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.binary(max_size=40), max_size=6), st.integers(1, 7))
def test_contents_come_back_however_the_stream_is_split(contents: list[bytes], step: int) -> None:
    stream = b"".join(frame(content) for content in contents)
    reader = FrameReader()
    found = [
        content
        for start in range(0, len(stream), step)
        for content in reader.feed(stream[start : start + step])
    ]
    assert found == contents
    assert not reader.mid_frame


def test_a_stream_that_ends_early_is_noticed() -> None:
    reader = FrameReader()
    assert reader.feed(frame(b"whole") + frame(b"half")[:-1]) == [b"whole"]
    assert reader.mid_frame


def test_a_false_length_is_refused_before_anything_is_kept() -> None:
    reader = FrameReader(limit=10)
    with pytest.raises(InvalidDataError, match="claims 11 bytes"):
        reader.feed(b"\x00\x00\x00\x0b")
    assert not reader.mid_frame


def test_a_content_over_the_limit_is_not_framed() -> None:
    with pytest.raises(InvalidDataError, match="does not fit"):
        frame(bytes(MAX_FRAME_BYTES + 1))


@given(st.binary(max_size=200))
def test_noise_is_read_or_refused(noise: bytes) -> None:
    reader = FrameReader(limit=64)
    try:
        contents = reader.feed(noise)
    except InvalidDataError:
        contents = []
    assert all(len(content) <= 64 for content in contents)
