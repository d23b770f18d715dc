"""Many requests at once, on a toy language: order, capacity, cancelling, deadlines, faults."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import HomingError, OverloadedError
from homing_core.generation import (
    Done,
    Failed,
    FinishReason,
    GenerateRequest,
    Priority,
    Sampled,
    Sampling,
    TextDelta,
    Thinking,
    Usage,
)
from homing_core.ids import new_generation_id
from homing_core.messages import assistant, system, user
from homing_core.scoring import ScoreRequest, ToolScores
from homing_core.tools import ToolSpec
from homing_inference.engine import WarmedPrefix
from homing_inference.formats.select import choose
from homing_inference.machine.sizes import PINNED_PREFIXES
from homing_inference.scheduler.pace import Pace
from hypothesis import given, settings
from hypothesis import strategies as st
from support.engines import TOOLS as ONE_TOOL
from support.engines import substance, text_of, usage_of
from support.fake_sequences import (
    END,
    FakeSequences,
    FakeThreads,
    broken_computation,
    fake_scheduler,
    step_all,
)
from support.templates import HERMES

if TYPE_CHECKING:
    from homing_core.generation import GenerationEvent
    from homing_inference.scheduler.scheduler import Scheduler

TOOLS = (*ONE_TOOL, ToolSpec("set_alarm", "Rings.", {}), ToolSpec("play", "Plays.", {}))
SYSTEM = system("You are brief.")


def _ask(words: str = "Hi", max_tokens: int = 12, **changes: object) -> GenerateRequest:
    return GenerateRequest(
        new_generation_id(),
        (SYSTEM, user(words)),
        sampling=Sampling(max_tokens=max_tokens),
        **changes,  # type: ignore[arg-type]
    )


def _submit(scheduler: Scheduler, request: GenerateRequest) -> list[GenerationEvent]:
    events: list[GenerationEvent] = []
    scheduler.submit(request, events.append)
    return events


def _endless(memory: FakeSequences) -> None:
    memory.script = lambda _: ord("x")


def _fresh(request: GenerateRequest) -> GenerateRequest:
    return dataclasses.replace(request, id=new_generation_id())


def _pinned(scheduler: Scheduler) -> int:
    return len(scheduler.state.warm)


def test_an_answer_ends_once_with_its_usage_before() -> None:
    scheduler, memory = fake_scheduler()
    events = list(scheduler.generate(_ask()))
    assert isinstance(events[-1], Done)
    usage = usage_of(events)
    assert events[-2] == usage
    assert 0 < usage.completion_tokens <= 12
    assert sum(len(computed.rows) for computed in memory.log if not computed.prefill) >= 1
    assert not scheduler.step()


def test_several_answers_share_every_step() -> None:
    scheduler, memory = fake_scheduler()
    _endless(memory)
    streams = [_submit(scheduler, _ask(f"Question {number}", 80)) for number in range(4)]
    step_all(scheduler)
    assert all(isinstance(events[-1], Done) for events in streams)
    assert max(len(computed.rows) for computed in memory.log) == 4
    assert scheduler.state.running == scheduler.state.waiting == 0
    assert len(memory.open_ids) == _pinned(scheduler)


def test_the_same_request_gets_the_same_answer_whatever_ran_between() -> None:
    scheduler, _ = fake_scheduler()
    first = list(scheduler.generate(_ask("Name three rivers")))
    list(scheduler.generate(_ask("Something else")))
    again = list(scheduler.generate(_ask("Name three rivers")))
    assert substance(first) == substance(again)
    assert usage_of(again).cached_tokens == scheduler.state.warm[0].tokens


@pytest.mark.parametrize("can_rewind", [True, False])
def test_a_second_turn_computes_only_what_is_new(can_rewind: bool) -> None:  # noqa: FBT001  # pytest gives it
    scheduler, memory = fake_scheduler(can_rewind=can_rewind)
    memory.script = lambda tokens: END if tokens[-1:] == (ord("x"),) else ord("x")
    asked = _ask("Name three rivers", owner="phone")
    first = list(scheduler.generate(asked))
    following = dataclasses.replace(
        _fresh(asked), messages=(*asked.messages, assistant(text_of(first)), user("And lakes?"))
    )
    usage = usage_of(list(scheduler.generate(following)))
    # Where the state of a whole answer cannot be cut, its opening and words are computed again.
    again = 0 if can_rewind else len("<assistant\n")
    assert usage.cached_tokens >= usage_of(first).prompt_tokens - again
    # Somebody else's question of the same words gets nothing from that conversation.
    other = dataclasses.replace(_fresh(following), owner="tablet")
    assert usage_of(list(scheduler.generate(other))).cached_tokens == (
        scheduler.state.warm[0].tokens
    )


def test_a_person_overtakes_waiting_jobs() -> None:
    scheduler, memory = fake_scheduler(max_sequences=2)
    _endless(memory)
    ends: list[str] = []

    def submit(name: str, priority: Priority) -> None:
        scheduler.submit(
            _ask(name, 5, priority=priority),
            lambda event: ends.append(name) if isinstance(event, Done) else None,
        )

    for name in ("job 1", "job 2", "job 3"):
        submit(name, Priority.JOB)
    submit("person", Priority.INTERACTIVE)
    step_all(scheduler)
    assert ends[0] == "person"
    assert ends[1:] == ["job 1", "job 2", "job 3"]


def test_jobs_leave_a_sequence_to_persons() -> None:
    scheduler, memory = fake_scheduler(max_sequences=3)
    _endless(memory)
    for number in range(5):
        _submit(scheduler, _ask(f"job {number}", 50, priority=Priority.JOB))
    for _ in range(20):
        scheduler.step()
    assert scheduler.state.running == 2
    events = _submit(scheduler, _ask("person", 2))
    for _ in range(6):
        scheduler.step()
    assert isinstance(events[-1], Done)


def test_a_stream_goes_on_while_a_long_prompt_is_admitted() -> None:
    scheduler, memory = fake_scheduler()
    _endless(memory)
    stream = _submit(scheduler, _ask("short", 500))
    while not any(isinstance(event, TextDelta) for event in stream):
        scheduler.step()
    (running,) = {sequence for computed in memory.log[-1:] for sequence in computed.rows}
    long = _submit(scheduler, _ask("river " * 60, 4))
    memory.log.clear()
    while not long:
        scheduler.step()
    chunks = [computed for computed in memory.log if computed.prefill]
    assert len(chunks) > 3
    for first, second in zip(memory.log, memory.log[1:], strict=False):
        # Only the end of a prompt, or of what is kept of it, may still follow in the same slot.
        assert not (first.prefill and sum(second.rows.values()) == memory.batch_tokens)
        assert first.prefill or running in first.rows


def test_without_streams_a_prompt_is_computed_in_full_batches() -> None:
    scheduler, memory = fake_scheduler()
    list(scheduler.generate(_ask("river " * 60, 2)))
    sizes = [size for computed in memory.log if computed.prefill for size in computed.rows.values()]
    assert sizes.count(memory.batch_tokens) >= len(sizes) - 4


# Cancelling and deadlines


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 6, 12, 20])
def test_cancelling_frees_the_sequence_before_the_next_computation(steps: int) -> None:
    scheduler, memory = fake_scheduler()
    _endless(memory)
    request = _ask("river " * 30, 100)
    events = _submit(scheduler, request)
    other = _submit(scheduler, _ask("other", 60))
    for _ in range(steps):
        scheduler.step()
    scheduler.cancel(request.id)
    assert events[-1] == Done(FinishReason.CANCELLED)
    computed, told = len(memory.log), len(events)
    held = len(memory.open_ids) - _pinned(scheduler)
    assert held <= 1
    step_all(scheduler)
    assert len(events) == told
    assert isinstance(other[-1], Done)
    assert other[-1] == Done(FinishReason.LENGTH)
    assert len(memory.log) >= computed
    scheduler.cancel(request.id)
    assert len(events) == told


def test_closing_the_iterator_cancels() -> None:
    scheduler, memory = fake_scheduler()
    _endless(memory)
    events = scheduler.generate(_ask("Go on", 100))
    next(events)
    events.close()  # type: ignore[attr-defined]
    assert scheduler.state.running == 0
    assert not scheduler.step()


@pytest.mark.parametrize("steps", [0, 3, 12])
def test_a_deadline_counts_from_when_the_request_came_in(steps: int) -> None:
    scheduler, memory = fake_scheduler()
    _endless(memory)
    events: list[GenerationEvent] = []
    scheduler.submit(
        _ask("Go on", 500, deadline_ms=3_600_000), events.append, taken_at=time.monotonic()
    )
    for _ in range(steps):
        scheduler.step()
    late = time.monotonic() + 3601
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(time, "monotonic", lambda: late)
        step_all(scheduler)
    last = events[-1]
    assert isinstance(last, Failed)
    assert (last.code, last.retryable) == ("unavailable", True)
    assert "3600000 ms" in last.what
    assert bool(text_of(events)) == (steps == 12)
    assert len(memory.open_ids) == _pinned(scheduler)


def test_a_request_that_comes_in_too_late_is_not_computed() -> None:
    scheduler, memory = fake_scheduler()
    events: list[GenerationEvent] = []
    scheduler.submit(_ask(deadline_ms=10), events.append, taken_at=time.monotonic() - 1)
    step_all(scheduler)
    assert isinstance(events[-1], Failed)
    assert memory.log == []


# What is refused


def test_a_full_queue_says_when_to_try_again() -> None:
    scheduler, _ = fake_scheduler(max_sequences=1, max_waiting=2)
    list(scheduler.generate(_ask()))
    for _ in range(3):  # one of them can run at once
        _submit(scheduler, _ask())
    (failed,) = _submit(scheduler, _ask())
    assert isinstance(failed, Failed)
    assert failed.code == "overloaded"
    assert 200 <= failed.retry_after_ms <= 60_000
    assert failed.retryable
    told: list[WarmedPrefix | HomingError] = []
    scheduler.warm([SYSTEM], (), Thinking.OFF, told.append)
    assert isinstance(told[0], OverloadedError)
    step_all(scheduler)
    assert isinstance(list(scheduler.generate(_ask()))[-1], Done)


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (_ask("river " * 2000), "too_long"),
        (_ask(max_context_tokens=20), "too_long"),
        (_ask(samples=0), "usage"),
        (_ask(samples=5), "usage"),
        (_ask(samples=4, priority=Priority.JOB), "usage"),
        (_ask(logprobs=-1), "usage"),
        (_ask(logprobs=21), "usage"),
        (_ask(adapter="unknown"), "not_found"),
        (dataclasses.replace(_ask(), sampling=Sampling(temperature=-1.0)), "usage"),
    ],
)
def test_what_can_never_be_answered_fails_at_once(request_: GenerateRequest, code: str) -> None:
    scheduler, memory = fake_scheduler()
    events = _submit(scheduler, _fresh(request_))
    step_all(scheduler)
    (failed,) = events
    assert isinstance(failed, Failed)
    assert failed.code == code
    assert not failed.retryable
    assert memory.log == []


def test_an_id_that_is_being_answered_is_refused_and_the_first_goes_on() -> None:
    scheduler, _ = fake_scheduler()
    request = _ask()
    first = _submit(scheduler, request)
    (failed,) = _submit(scheduler, request)
    assert isinstance(failed, Failed)
    assert failed.code == "conflict"
    step_all(scheduler)
    assert isinstance(first[-1], Done)


# Memory


def test_a_request_that_fits_but_not_now_waits_for_its_room() -> None:
    memory = FakeSequences(sequences=8, cells=500, context_tokens=500)
    scheduler, _ = fake_scheduler(memory)
    _endless(memory)
    streams = [_submit(scheduler, _ask(f"Question {number}", 300)) for number in range(3)]
    step_all(scheduler)
    for events in streams:
        assert events[-1] == Done(FinishReason.LENGTH)
    assert max(len(computed.rows) for computed in memory.log) == 1


def test_no_limit_means_what_the_context_allows() -> None:
    memory = FakeSequences(sequences=8, cells=300, context_tokens=300)
    scheduler, _ = fake_scheduler(memory)
    _endless(memory)
    events = list(scheduler.generate(_ask(max_tokens=0)))
    usage = usage_of(events)
    assert usage.prompt_tokens + usage.completion_tokens == 300
    assert events[-1] == Done(FinishReason.LENGTH)


def test_pins_make_room_for_those_who_ask() -> None:
    memory = FakeSequences(sequences=8, cells=700, context_tokens=600)
    scheduler, _ = fake_scheduler(memory)
    told: list[WarmedPrefix | HomingError] = []
    for words in ("a", "b"):
        scheduler.warm([system(words * 150)], (), Thinking.OFF, told.append)
    step_all(scheduler)
    assert all(isinstance(one, WarmedPrefix) for one in told)
    before = _pinned(scheduler)
    assert before >= 1
    events = _submit(scheduler, _ask("river " * 50, 200))
    step_all(scheduler)
    assert isinstance(events[-1], Done)


def test_a_memory_that_is_full_against_all_promises_costs_the_newest_request() -> None:
    scheduler, memory = fake_scheduler()
    _endless(memory)
    first = _submit(scheduler, _ask("first", 80))
    second = _submit(scheduler, _ask("second", 80))
    while not second:
        scheduler.step()

    def always_full() -> None:
        memory.fault = OverloadedError("full")

    memory.before = always_full
    while not isinstance(second[-1], Failed):
        scheduler.step()
    memory.before = lambda: None
    memory.fault = None
    step_all(scheduler)
    assert isinstance(first[-1], Done)


# Samples


def test_samples_share_one_prompt_and_end_each_for_itself() -> None:
    scheduler, memory = fake_scheduler()
    request = dataclasses.replace(
        _ask("Draw", 20, samples=3), sampling=Sampling(temperature=1.0, seed=11, max_tokens=20)
    )
    events = list(scheduler.generate(request))
    prompt = sum(sum(computed.rows.values()) for computed in memory.log if computed.prefill)
    usage = usage_of(events)
    assert prompt == usage.prompt_tokens
    assert isinstance(events[-1], Done)
    for sample in (1, 2, 3):
        own = [e.event for e in events if isinstance(e, Sampled) and e.sample == sample]
        assert isinstance(own[-1], Done)
        assert sum(isinstance(event, Done) for event in own) == 1
        alone = dataclasses.replace(
            _fresh(request),
            samples=1,
            sampling=dataclasses.replace(request.sampling, seed=10 + sample),
        )
        single = list(fake_scheduler()[0].generate(alone))
        assert substance(own) == substance(single)
    texts = {
        text_of([e.event for e in events if isinstance(e, Sampled) and e.sample == s])
        for s in (1, 2, 3)
    }
    assert len(texts) > 1
    assert all(isinstance(event, Sampled | Usage | Done) for event in events)


def test_cancelling_samples_ends_each_of_them() -> None:
    scheduler, memory = fake_scheduler()
    _endless(memory)
    request = _ask("Draw", 100, samples=3)
    events = _submit(scheduler, request)
    while not any(isinstance(event, Sampled) for event in events):
        scheduler.step()
    scheduler.cancel(request.id)
    ends = [e.sample for e in events if isinstance(e, Sampled) and isinstance(e.event, Done)]
    assert ends == [1, 2, 3]
    assert isinstance(events[-2], Usage)
    assert events[-1] == Done(FinishReason.CANCELLED)
    assert len(memory.open_ids) == _pinned(scheduler)


# Faults


def test_a_failed_computation_fails_only_those_whose_sequences_are_gone() -> None:
    scheduler, memory = fake_scheduler()
    _endless(memory)
    stream = _submit(scheduler, _ask("stream", 60))
    while not any(isinstance(event, TextDelta) for event in stream):
        scheduler.step()
    long = _submit(scheduler, _ask("river " * 50, 5))
    scheduler.step()

    def fault() -> None:
        if memory.log and not memory.log[-1].prefill:
            memory.fault = broken_computation()
            memory.before = lambda: None

    scheduler.step()
    memory.before = fault
    step_all(scheduler)
    ends = sorted(type(events[-1]).__name__ for events in (stream, long))
    assert ends == ["Done", "Failed"]
    assert isinstance(list(scheduler.generate(_ask()))[-1], Done)


def test_a_bug_ends_a_request_without_telling_its_details(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scheduler, _ = fake_scheduler()

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr("homing_inference.answers.run.Chooser.choose", broken)
        events = list(scheduler.generate(_ask()))
    last = events[-1]
    assert isinstance(last, Failed)
    assert last.code == "internal"
    assert "division" not in str(last)
    assert isinstance(list(scheduler.generate(_ask()))[-1], Done)


def test_closing_tells_everyone_and_is_harmless_when_repeated() -> None:
    scheduler, memory = fake_scheduler(max_sequences=1)
    streams = [_submit(scheduler, _ask(str(number))) for number in range(3)]
    for _ in range(5):
        scheduler.step()
    scheduler.close()
    scheduler.close()
    for events in streams:
        last = events[-1]
        assert isinstance(last, Failed)
        assert "closed" in last.what
    assert memory.shut_down
    (refused,) = _submit(scheduler, _ask())
    assert isinstance(refused, Failed)
    assert "closed" in refused.what


# Warm prefixes


def test_warming_twice_computes_once() -> None:
    scheduler, memory = fake_scheduler()
    told: list[WarmedPrefix | HomingError] = []
    for _ in range(2):
        scheduler.warm([SYSTEM], (), Thinking.OFF, told.append)
    step_all(scheduler)
    scheduler.warm([SYSTEM], (), Thinking.OFF, told.append)
    step_all(scheduler)
    assert told[0] == told[1] == told[2]
    assert isinstance(told[0], WarmedPrefix)
    assert sum(sum(computed.rows.values()) for computed in memory.log) == told[0].tokens
    usage = usage_of(list(scheduler.generate(_ask())))
    assert usage.cached_tokens == told[0].tokens
    assert scheduler.state.warm == (told[0],)


def test_a_prefix_that_is_empty_or_too_long() -> None:
    scheduler, _ = fake_scheduler()
    told: list[WarmedPrefix | HomingError] = []
    scheduler.warm([], (), Thinking.OFF, told.append)
    scheduler.warm([system("x" * 5000)], (), Thinking.OFF, told.append)
    assert isinstance(told[0], WarmedPrefix)
    assert told[0].tokens == 0
    assert isinstance(told[1], HomingError)
    assert "would take" in told[1].what


def test_it_says_when_it_computes_and_with_how_many_threads() -> None:
    threads = FakeThreads(2, 2, 1)
    scheduler, memory = fake_scheduler(threads=threads)
    list(scheduler.generate(_ask()))
    step_all(scheduler)
    scheduler.close()
    assert memory.threads == [2, 1]
    assert threads.told[0] == "busy"
    assert threads.told[-2:] == ["idle", "close"]


def test_state_tells_how_busy_it_is() -> None:
    scheduler, memory = fake_scheduler(max_sequences=2)
    _endless(memory)
    for number in range(5):
        _submit(scheduler, _ask(f"Question {number}", 50))
    for _ in range(14):
        scheduler.step()
    state = scheduler.state
    assert (state.running, state.waiting) == (2, 3)
    assert state.decode_tokens_per_second > 0
    assert state.prefill_tokens_per_second > 0


def test_a_prefix_that_many_ask_for_at_once_is_computed_once() -> None:
    scheduler, memory = fake_scheduler()
    streams = [_submit(scheduler, _ask(f"Question {number}", 4)) for number in range(4)]
    step_all(scheduler)
    prompts = sum(usage_of(events).prompt_tokens for events in streams)
    prefix = scheduler.state.warm[0].tokens
    computed = sum(sum(one.rows.values()) for one in memory.log if one.prefill)
    assert computed == prompts - 3 * prefix
    assert [usage_of(events).cached_tokens for events in streams] == [0, *[prefix] * 3]


def test_a_short_question_need_not_wait_for_a_long_prompt() -> None:
    scheduler, _ = fake_scheduler()
    list(scheduler.generate(_ask("Warm up", 1)))
    ends: list[str] = []

    def submit(name: str, words: str) -> None:
        scheduler.submit(
            _ask(words, 3), lambda event: ends.append(name) if isinstance(event, Done) else None
        )

    submit("long", "river " * 140)
    submit("short", "Hi")
    step_all(scheduler)
    assert ends == ["short", "long"]


# Scores and vectors


def _scored(scheduler: Scheduler, request: ScoreRequest) -> list[ToolScores | HomingError]:
    told: list[ToolScores | HomingError] = []
    scheduler.score(request, told.append)
    return told


def _score(words: str = "Ten minutes", **changes: object) -> ScoreRequest:
    return ScoreRequest((SYSTEM, user(words)), TOOLS, **changes)  # type: ignore[arg-type]


def test_scores_come_with_what_they_are_compared_with() -> None:
    scheduler, memory = fake_scheduler(chat=choose(HERMES))
    told = _scored(scheduler, _score())
    step_all(scheduler)
    (scores,) = told
    assert isinstance(scores, ToolScores)
    assert {name.name for name in scores.names} == {tool.name for tool in TOOLS}
    assert all(name.baseline is not None for name in scores.names)
    assert scores.call_baseline is not None
    assert scores.cached_tokens == scheduler.state.warm[0].tokens
    assert len(memory.open_ids) == _pinned(scheduler)
    memory.log.clear()
    again = _scored(scheduler, _score())
    step_all(scheduler)
    assert isinstance(again[0], ToolScores)
    assert again[0].names == scores.names
    assert sum(sum(computed.rows.values()) for computed in memory.log) < 120


def test_what_scores_are_compared_with_is_computed_once_a_prefix_is_pinned() -> None:
    scheduler, memory = fake_scheduler(chat=choose(HERMES))
    told: list[WarmedPrefix | HomingError] = []
    scheduler.warm([SYSTEM], TOOLS, Thinking.OFF, told.append)
    step_all(scheduler)
    assert isinstance(told[0], WarmedPrefix)
    computed = sum(sum(one.rows.values()) for one in memory.log)
    assert computed > told[0].tokens
    memory.log.clear()
    scores = _scored(scheduler, _score())
    step_all(scheduler)
    assert isinstance(scores[0], ToolScores)
    assert scores[0].call_baseline is not None
    assert sum(one.prefill for one in memory.log) <= 3


def test_scores_behind_an_answered_prompt_begin_with_the_state_that_it_left() -> None:
    scheduler, memory = fake_scheduler(chat=choose(HERMES))
    words = "river " * 20
    asked = dataclasses.replace(_ask(words, 5, owner="ann"), tools=TOOLS)
    _submit(scheduler, asked)
    step_all(scheduler)
    known = scheduler.state.warm[0].tokens
    memory.log.clear()
    told = [_scored(scheduler, _score(words, owner=owner)) for owner in ("ann", "bob")]
    step_all(scheduler)
    (hers,), (his,) = told
    assert isinstance(hers, ToolScores)
    assert isinstance(his, ToolScores)
    assert hers.cached_tokens > known + len(words)
    assert his.cached_tokens == known
    assert hers.names == his.names


def test_scores_while_answers_are_written_take_no_sequence_from_them() -> None:
    scheduler, memory = fake_scheduler(chat=choose(HERMES), max_sequences=2)
    _endless(memory)
    streams = [_submit(scheduler, _ask(f"Question {number}", 80)) for number in range(3)]
    for _ in range(6):
        scheduler.step()
    told = [_scored(scheduler, _score(f"Words {number}")) for number in range(2)]
    step_all(scheduler)
    assert all(isinstance(events[-1], Done) for events in streams)
    assert all(isinstance(outcome[0], ToolScores) for outcome in told)
    assert len(memory.open_ids) == _pinned(scheduler)


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (ScoreRequest((SYSTEM, user("Hi")), ()), "usage"),
        (_score("river " * 2000), "too_long"),
        (_score(adapter="unknown"), "not_found"),
    ],
)
def test_scores_that_cannot_be_had_are_refused(request_: ScoreRequest, code: str) -> None:
    scheduler, memory = fake_scheduler(chat=choose(HERMES))
    told = _scored(scheduler, request_)
    step_all(scheduler)
    (error,) = told
    assert isinstance(error, HomingError)
    assert error.code.value == code
    assert memory.log == []


def test_a_failed_computation_fails_a_scoring_and_the_next_one_works() -> None:
    scheduler, memory = fake_scheduler(chat=choose(HERMES))
    scheduler.warm([SYSTEM], TOOLS, Thinking.OFF, lambda _: None)
    step_all(scheduler)
    told = _scored(scheduler, _score())
    memory.fault = broken_computation()
    step_all(scheduler)
    assert isinstance(told[0], HomingError)
    assert len(memory.open_ids) == _pinned(scheduler)
    again = _scored(scheduler, _score())
    step_all(scheduler)
    assert isinstance(again[0], ToolScores)


def test_vectors_are_made_between_the_steps_of_answers() -> None:
    scheduler, memory = fake_scheduler()
    _endless(memory)
    stream = _submit(scheduler, _ask("stream", 60))
    told: list[tuple[tuple[float, ...], ...] | HomingError] = []
    scheduler.embed(["a", "bc"], told.append)
    scheduler.embed([], told.append)
    scheduler.embed(["fine", "x" * 200], told.append)
    step_all(scheduler)
    assert told[0] == ()
    assert told[1] == ((1.0, 1.0), (1.0, 2.0))
    assert isinstance(told[2], HomingError)
    assert isinstance(stream[-1], Done)


# Adapters


def test_answers_with_different_adapters_are_computed_apart_and_all_end() -> None:
    memory = FakeSequences(adapters=["chess"])
    scheduler, _ = fake_scheduler(memory)
    streams = {
        name: _submit(scheduler, _ask("Question", 12, adapter=name, owner=name))
        for name in ("", "chess")
    }
    step_all(scheduler)
    texts = [text_of(events) for events in streams.values()]
    assert all(isinstance(events[-1], Done) for events in streams.values())
    assert texts[0] != texts[1]
    alone = fake_scheduler(FakeSequences(adapters=["chess"]))[0]
    assert text_of(list(alone.generate(_ask("Question", 12, adapter="chess")))) == texts[1]


# Everything at once


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_whatever_happens_each_answer_is_what_it_would_be_alone(data: st.DataObject) -> None:
    max_sequences = data.draw(st.integers(1, 5))
    memory = FakeSequences(
        sequences=max_sequences + PINNED_PREFIXES + 1,
        cells=data.draw(st.integers(400, 1500)),
        context_tokens=400,
        batch_tokens=data.draw(st.sampled_from([8, 32])),
        adapters=["chess"],
    )
    scheduler, _ = fake_scheduler(
        memory,
        max_sequences=max_sequences,
        can_rewind=data.draw(st.booleans()),
        pace=Pace(memory.batch_tokens),
    )
    most = max(max_sequences - 1, 1)
    live: list[tuple[GenerateRequest, list[GenerationEvent]]] = []
    cancelled: set[str] = set()
    for _ in range(data.draw(st.integers(1, 10))):
        request = _ask(
            data.draw(st.text("ab ", max_size=150)),
            data.draw(st.integers(1, 30)),
            priority=data.draw(st.sampled_from(Priority)),
            owner=data.draw(st.sampled_from("pq")),
            adapter=data.draw(st.sampled_from(["", "chess"])),
            samples=data.draw(st.integers(1, most)),
        )
        live.append((request, _submit(scheduler, request)))
        for _ in range(data.draw(st.integers(0, 12))):
            scheduler.step()
        if data.draw(st.booleans()):
            victim = data.draw(st.sampled_from(live))[0]
            scheduler.cancel(victim.id)
            cancelled.add(victim.id)
    step_all(scheduler)
    assert len(memory.open_ids) == _pinned(scheduler)
    for request, events in live:
        assert isinstance(events[-1], Done)
        assert sum(isinstance(event, Done | Failed) for event in events) == 1
        if request.id not in cancelled:
            alone, _ = fake_scheduler(
                FakeSequences(adapters=["chess"], context_tokens=400), max_sequences=8
            )
            assert _by_sample(events) == _by_sample(list(alone.generate(_fresh(request))))


def _by_sample(events: list[GenerationEvent]) -> list[list[object]]:
    """What each answer said, in its own order; several are interleaved."""
    apart: dict[int, list[GenerationEvent]] = {0: []}
    for event in events:
        if isinstance(event, Sampled):
            apart.setdefault(event.sample, []).append(event.event)
        else:
            apart[0].append(event)
    return [substance(apart[number]) for number in sorted(apart)]


def test_the_end_token_is_never_text() -> None:
    scheduler, memory = fake_scheduler()
    memory.script = lambda tokens: END if tokens[-1:] == (ord("b"),) else ord("b")
    events = list(scheduler.generate(_ask()))
    assert text_of(events) == "b"
    assert events[-1] == Done(FinishReason.STOP)
