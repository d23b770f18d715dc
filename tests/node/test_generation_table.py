from __future__ import annotations

import pytest
from homing_core.errors import ConflictError, InvalidDataError, NotFoundError, OverloadedError
from homing_core.generation import (
    CallSignals,
    Done,
    Failed,
    FinishReason,
    NameProbability,
    Sampled,
    SampleEvent,
    TextDelta,
    TokenLogprob,
    TokenLogprobs,
    ToolCallEvent,
)
from homing_core.ids import DeviceId, GenerationId, new_tool_call_id
from homing_core.testing import FakeClock
from homing_core.tools import ToolCall
from homing_node.generations.events import EventLog, event_bytes
from homing_node.generations.table import GenerationLimits, GenerationTable
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

PHONE = DeviceId("a" * 64)
OTHER = DeviceId("b" * 64)
DONE = Done(FinishReason.STOP)
CHUNK = "x" * 800
"""A text that counts 1,000 bytes."""


def gid(number: int) -> GenerationId:
    return GenerationId(f"gen-{number:032x}")


def table(clock: FakeClock | None = None, **limits: float) -> GenerationTable:
    return GenerationTable(GenerationLimits(**limits), clock or FakeClock())  # type: ignore[arg-type]  # whole numbers where meant


def test_same_content_attaches_and_other_content_conflicts() -> None:
    generations = table()
    assert generations.same(PHONE, gid(1), "d") is None
    log = generations.begin(PHONE, gid(1), "d")
    assert generations.same(PHONE, gid(1), "d") is log
    with pytest.raises(ConflictError, match="different request"):
        generations.same(PHONE, gid(1), "e")


@pytest.mark.attack
def test_ids_of_another_device_mean_nothing() -> None:
    generations = table()
    generations.begin(PHONE, gid(1), "d")
    with pytest.raises(NotFoundError):
        generations.find(OTHER, gid(1))
    assert generations.same(OTHER, gid(1), "e") is None


@pytest.mark.attack
def test_too_many_of_one_device_or_of_all_are_refused_for_now() -> None:
    generations = table(running=3, running_per_device=2)
    first = generations.begin(PHONE, gid(1), "d")
    generations.begin(PHONE, gid(2), "d")
    with pytest.raises(OverloadedError, match="this device already runs 2") as caught:
        generations.begin(PHONE, gid(3), "d")
    assert caught.value.retry_after_ms > 0
    generations.begin(OTHER, gid(1), "d")
    generations.append(first, DONE)
    generations.begin(PHONE, gid(3), "d")
    with pytest.raises(OverloadedError, match="this node already runs 3"):
        generations.begin(OTHER, gid(2), "d")
    assert generations.running() == 3
    assert generations.running(OTHER) == 1


def test_ended_ones_wait_as_long_as_was_said() -> None:
    clock = FakeClock()
    generations = table(clock, keep_s=60)
    ended = generations.begin(PHONE, gid(1), "d")
    running = generations.begin(PHONE, gid(2), "d")
    generations.append(ended, DONE)
    clock.advance(59)
    generations.sweep()
    assert generations.find(PHONE, gid(1)) is ended
    clock.advance(1)
    generations.sweep()
    with pytest.raises(NotFoundError):
        generations.find(PHONE, gid(1))
    assert generations.find(PHONE, gid(2)) is running


def test_too_many_ended_ones_lose_the_delivered_then_the_oldest() -> None:
    clock = FakeClock()
    generations = table(clock, kept_per_device=2)
    logs = [generations.begin(PHONE, gid(n), "d") for n in range(4)]
    for log in logs:
        generations.append(log, DONE)
        clock.advance(1)
    logs[2].ack(1)
    generations.sweep()
    left = [n for n in range(4) if generations.same(PHONE, gid(n), "d")]
    assert left == [1, 3]


@pytest.mark.attack
def test_full_buffer_drops_old_answers_before_it_fails_the_new_one() -> None:
    generations = table(device_bytes=4000)
    old = generations.begin(PHONE, gid(1), "d")
    generations.append(old, TextDelta(CHUNK))
    generations.append(old, DONE)
    other = generations.begin(OTHER, gid(1), "d")
    generations.append(other, TextDelta(CHUNK))
    generations.append(other, DONE)
    new = generations.begin(PHONE, gid(2), "d")
    for _ in range(3):
        generations.append(new, TextDelta(CHUNK))
    with pytest.raises(NotFoundError):
        generations.find(PHONE, gid(1))
    assert generations.find(OTHER, gid(1)) is other
    assert not new.ended
    generations.append(new, TextDelta(CHUNK))
    generations.append(new, TextDelta(CHUNK))
    assert new.ended
    last = new.after(0)[-1]
    assert isinstance(last.event, Failed)
    assert last.event.code == "overloaded"
    assert last.event.retryable
    assert [item.seq for item in new.after(0)] == [1, 2, 3, 4, 5]


def test_acknowledging_makes_room() -> None:
    generations = table(device_bytes=2000)
    log = generations.begin(PHONE, gid(1), "d")
    for seq in range(1, 50):
        generations.append(log, TextDelta(CHUNK))
        log.ack(seq)
    assert not log.ended
    assert log.size_bytes == 0


def test_big_calls_count_by_their_arguments() -> None:
    call = ToolCall(new_tool_call_id(), "note", {"text": "y" * 5000})
    assert event_bytes(ToolCallEvent(call)) > 5000


def test_forgotten_device_leaves_nothing() -> None:
    generations = table()
    generations.begin(PHONE, gid(1), "d")
    generations.forget(PHONE)
    generations.forget(PHONE)
    assert generations.running() == 0
    with pytest.raises(NotFoundError):
        generations.find(PHONE, gid(1))


class Reader(RuleBasedStateMachine):
    """One generation, its readers and its acknowledgements, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.log = EventLog(PHONE, gid(1), "d")
        self.written: list[str] = []
        self.acked = 0
        self.ended = False
        self.positions = {"one": 0, "two": 0}

    @rule(text=st.text(max_size=3))
    def write(self, text: str) -> None:
        self.log.append(TextDelta(text))
        if not self.ended:
            self.written.append(text)

    @rule(event=st.sampled_from([DONE, Done(FinishReason.CANCELLED), Failed("internal", "x")]))
    def end(self, event: Done | Failed) -> None:
        self.log.append(event)
        if not self.ended:
            self.written.append(repr(event))
        self.ended = True

    @rule(who=st.sampled_from(["one", "two"]), most=st.integers(0, 4))
    def read(self, who: str, most: int) -> None:
        position = self.positions[who]
        if position < self.acked:
            with pytest.raises(ConflictError):
                self.log.after(position)
            self.positions[who] = self.acked
            return
        items = self.log.after(position)
        assert [item.seq for item in items] == list(range(position + 1, len(self.written) + 1))
        for item in items:
            text = item.event.text if isinstance(item.event, TextDelta) else repr(item.event)
            assert text == self.written[item.seq - 1]
        self.positions[who] = min(position + most, len(self.written))

    @rule(who=st.sampled_from(["one", "two"]))
    def ack(self, who: str) -> None:
        self.log.ack(self.positions[who])
        self.acked = max(self.acked, self.positions[who])

    @rule(beyond=st.integers(1, 1000))
    def nonsense(self, beyond: int) -> None:
        with pytest.raises(InvalidDataError):
            self.log.ack(len(self.written) + beyond)
        with pytest.raises(InvalidDataError):
            self.log.after(len(self.written) + beyond)

    @precondition(lambda self: self.ended)
    @rule()
    def resume_at_the_end(self) -> None:
        assert self.log.after(len(self.written)) == ()

    @invariant()
    def counts_agree(self) -> None:
        assert self.log.last_seq == len(self.written)
        assert self.log.acked == self.acked
        assert self.log.ended == self.ended
        assert self.log.delivered == (self.ended and self.acked == len(self.written))
        kept = self.log.after(self.acked)
        assert self.log.size_bytes == sum(event_bytes(item.event) for item in kept)


TestReader = Reader.TestCase
TestReader.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


NAMES = tuple(NameProbability("n" * 50, 0.1) for _ in range(30))


@pytest.mark.parametrize(
    ("event", "least"),
    [
        (TextDelta(CHUNK), 1000),
        (ToolCallEvent(ToolCall(new_tool_call_id(), "f", {"a": CHUNK})), 1000),
        (
            ToolCallEvent(
                ToolCall(new_tool_call_id(), "f", {}), CallSignals(0.9, 0.9, 0.8, names=NAMES)
            ),
            30 * 50,
        ),
        (TokenLogprobs((TokenLogprob("a", -0.1, (("b" * 90, -1.0),) * 20),)), 20 * 90),
        (Failed("internal", CHUNK), 800),
    ],
)
def test_whatever_an_event_carries_counts(event: SampleEvent, least: int) -> None:
    assert event_bytes(event) >= least
    assert event_bytes(Sampled(1, event)) > event_bytes(event)


def test_one_answer_of_several_ends_alone() -> None:
    log = EventLog(PHONE, gid(1), "d")
    log.append(Sampled(1, DONE))
    log.append(Sampled(2, Failed("internal", "x")))
    assert not log.ended
    log.append(DONE)
    assert log.ended
    assert [item.seq for item in log.after(0)] == [1, 2, 3]
