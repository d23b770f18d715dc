from __future__ import annotations

import re

import pytest
from homing_core.errors import NotFoundError
from homing_inference.catalog.models import (
    CATALOG,
    Converted,
    HubFile,
    WheelParts,
    default_model,
    find_model,
)


def test_names_and_files_are_unique() -> None:
    assert len({entry.name for entry in CATALOG}) == len(CATALOG)
    assert len({entry.file_name.lower() for entry in CATALOG}) == len(CATALOG)


def test_every_stand_in_is_pinned_or_made_from_a_pinned_one() -> None:
    for entry in CATALOG:
        match entry.origin:
            case WheelParts():
                assert entry.stand_in
                assert re.fullmatch(r"[0-9a-f]{64}", entry.sha256)
                assert entry.size > 0
            case Converted(source=source):
                assert find_model(source).sha256
            case HubFile():
                assert not entry.stand_in


def test_a_stand_in_is_never_the_default_unasked() -> None:
    assert default_model("phone", stand_in=False).name == "botpsy-0.8b:q4_k_m"
    assert default_model("node", stand_in=False).name == "botpsy-0.8b:bf16"
    assert default_model("phone", stand_in=True).name == "stand-in-0.5b:q4_k_m"
    assert default_model("node", stand_in=True).name == "stand-in-0.5b:bf16"


def test_a_family_alone_means_the_format_that_suits_the_role() -> None:
    assert find_model("BotPsy-0.8B", "phone").quantization == "Q4_K_M"
    assert find_model("botpsy-0.8b", "node").quantization == "BF16"
    assert find_model("qwen3.5-2b", "node").quantization == "Q4_K_M"


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("botpsi-0.8b", "botpsy-0.8b"),
        ("botpsy-0.8b:q4km", "botpsy-0.8b:q4_k_m"),
        ("qwen3.5:2b", "qwen3.5-2b:q4_k_m"),
        ("minicpm", "minicpm5-1b"),
    ],
)
def test_an_unknown_name_names_close_ones(wrong: str, meant: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        find_model(wrong)
    assert wrong in caught.value.what
    assert meant in caught.value.hint
    assert "homing models" in caught.value.hint


def test_an_unknown_name_cannot_paint_the_terminal() -> None:
    with pytest.raises(NotFoundError) as caught:
        find_model("\x1b[31mred\nsecond line")
    assert str(caught.value).isprintable()
