"""One answer: seeds, forced tokens, thinking budgets, log-probabilities, ends."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from homing_core.generation import (
    FinishReason,
    GenerateRequest,
    Sampling,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TokenLogprobs,
)
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_inference.answers.prompts import TokenizedPrompt
from homing_inference.answers.run import FreeGuard, Run, RunMaker
from homing_inference.answers.thinking import CLOSING, ThinkingWatch
from homing_inference.formats.select import choose
from hypothesis import given
from hypothesis import strategies as st
from support.fake_sequences import END, SIZE, THINK_END, ByteVocabulary, toy_scores

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_core.generation import SampleEvent
    from homing_inference.answers.choosing import Choice, Chooser
    from numpy.typing import NDArray

VOCABULARY = ByteVocabulary()
CHAT = choose("", eos="<|im_end|>")


def _request(**changes: object) -> GenerateRequest:
    return GenerateRequest(new_generation_id(), (user("Hi"),), **changes)  # type: ignore[arg-type]


def _runs(
    request: GenerateRequest,
    *,
    room: int = 100,
    thinking: bool = False,
    guards: list[_Recorder] | None = None,
) -> list[Run]:
    def guard(_request: GenerateRequest, _prompt: TokenizedPrompt) -> _Recorder:
        made = _Recorder()
        if guards is not None:
            guards.append(made)
        return made

    prompt = TokenizedPrompt((1, 2, 3), 0, starts_in_thinking=thinking)
    return RunMaker(CHAT, VOCABULARY, guard).runs(request, prompt, room)


class _Recorder(FreeGuard):
    """Remembers what was forced and what was chosen."""

    def __init__(self) -> None:
        self.forced: list[int] = []
        self.chosen: list[int] = []

    def choose(self, chooser: Chooser, scores: NDArray[np.float32]) -> Choice:
        choice = super().choose(chooser, scores)
        self.chosen.append(choice.token)
        return choice

    def force(self, token: int) -> None:
        self.forced.append(token)


def _towards(token: int) -> NDArray[np.float32]:
    scores = np.zeros(SIZE, np.float32)
    scores[token] = 20
    return scores


def _write(
    run: Run, tokens: Iterable[int]
) -> tuple[list[int], list[SampleEvent], FinishReason | None]:
    """Lead it to these tokens; what it wrote, its events, and how it ended."""
    events: list[SampleEvent] = []
    written: list[int] = []
    for token in tokens:
        step = run.advance(_towards(token))
        written.append(run.token)
        events += step.events
        if step.reason is not None:
            return written, events, step.reason
    return written, events, None


def _text(events: Iterable[SampleEvent], kind: type[TextDelta | ThinkingDelta] = TextDelta) -> str:
    return "".join(event.text for event in events if isinstance(event, kind))


def test_an_answer_ends_with_its_turn_its_room_or_a_stop_string() -> None:
    (run,) = _runs(_request())
    _, events, reason = _write(run, [*b"Hello", END])
    assert (_text(events), reason) == ("Hello", FinishReason.STOP)
    (run,) = _runs(_request(), room=3)
    _, events, reason = _write(run, b"Hello")
    assert (_text(events), reason) == ("Hel", FinishReason.LENGTH)
    (run,) = _runs(_request(sampling=Sampling(stop=("ll",))))
    written, events, reason = _write(run, b"Hello")
    assert (_text(events), reason) == ("He", FinishReason.STOP)
    assert len(written) == run.written == 4


def test_room_counts_down() -> None:
    (run,) = _runs(_request(), room=5)
    assert run.room == 5
    _write(run, b"ab")
    assert run.room == 3


@given(st.integers(1, 1 << 40))
def test_samples_have_seeds_in_a_row(seed: int) -> None:
    def drawn(run: Run) -> list[int]:
        return [_advanced(run, index) for index in range(6)]

    sampling = Sampling(temperature=1.0, seed=seed)
    first, second = map(drawn, _runs(_request(sampling=sampling, samples=2)))
    (alone,) = _runs(_request(sampling=Sampling(temperature=1.0, seed=seed + 1)))
    assert second == drawn(alone)
    assert first == drawn(_runs(_request(sampling=sampling))[0])


def _advanced(run: Run, index: int) -> int:
    scores = toy_scores((index,))
    scores[END] = -50
    run.advance(scores)
    return run.token


def test_samples_without_a_seed_differ() -> None:
    runs = _runs(_request(sampling=Sampling(temperature=5.0), samples=8))
    assert len({tuple(_advanced(run, index) for index in range(8)) for run in runs}) > 1


# Thinking


def test_a_think_block_is_closed_when_its_budget_is_used() -> None:
    guards: list[_Recorder] = []
    request = _request(thinking=Thinking.ON, thinking_budget=4)
    (run,) = _runs(request, thinking=True, guards=guards)
    closing = VOCABULARY.tokenize(CLOSING)
    written, events, _ = _write(run, b"hmm " + b"x" * len(closing) + b"Paris")
    assert written == [*b"hmm ", *closing, *b"Paris"]
    assert guards[0].forced == closing
    assert guards[0].chosen == [*b"hmm ", *b"Paris"]
    assert _text(events, ThinkingDelta).strip() == "hmm"
    assert _text(events).strip() == "Paris"


def test_a_model_that_closes_its_block_in_time_is_left_alone() -> None:
    guards: list[_Recorder] = []
    request = _request(thinking=Thinking.ON, thinking_budget=4)
    (run,) = _runs(request, thinking=True, guards=guards)
    tokens = [*b"hm", THINK_END, *b"\n\nParis, France"]
    written, events, _ = _write(run, tokens)
    assert written == tokens
    assert guards[0].forced == []
    assert _text(events).strip() == "Paris, France"


def test_without_a_budget_thinking_has_no_end() -> None:
    guards: list[_Recorder] = []
    (run,) = _runs(_request(thinking=Thinking.ON), thinking=True, guards=guards)
    written, events, _ = _write(run, b"x" * 60)
    assert written == list(b"x" * 60)
    assert guards[0].forced == []
    assert _text(events) == ""


def test_the_budget_also_holds_for_a_block_that_the_model_opens() -> None:
    (run,) = _runs(_request(thinking_budget=3))
    closing = VOCABULARY.tokenize(CLOSING)
    opening = VOCABULARY.tokenize("\n<think>")
    written, _, _ = _write(run, [*opening, *b"abc", *b"x" * len(closing), *b"yes"])
    assert written == [*opening, *b"abc", *closing, *b"yes"]


@given(st.integers(1, 20), st.text(max_size=40), st.integers(1, 5))
def test_a_watch_sees_marks_however_they_are_cut(budget: int, thought: str, step: int) -> None:
    raw = thought.encode().replace(b"<", b"(")
    text = b" <think>" + raw + b"</think>" + b"x" * budget
    watch = ThinkingWatch(inside=False)
    for start in range(0, len(text), step):
        watch.feed(text[start : start + step])
    assert not watch.inside
    assert watch.tokens <= -(-(len(raw) + len("</think>")) // step) + 1
    later = watch.tokens
    watch.feed(b"<think>")
    assert (watch.inside, watch.tokens) == (False, later)


def test_words_before_a_mark_make_it_text() -> None:
    watch = ThinkingWatch(inside=False)
    for piece in (b"I write ", b"<think>", b"like this"):
        watch.feed(piece)
    assert not watch.inside


# Log-probabilities


@given(st.integers(1, 20), st.integers(0, 1000))
def test_logprobs_are_those_of_the_model_and_come_before_their_text(count: int, salt: int) -> None:
    (run,) = _runs(_request(logprobs=count, sampling=Sampling(temperature=1.0, seed=7)))
    scores = toy_scores((salt,))
    scores[END] = -50
    before = scores.copy()
    step = run.advance(scores)
    assert (scores == before).all()
    exact = scores.astype(np.float64) - math.log(np.exp(scores.astype(np.float64)).sum())
    first = step.events[0]
    assert isinstance(first, TokenLogprobs)
    (told,) = first.tokens
    assert told.logprob == pytest.approx(exact[run.token], abs=1e-4)
    assert [value for _, value in told.top] == pytest.approx(
        sorted(exact, reverse=True)[:count], abs=1e-4
    )


def test_a_token_that_is_part_of_a_character_has_a_text_too() -> None:
    (run,) = _runs(_request(logprobs=1))
    step = run.advance(_towards("ä".encode()[0]))
    assert isinstance(step.events[0], TokenLogprobs)
    assert step.events[0].tokens[0].text == "\ufffd"


def test_the_end_of_a_turn_is_no_token_of_the_answer() -> None:
    (run,) = _runs(_request(logprobs=2))
    _, events, reason = _write(run, [*b"ab", END])
    assert reason is FinishReason.STOP
    assert sum(isinstance(event, TokenLogprobs) for event in events) == 2
    assert run.written == 2
