"""The format follows from the GGUF's own template."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_core.errors import InvalidDataError
from homing_core.generation import Thinking
from homing_core.messages import system, user
from homing_inference.formats.select import choose
from llama_cpp import Llama
from support.answers import tool
from support.templates import HERMES, PLAIN

if TYPE_CHECKING:
    from pathlib import Path


def test_each_template_gets_its_format(qwen35_chat_template: str) -> None:
    assert choose(qwen35_chat_template).name == "qwen35-xml"
    assert choose(HERMES).name == "hermes-json"
    assert choose(PLAIN).name == "plain"


def test_the_real_stand_in_speaks_hermes(stand_in_phone: Path) -> None:
    facts = Llama(str(stand_in_phone), vocab_only=True, verbose=False).metadata
    chat = choose(facts["tokenizer.chat_template"], "", "<|im_end|>", facts["general.architecture"])
    prompt = chat.render([system("Be brief."), user("Hi")], [tool("note")], Thinking.OFF)
    assert chat.name == "hermes-json"
    assert not chat.can_think
    assert chat.stop == ("<|im_end|>",)
    assert '"name": "note"' in prompt.text[: prompt.prefix_length]
    assert prompt.text[prompt.prefix_length :].startswith("<|im_start|>user\nHi<|im_end|>\n")


@pytest.mark.parametrize("template", [None, "", "  \n"])
def test_a_model_without_a_template_still_talks(template: str | None) -> None:
    asked = [system("Be brief."), user("Hi")]
    turns = choose(template, eos="<|im_end|>")
    assert turns.render(asked, (), Thinking.OFF).text == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert choose(template, architecture="qwen2").stop == ("<|im_end|>",)
    labels = choose(template, "<s>", "</s>")
    assert labels.render(asked, (), Thinking.OFF).text == ("<s>Be brief.\n\nUser: Hi\n\nAssistant:")
    assert labels.stop == ("\nUser:",)


def test_a_broken_template_is_an_error() -> None:
    with pytest.raises(InvalidDataError, match="chat template"):
        choose("{% if %}")


def test_stop_strings_are_those_that_the_template_writes(qwen35_chat_template: str) -> None:
    assert choose(qwen35_chat_template).stop == ("<|im_end|>",)
    assert choose(PLAIN).stop == ("<end_of_turn>",)
