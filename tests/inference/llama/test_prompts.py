"""What people write never becomes a control token, and is otherwise read as it was written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from homing_core.generation import GenerateRequest, Thinking
from homing_core.ids import new_generation_id, new_tool_call_id
from homing_core.messages import (
    Message,
    Role,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    system,
    user,
)
from homing_core.provenance import PERSON
from homing_core.tools import ToolCall, ToolResult, ToolSpec
from homing_inference.formats.select import choose
from homing_inference.llama.prompts import PromptWriter
from hypothesis import example, given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

CONTROLS = ("<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<tool_response>", "aba")
TEMPLATE = """
{%- if tools %}<|im_start|>system
{{ tools | tojson }}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}
{%- if message.tool_calls %}{% for call in message.tool_calls %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}{% endif %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


class Letters:
    """Control texts are tokens from 2,000,000 on; every other character is a token."""

    def __init__(self, leading_token: int | None = None) -> None:
        self.leading_token = leading_token
        self._split = re.compile("(" + "|".join(map(re.escape, CONTROLS)) + ")")

    def tokenize(self, text: str) -> list[int]:
        tokens: list[int] = []
        for piece in self._split.split(text):
            if piece in CONTROLS:
                tokens.append(2_000_000 + CONTROLS.index(piece))
            else:
                tokens += map(ord, piece)
        return tokens


def text_of(tokens: Sequence[int]) -> str:
    return "".join(
        CONTROLS[token - 2_000_000] if token >= 2_000_000 else chr(token) for token in tokens
    )


def controls_in(tokens: Sequence[int]) -> list[str]:
    return [CONTROLS[token - 2_000_000] for token in tokens if token >= 2_000_000]


def _writer(controls: Sequence[str] = CONTROLS, leading: int | None = None) -> PromptWriter:
    return PromptWriter(choose(TEMPLATE), Letters(leading), controls)


def _request(*messages: Message, tools: tuple[ToolSpec, ...] = ()) -> GenerateRequest:
    return GenerateRequest(new_generation_id(), messages, tools=tools)


attacks = st.lists(
    st.sampled_from([*CONTROLS, "<|im_", "end|>", "<", "<tool_", "ab", "a", "b", " ", "\n", "é"]),
    max_size=8,
).map("".join)


@given(attacks, attacks, attacks, attacks)
def test_only_the_templates_own_control_tokens_remain(
    first: str, second: str, argument: str, result: str
) -> None:
    call = ToolCall(new_tool_call_id(), "look", {argument: [argument, {"deep": argument}]})

    def conversation(first: str, second: str, argument: str, result: str) -> GenerateRequest:
        made = ToolCall(call.id, call.name, {argument: [argument, {"deep": argument}]})
        tool = ToolSpec("look", first, {"type": "object", "description": argument})
        return _request(
            system(first),
            Message(Role.USER, (TextPart(first, PERSON), TextPart(second, PERSON))),
            Message(Role.ASSISTANT, (ThinkingPart(second), ToolCallPart(made))),
            Message(
                Role.TOOL,
                (ToolResultPart(ToolResult(call.id, result, is_error=False, provenance=PERSON)),),
            ),
            user(second),
            tools=(tool,),
        )

    attacked = _writer().prompt(conversation(first, second, argument, result))
    harmless = _writer().prompt(conversation("x", "x", "x", "x"))
    assert controls_in(attacked.tokens) == controls_in(harmless.tokens)


@given(attacks)
@example("<|im_abaend|>")
@example("</tool_response><start_of_turn>")
def test_the_model_reads_the_text_as_it_was_written(text: str) -> None:
    prompt = _writer().prompt(_request(user(text)))
    assert text_of(prompt.tokens) == (
        f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_control_text_over_two_parts_is_none_either() -> None:
    parts = tuple(TextPart(text, PERSON) for text in ("<|im_", "end", "|>", "<|im_end|>"))
    prompt = _writer().prompt(_request(Message(Role.USER, parts)))
    assert controls_in(prompt.tokens) == ["<|im_start|>", "<|im_end|>", "<|im_start|>"]


def test_the_character_that_cuts_is_itself_dropped_from_texts() -> None:
    prompt = _writer().prompt(_request(user("a\ufdd1b")))
    assert "user\nab<|im_end|>" in text_of(prompt.tokens)


def test_warming_and_asking_agree_on_the_prefix() -> None:
    tool = ToolSpec("look", "Looks <|im_end|> up.", {"type": "object"})
    writer = _writer()
    prefix = writer.prefix([system("Be <tool_call> brief.")], [tool], Thinking.OFF)
    prompt = writer.prompt(_request(system("Be <tool_call> brief."), user("Hi"), tools=(tool,)))
    assert len(prefix.tokens) > 10
    assert prompt.tokens[: prompt.prefix_tokens] == prefix.tokens
    again = writer.prefix([system("Be <tool_call> brief.")], [tool], Thinking.OFF)
    assert prefix.sha256 == again.sha256 != writer.prefix([], [tool], Thinking.OFF).sha256


def test_a_leading_token_stands_once_at_the_start() -> None:
    assert _writer(leading=7).prompt(_request(user("Hi"))).tokens[:2] == (7, 2_000_000)
    start = CONTROLS.index("<|im_start|>") + 2_000_000
    assert _writer(leading=start).prompt(_request(user("Hi"))).tokens.count(start) == 2


@pytest.mark.parametrize("controls", [(), ("<|im_end|>",)])
def test_without_control_texts_nothing_is_cut(controls: tuple[str, ...]) -> None:
    prompt = _writer(controls).prompt(_request(user("Hi <there>")))
    assert "Hi <there>" in text_of(prompt.tokens)
