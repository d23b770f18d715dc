"""Many requests at once on a real context, of a hybrid model: each answer is what it is alone."""

from __future__ import annotations

import dataclasses
import itertools
import random
import time
from typing import TYPE_CHECKING

import pytest
from homing_core.generation import (
    Done,
    Failed,
    FinishReason,
    GenerateRequest,
    Sampled,
    Sampling,
    TextDelta,
    Thinking,
    TokenLogprobs,
)
from homing_core.ids import new_generation_id
from homing_core.messages import system, user
from homing_inference.engine import WarmedPrefix
from homing_inference.formats.select import choose
from homing_inference.llama.model import LoadedModel
from homing_inference.llama.sequences import BATCH_TOKENS, Sequences
from homing_inference.scheduler.opening import open_scheduler
from homing_inference.scheduler.settings import EngineSettings
from support.engines import substance, usage_of
from support.fake_sequences import step_all

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping
    from collections.abc import Sequence as ListOf
    from pathlib import Path

    import numpy as np
    from homing_core.errors import HomingError
    from homing_core.generation import GenerationEvent, TokenLogprob
    from homing_inference.scheduler.scheduler import Scheduler
    from numpy.typing import NDArray

SYSTEM = system("You are a helpful assistant. " * 4)
BOUND = 0.05
"""Log-probabilities nearer than this may change places between batch shapes."""


@pytest.fixture(scope="module")
def scheduler(tiny_qwen35: Path) -> Generator[Scheduler]:
    model = LoadedModel(tiny_qwen35)
    facts = model.facts
    chat = choose(facts.template, facts.bos, facts.eos, facts.architecture)
    opened = open_scheduler(model, chat, EngineSettings(context_tokens=1024, threads=1))
    yield opened
    opened.close()
    opened.close()


def _ask(words: str, max_tokens: int, **changes: object) -> GenerateRequest:
    return GenerateRequest(
        new_generation_id(),
        (SYSTEM, user(words)),
        sampling=Sampling(max_tokens=max_tokens),
        logprobs=2,
        **changes,  # type: ignore[arg-type]
    )


def _submit(scheduler: Scheduler, request: GenerateRequest) -> list[GenerationEvent]:
    events: list[GenerationEvent] = []
    scheduler.submit(request, events.append)
    return events


def _tokens(events: ListOf[GenerationEvent]) -> list[TokenLogprob]:
    return [token for event in events if isinstance(event, TokenLogprobs) for token in event.tokens]


def _same_but_for_ties(one: ListOf[TokenLogprob], other: ListOf[TokenLogprob]) -> None:
    """Both wrote the same, up to the first place where two tokens were as good as equal."""
    for left, right in zip(one, other, strict=False):
        if left.text != right.text or left.top[0][0] != right.top[0][0]:
            assert left.top[0][1] - left.top[1][1] < BOUND
            return
        assert left.logprob == pytest.approx(right.logprob, abs=BOUND)


@pytest.mark.parametrize("seed", range(3))
def test_eight_at_once_with_cancels_and_deadlines_write_what_they_write_alone(
    scheduler: Scheduler, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311  # a test's own dice
    requests = [
        _ask(
            chance.choice(["river ", "stone "]) * chance.randint(1, 90),
            chance.randint(1, 40),
            owner=chance.choice("ab"),
            deadline_ms=chance.choice([0, 0, 0, 60]),
        )
        for _ in range(8)
    ]
    streams = {request.id: (request, _submit(scheduler, request)) for request in requests}
    cancelled = {request.id for request in requests if chance.random() < 0.2}
    for number in cancelled:
        for _ in range(chance.randint(0, 15)):
            scheduler.step()
        scheduler.cancel(number)
    step_all(scheduler)
    for number, (request, events) in streams.items():
        last = events[-1]
        if number in cancelled:
            assert isinstance(last, Done)
        elif not request.deadline_ms:
            assert last == Done(FinishReason.LENGTH)
        else:
            assert isinstance(last, Done | Failed)
        alone = dataclasses.replace(request, id=new_generation_id(), deadline_ms=0, owner="c")
        _same_but_for_ties(_tokens(events), _tokens(list(scheduler.generate(alone))))
    assert scheduler.state.running == scheduler.state.waiting == 0


def test_samples_are_what_they_are_one_by_one(scheduler: Scheduler) -> None:
    request = dataclasses.replace(
        _ask("Draw", 12, samples=3), sampling=Sampling(temperature=0.7, seed=5, max_tokens=12)
    )
    events = list(scheduler.generate(request))
    for sample in (1, 2, 3):
        own = [e.event for e in events if isinstance(e, Sampled) and e.sample == sample]
        alone = dataclasses.replace(
            request,
            id=new_generation_id(),
            samples=1,
            sampling=dataclasses.replace(request.sampling, seed=4 + sample),
        )
        single = list(scheduler.generate(alone))
        # The first token comes from the very same scores.
        assert _tokens(own)[0].text == _tokens(single)[0].text
        assert own[-1] == single[-1]


def test_the_same_request_gets_the_same_answer_to_the_last_bit(scheduler: Scheduler) -> None:
    request = _ask("Name three rivers " * 5, 24)
    first = list(scheduler.generate(request))
    list(scheduler.generate(_ask("Something else", 10)))
    again = list(scheduler.generate(dataclasses.replace(request, id=new_generation_id())))
    assert substance(first) == substance(again)


def test_a_stream_goes_on_while_a_long_prompt_is_admitted(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[tuple[str, int]] = []
    compute = Sequences.prefill_many

    def logged(
        self: Sequences, parts: Mapping[int, ListOf[int]], *, scores_at: Collection[int] = ()
    ) -> dict[int, NDArray[np.float32]]:
        count = sum(map(len, parts.values()))
        log.append(("step" if count == len(parts) else "prefill", count))
        return compute(self, parts, scores_at=scores_at)

    monkeypatch.setattr(Sequences, "prefill_many", logged)
    request = _ask("short", 400)
    stream = _submit(scheduler, request)
    while not any(isinstance(event, TextDelta) for event in stream):
        scheduler.step()
    log.clear()
    long = _submit(scheduler, _ask("river " * 120, 2))
    while not long:
        scheduler.step()
    scheduler.cancel(request.id)
    step_all(scheduler)
    assert [kind for kind, _ in log].count("prefill") > 2
    # In one slot a full batch is followed by the end of the prompt at most.
    assert not any(
        first[0] == "prefill" and second == ("prefill", BATCH_TOKENS)
        for first, second in itertools.pairwise(log)
    )


def test_warming_twice_computes_once(scheduler: Scheduler) -> None:
    told: list[WarmedPrefix | HomingError] = []
    for words in ("Be brief.", "Be brief.", "Be kind."):
        scheduler.warm([system(words)], (), Thinking.OFF, told.append)
        step_all(scheduler)
    first, second, other = told
    assert isinstance(first, WarmedPrefix)
    assert isinstance(other, WarmedPrefix)
    assert first == second
    assert first.tokens > 10
    assert other.sha256 != first.sha256
    asked = GenerateRequest(
        new_generation_id(),
        (system("Be kind."), user("Hi")),
        sampling=Sampling(max_tokens=2),
    )
    assert usage_of(list(scheduler.generate(asked))).cached_tokens == other.tokens


def test_a_model_without_a_system_message_has_an_empty_prefix(scheduler: Scheduler) -> None:
    told: list[WarmedPrefix | HomingError] = []
    scheduler.warm([], (), Thinking.OFF, told.append)
    assert isinstance(told[0], WarmedPrefix)
    assert told[0].tokens == 0
    assert len(told[0].sha256) == 64


def test_a_deadline_counts_from_when_the_request_came_in(scheduler: Scheduler) -> None:
    events: list[GenerationEvent] = []
    scheduler.submit(_ask("Hi", 5, deadline_ms=1000), events.append, taken_at=time.monotonic() - 2)
    step_all(scheduler)
    assert isinstance(events[-1], Failed)
    assert "1000 ms" in events[-1].what
