"""The estimate of a prompt is not below what a real tokenizer makes of it, made-up words aside."""

from __future__ import annotations

import random
import string
import time
from typing import TYPE_CHECKING

import pytest
from homing_node.generations.counting import prompt_tokens, text_tokens
from llama_cpp import Llama
from support.limited import question

if TYPE_CHECKING:
    from pathlib import Path

LENGTH = 1500
ENGLISH = (
    "Remind me tomorrow at half past nine to call the dentist, and find out when the next train "
    "to the mountains leaves. If there are strawberries left, add cream to the shopping list. "
) * 20
CODE = (
    "    for device in devices:\n        if device.owner == owner:\n            yield device\n" * 20
)
ALPHABETS = {
    "digits": string.digits,
    "hex": "0123456789abcdef",
    "base64": string.ascii_letters + string.digits + "+/",
    "letters": string.ascii_letters,
    "lower": string.ascii_lowercase,
    "upper": string.ascii_uppercase,
    "consonants": "bcdfghjklmnpqrstvwxz",
    "marks": string.punctuation,
    "marks and rare letters": "!#$%&*+-/<=>?@^_~|;:qxzjkv",
    "printable": string.printable,
    "spaces": " \n\t",
    "control": "".join(map(chr, range(1, 32))),
    "ideograms": "".join(map(chr, range(0x4E00, 0x9FFF))),
    "cuneiform": "".join(map(chr, range(0x12000, 0x12399))),
    "emoji": "😀🫠🧿🦑",
}
CHOICE = random.Random(7)  # noqa: S311  # the same texts in every run
TEXTS = {
    **{name: "".join(CHOICE.choices(every, k=LENGTH)) for name, every in ALPHABETS.items()},
    "one digit": "7" * LENGTH,
    "one letter": "q" * LENGTH,
    "cases": "aB" * (LENGTH // 2),
    "letters apart": " ".join("q" * LENGTH),
    "english": ENGLISH,
    "code": CODE,
}


@pytest.fixture(scope="module")
def tokenizer(stand_in_phone: Path) -> Llama:
    return Llama(str(stand_in_phone), vocab_only=True, verbose=False)


@pytest.mark.attack
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_no_text_of_one_kind_is_counted_below_what_it_takes(tokenizer: Llama, name: str) -> None:
    text = TEXTS[name]
    taken = len(tokenizer.tokenize(text.encode(), add_bos=False))
    assert text_tokens(text) >= taken


@pytest.mark.parametrize("text", [ENGLISH, CODE], ids=["english", "code"])
def test_what_people_write_is_not_counted_far_above(tokenizer: Llama, text: str) -> None:
    assert text_tokens(text) <= 2.5 * len(tokenizer.tokenize(text.encode(), add_bos=False))


def test_a_long_prompt_is_counted_at_once() -> None:
    began = time.monotonic()
    for text in ("bcdfg" * 200_000, "ab" * 500_000, "a b " * 250_000, "aB1 " * 250_000):
        assert prompt_tokens(question(text)) > len(text) // 8
    assert time.monotonic() - began < 10.0
