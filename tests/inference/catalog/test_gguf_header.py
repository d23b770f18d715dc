from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING

import gguf
import numpy as np
import pytest
from homing_core.errors import HomingError, IntegrityError, InvalidDataError
from homing_inference.catalog.gguf_header import GgufHeader, check_gguf, read_header
from homing_inference.catalog.gguf_types import BLOCKS, FILE_TYPES
from homing_inference.catalog.testing import gguf_bytes
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = gguf_bytes(64, architecture="qwen35", file_type=15)


def read(data: bytes) -> GgufHeader:
    return read_header(io.BytesIO(data), len(data), "model.gguf")


def outcome(data: bytes) -> str:
    """What a person would be told, whichever way it goes."""
    try:
        header = read(data)
    except HomingError as error:
        return str(error)
    assert header.expected_size <= len(data)
    return f"{header.architecture} {header.name} {header.quantization}"


def test_a_whole_file_says_what_it_is() -> None:
    header = read(WHOLE)
    assert header.architecture == "qwen35"
    assert header.quantization == "Q4_K_M"
    assert header.has_chat_template
    assert header.parameters == 64
    assert header.expected_size == len(WHOLE)


def test_agrees_with_the_reference_writer(tmp_path: Path) -> None:
    path = tmp_path / "reference.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("A \x1b[1mname\n of two lines")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)
    writer.add_token_list(["a", "b"])
    writer.add_token_scores([0.0, 1.0])
    writer.add_tensor_info(
        "w", (4, 256), np.dtype(np.float32), 4 * 144, gguf.GGMLQuantizationType.Q4_K
    )
    writer.add_tensor_info("v", (7,), np.dtype(np.float32), 28, gguf.GGMLQuantizationType.F32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    whole = path.read_bytes()
    whole += bytes(-len(whole) % 32) + bytes(4 * 144) + bytes(28)
    path.write_bytes(whole)
    header = check_gguf(path)
    assert header.quantization == "BF16"
    assert header.name == "A [1mname of two lines"
    assert not header.has_chat_template
    assert header.expected_size == len(whole)


def test_knows_every_type_that_the_reference_knows() -> None:
    reference = {int(kind): size for kind, size in gguf.GGML_QUANT_SIZES.items()}
    assert reference == BLOCKS
    names = {
        int(kind): kind.name.removeprefix("MOSTLY_").removeprefix("ALL_")
        for kind in gguf.LlamaFileType
        if kind is not gguf.LlamaFileType.GUESSED
    }
    assert names == FILE_TYPES


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "does not begin as one"),
        (b"PK\x03\x04 a zip file", "does not begin as one"),
        (b"<html>captive portal</html>", "does not begin as one"),
        (b"GGUF" + struct.pack("<I", 1) + bytes(64), "its version is 1"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(64), "big-endian"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 1) + bytes(64), "tensors"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1, 2**60) + bytes(64), "keys"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 0) + bytes(64), "0 tensors"),
    ],
)
def test_what_is_no_usable_gguf_file_is_said_in_one_line(data: bytes, said: str) -> None:
    with pytest.raises(InvalidDataError) as caught:
        read(data)
    assert "model.gguf is not a usable GGUF file" in caught.value.what
    assert said in caught.value.what
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kept", range(4, len(WHOLE), 7))
def test_every_truncation_is_found(kept: int) -> None:
    with pytest.raises(IntegrityError, match="truncated"):
        read(WHOLE[:kept])


@pytest.mark.attack
def test_a_list_of_a_billion_texts_is_refused_at_once() -> None:
    key = struct.pack("<Q", 1) + b"k"
    lists = struct.pack("<IIQ", 9, 8, 10**9)
    with pytest.raises(InvalidDataError, match="list of"):
        read(b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + key + lists + bytes(64))


def test_a_huge_text_is_not_read_into_memory() -> None:
    key = struct.pack("<Q", 12) + b"general.name" + struct.pack("<IQ", 8, 1 << 40)
    with pytest.raises(IntegrityError, match="truncated"):
        read(b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + key + bytes(64))


@given(st.binary(max_size=400))
def test_noise_gives_a_clear_error(noise: bytes) -> None:
    with pytest.raises(HomingError):
        read(noise)


@given(st.binary(max_size=400))
def test_noise_behind_a_good_beginning_never_escapes(noise: bytes) -> None:
    assert outcome(b"GGUF" + struct.pack("<IQQ", 3, 1, 2) + noise).isprintable()


@given(
    st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=6)
)
def test_a_damaged_header_is_read_or_refused(changes: list[tuple[int, int]]) -> None:
    data = bytearray(WHOLE)
    for at, value in changes:
        data[at] = value
    assert outcome(bytes(data)).isprintable()
