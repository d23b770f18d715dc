"""The real stand-ins, as the catalog fetched them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_inference.catalog.gguf_header import check_gguf
from homing_inference.catalog.models import find_model
from homing_inference.catalog.store import Store

if TYPE_CHECKING:
    from pathlib import Path

PHONE = find_model("stand-in-0.5b:q4_k_m")
NODE = find_model("stand-in-0.5b:bf16")


def test_the_phones_stand_in_is_the_pinned_file(stand_in_phone: Path, models_dir: Path) -> None:
    (stored,) = Store(models_dir).installed((PHONE,))
    assert stored.path == stand_in_phone
    assert stored.size == PHONE.size
    assert stored.sha256 == PHONE.sha256
    header = check_gguf(stand_in_phone)
    assert header.quantization == "Q4_K_M"
    assert header.expected_size == PHONE.size
    assert header.has_chat_template


def test_the_nodes_stand_in_is_the_same_model_in_bf16(
    stand_in_phone: Path, stand_in_bf16: Path
) -> None:
    phone, node = check_gguf(stand_in_phone), check_gguf(stand_in_bf16)
    assert node.quantization == "BF16"
    assert node.architecture == phone.architecture
    assert node.parameters == phone.parameters
    assert node.expected_size == stand_in_bf16.stat().st_size
    assert NODE.sha256 == ""
