"""How long running answers wait while prompts come in, on a machine whose every step takes time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import InternalError
from homing_core.generation import Done, Failed, GenerateRequest, Priority, Sampling
from homing_core.ids import new_generation_id
from homing_core.messages import system, user
from homing_inference.scheduler.pace import LONGEST_TILE_WAIT_S, Pace
from support.engines import substance
from support.fake_sequences import FakeSequences, broken_computation, fake_scheduler, step_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.generation import GenerationEvent
    from homing_inference.scheduler.scheduler import Scheduler

MOST = 8
READ_S = 0.03
"""A computation of any size reads all weights once."""
TOKEN_S = 0.002


class _Machine(FakeSequences):
    """Takes its time, by a clock of its own."""

    def __init__(self, *, equal_parts: bool = False) -> None:
        super().__init__(
            sequences=MOST + 4,
            cells=16384,
            context_tokens=2048,
            batch_tokens=128,
            adapters=["chess"],
            equal_parts=equal_parts,
        )
        self.now = 0.0
        self.longest_wait = 0.0
        """Of any sequence that is stepped, between two computations of it."""
        self._last: dict[int, float] = {}

    def close(self, sequence: int) -> None:
        super().close(sequence)
        self._last.pop(sequence, None)

    def _compute(self, rows: Mapping[int, list[int]], *, prefill: bool) -> None:
        super()._compute(rows, prefill=prefill)
        self.now += READ_S + TOKEN_S * sum(map(len, rows.values()))
        for sequence in rows:
            if not prefill:
                self.longest_wait = max(self.longest_wait, self.now - self._last[sequence])
            self._last[sequence] = self.now


def _opened(
    monkeypatch: pytest.MonkeyPatch, *, equal_parts: bool = False
) -> tuple[Scheduler, _Machine]:
    """A scheduler that has answered once, so that it knows the machine and holds the prefix."""
    machine = _Machine(equal_parts=equal_parts)
    monkeypatch.setattr(time, "perf_counter", lambda: machine.now)
    scheduler, _ = fake_scheduler(machine, max_sequences=MOST, pace=Pace(machine.batch_tokens))
    list(scheduler.generate(_ask("warm up " * 60, 30)))
    machine.script = lambda _: ord("x")
    machine.log.clear()
    machine.longest_wait = 0.0
    return scheduler, machine


def _ask(words: str, max_tokens: int = 20, **changes: object) -> GenerateRequest:
    return GenerateRequest(
        new_generation_id(),
        (system("You are brief."), user(words)),
        sampling=Sampling(max_tokens=max_tokens),
        owner=words,
        **changes,  # type: ignore[arg-type]
    )


def _submit(scheduler: Scheduler, request: GenerateRequest) -> list[GenerationEvent]:
    events: list[GenerationEvent] = []
    scheduler.submit(request, events.append)
    return events


def _begun(scheduler: Scheduler, machine: _Machine) -> list[GenerationEvent]:
    """An answer that is being written."""
    stream = _submit(scheduler, _ask("stream", 400))
    while not machine.log or machine.log[-1].prefill:
        scheduler.step()
    machine.log.clear()
    return stream


def test_prompts_that_come_together_are_computed_together_and_answered_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scheduler, machine = _opened(monkeypatch)
    streams = [_submit(scheduler, _ask(f"Question {number}?")) for number in range(MOST)]
    step_all(scheduler)
    assert all(isinstance(events[-1], Done) for events in streams)
    prefills = [computed for computed in machine.log if computed.prefill]
    assert machine.log[: len(prefills)] == prefills
    assert max(len(computed.rows) for computed in prefills) > 2
    assert len(prefills) < MOST
    assert {len(computed.rows) for computed in machine.log[len(prefills) :]} == {MOST}


def test_small_prompts_share_a_slot_between_two_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler, machine = _opened(monkeypatch)
    _begun(scheduler, machine)
    streams = [_submit(scheduler, _ask(f"Question {number}?", 4)) for number in range(4)]
    step_all(scheduler)
    assert all(isinstance(events[-1], Done) for events in streams)
    prefills = [computed for computed in machine.log if computed.prefill]
    assert max(len(computed.rows) for computed in prefills) >= 2
    assert machine.longest_wait <= LONGEST_TILE_WAIT_S + 0.03


@pytest.mark.parametrize("equal_parts", [True, False])
@pytest.mark.parametrize("words", [3, 20, 120])
def test_whatever_comes_in_an_answer_waits_no_longer_than_a_slot(
    monkeypatch: pytest.MonkeyPatch,
    words: int,
    equal_parts: bool,  # noqa: FBT001  # pytest gives it
) -> None:
    scheduler, machine = _opened(monkeypatch, equal_parts=equal_parts)
    stream = _begun(scheduler, machine)
    others = [
        _submit(scheduler, _ask("river " * (words + number), 5, priority=priority))
        for number, priority in enumerate((*[Priority.INTERACTIVE] * 3, Priority.JOB))
    ]
    step_all(scheduler)
    assert all(isinstance(events[-1], Done) for events in (stream, *others))
    assert machine.longest_wait <= LONGEST_TILE_WAIT_S + 0.03


def test_equally_long_prompts_share_a_batch_where_only_these_gain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scheduler, machine = _opened(monkeypatch, equal_parts=True)
    words = ["one", "two", "six", "eleven"]
    streams = {word: _submit(scheduler, _ask(word)) for word in words}
    step_all(scheduler)
    assert max(len(computed.rows) for computed in machine.log if computed.prefill) >= 3
    for word, events in streams.items():
        alone, other = fake_scheduler()
        other.script = lambda _: ord("x")
        assert substance(events) == substance(list(alone.generate(_ask(word))))


def test_prompts_with_different_adapters_are_computed_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scheduler, machine = _opened(monkeypatch)
    streams = [
        _submit(scheduler, _ask(f"Question {number}", adapter=adapter))
        for number, adapter in enumerate(("", "chess", "", "chess"))
    ]
    step_all(scheduler)
    assert all(isinstance(events[-1], Done) for events in streams)
    assert max(len(computed.rows) for computed in machine.log) == 2


def test_a_failed_batch_fails_its_prompts_and_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler, machine = _opened(monkeypatch)
    stream = _begun(scheduler, machine)
    streams = [_submit(scheduler, _ask(f"Question {number}")) for number in range(3)]

    def fault() -> None:
        if scheduler.state.running == 1 + len(streams):
            machine.fault = broken_computation()
            machine.before = lambda: None

    machine.before = fault
    step_all(scheduler)
    ends = [type(events[-1]) for events in (stream, *streams)]
    assert ends.count(Failed) in {1, 3}
    assert Done in ends
    assert len(machine.open_ids) == len(scheduler.state.warm)


def test_one_prompt_that_cannot_go_on_does_not_stop_those_beside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scheduler, machine = _opened(monkeypatch)
    streams = [
        _submit(scheduler, _ask(f"Question {number}", samples=1 + number % 2))
        for number in range(3)
    ]

    fork = machine.fork

    def no_fork(source: int, *, pinned: bool = False) -> int:
        if machine.length(source) > scheduler.state.warm[0].tokens:
            msg = "no copy can be made"
            raise InternalError(msg)
        return fork(source, pinned=pinned)

    with monkeypatch.context() as patched:
        patched.setattr(machine, "fork", no_fork)
        step_all(scheduler)
    assert [type(events[-1]) for events in streams] == [Done, Failed, Done]
    assert len(machine.open_ids) == len(scheduler.state.warm)
