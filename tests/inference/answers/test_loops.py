"""A call that says the same over and over is cut short; nothing else is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from homing_core.generation import FinishReason, GenerateRequest
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_core.tools import ToolSpec
from homing_inference.answers.loops import LEAST, LONGEST, TIMES, LoopWatch
from homing_inference.answers.prompts import TokenizedPrompt
from homing_inference.answers.run import RunMaker
from homing_inference.formats.select import choose
from hypothesis import given
from hypothesis import strategies as st
from support.fake_sequences import SIZE, ByteVocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable

TEMPLATE = "{% if tools %}<tool_call>{{ tools }} arguments{% endif %}{{ messages }}"
NOTE = ToolSpec(
    "save_note", "Save.", {"type": "object", "properties": {"text": {"type": "string"}}}
)
OPENING = '<tool_call>\n{"name": "save_note", "arguments": {"text": "'


def cut_at(tokens: Iterable[int]) -> int:
    """How many tokens were taken when it was noticed; 0 if it was not."""
    watch = LoopWatch()
    return next((at for at, token in enumerate(tokens, 1) if watch.add(token)), 0)


def written(text: str) -> tuple[int, FinishReason | None]:
    """Tokens, which are bytes here, until the answer ends."""
    request = GenerateRequest(new_generation_id(), (user("Note it."),), tools=(NOTE,))
    prompt = TokenizedPrompt((1, 2, 3), 0, starts_in_thinking=False)
    (run,) = RunMaker(choose(TEMPLATE), ByteVocabulary()).runs(request, prompt, 100_000)
    for token in text.encode():
        scores = np.zeros(SIZE, np.float32)
        scores[token] = 20
        step = run.advance(scores)
        if step.reason is not None:
            return run.written, step.reason
    return run.written, None


@given(st.lists(st.integers(0, 5), max_size=300), st.lists(st.integers(6, 99), min_size=1))
def test_a_piece_that_is_repeated_is_noticed_within_its_bound(
    before: list[int], piece: list[int]
) -> None:
    noticed = cut_at([*before, *(piece * 200)]) - len(before)
    if len(piece) <= LONGEST:
        assert 0 < noticed <= max(LEAST, len(piece) * TIMES)


@given(st.lists(st.integers(0, 1), max_size=LEAST - 1))
def test_what_is_short_is_never_a_loop(tokens: list[int]) -> None:
    assert cut_at(tokens) == 0


def test_data_that_repeats_a_piece_a_few_times_is_none() -> None:
    row = [*range(40)]
    assert cut_at(row * (TIMES - 1)) == 0
    assert cut_at(row * TIMES) == len(row) * TIMES


@pytest.mark.parametrize("piece", ["la ", "and then ", "x", "buy milk, call Ann, "])
def test_a_call_in_a_loop_is_cut_short(piece: str) -> None:
    tokens, reason = written(OPENING + piece * 2000)
    assert reason is FinishReason.LENGTH
    assert tokens < len(OPENING) + 200


def test_prose_may_repeat_itself_also_behind_a_call() -> None:
    call = OPENING + 'a"}}\n</tool_call>\n'
    for text in ("la la " * 500, call + "la la " * 500, "<tool_call>no call " + "la la " * 500):
        assert written(text) == (len(text), None)
