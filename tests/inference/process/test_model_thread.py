"""The thread that owns a model: what it obeys when, what it reports, and when it waits."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import TooLongError
from homing_core.generation import Done, Failed, FinishReason, TextDelta, Thinking, TokenLogprob
from homing_core.generation import TokenLogprobs as Logprobs
from homing_core.scoring import NameScore, ScoreRequest, ToolScores
from homing_inference.engine import EngineState, WarmedPrefix
from homing_inference.process.busy_reports import LONGEST_S, SHORTEST_S
from homing_inference.process.model_thread import ModelThread
from homing_proto.codec.engine import (
    CancelGeneration,
    EmbedFailed,
    EmbedTexts,
    EngineBusy,
    ForgetOwner,
    GenerationReport,
    LoadModel,
    PrefixWarmed,
    ScoreFailed,
    ScoreTools,
    StartGeneration,
    TextsEmbedded,
    ToolsScored,
    WarmFailed,
    WarmPrefix,
    encode_engine_report,
)
from support.engines import BOUND_S, SYSTEM, TOOLS, ask
from support.fake_scheduler import FakeScheduler

if TYPE_CHECKING:
    from homing_proto.codec.engine import EngineReport

STOP = Done(FinishReason.STOP)
WARM = WarmedPrefix(7, "0a" * 32)


class _EndError(Exception):
    """Ends a loop that has no end."""


class Rig:
    """A thread's loop without the thread, under a clock that stands still."""

    def __init__(self) -> None:
        self.now = 100.0
        self.sent: list[EngineReport] = []
        self.told = threading.Event()
        self.scheduler = FakeScheduler()
        self.thread = ModelThread(self._send, lambda: self.now)

    def _send(self, report: EngineReport) -> None:
        encode_engine_report(report)
        self.sent.append(report)
        self.told.set()

    def turn(self) -> None:
        """One turn in which there is something to do, so that it does not wait."""
        self.scheduler.steps.append(lambda: None)
        self.thread.turn(self.scheduler)

    def answers(self) -> list[EngineReport]:
        """What was sent since the last call, but for how busy it is."""
        sent, self.sent = self.sent, []
        return [*filter(lambda report: not isinstance(report, EngineBusy), sent)]

    def busy(self) -> list[EngineBusy]:
        """How busy it said it is since the last call."""
        sent, self.sent = self.sent, []
        return [report for report in sent if isinstance(report, EngineBusy)]


def test_what_came_is_obeyed_in_order_before_anything_is_computed() -> None:
    rig = Rig()
    asked = ask()
    rig.thread.take(StartGeneration(asked))
    rig.thread.take(CancelGeneration(asked.id))
    rig.scheduler.steps.append(lambda: rig.scheduler.asked.append(("step", None)))
    rig.thread.turn(rig.scheduler)
    assert [what for what, _ in rig.scheduler.asked] == ["submit", "cancel", "step"]


def test_a_request_counts_from_when_it_came_and_not_from_when_it_is_looked_at() -> None:
    rig = Rig()
    asked = ask()
    rig.thread.take(StartGeneration(asked))
    rig.now += 3
    rig.turn()
    assert rig.scheduler.taken_at[asked.id] == 100.0


def test_events_are_passed_on() -> None:
    rig = Rig()
    asked = ask()
    rig.thread.take(StartGeneration(asked))
    rig.turn()
    for event in (TextDelta("Hi"), STOP):
        rig.scheduler.sinks[asked.id](event)
    assert rig.answers() == [
        GenerationReport(asked.id, TextDelta("Hi")),
        GenerationReport(asked.id, STOP),
    ]


def test_a_generation_ends_at_an_event_that_cannot_be_sent() -> None:
    rig = Rig()
    asked = ask()
    rig.thread.take(StartGeneration(asked))
    rig.turn()
    for event in (Logprobs((TokenLogprob("x", -math.inf),)), TextDelta("x"), STOP):
        rig.scheduler.sinks[asked.id](event)
    (report,) = rig.answers()
    assert isinstance(report, GenerationReport)
    assert isinstance(report.event, Failed)
    assert report.event.code == "invalid_data"
    rig.turn()
    assert rig.scheduler.asked[-1] == ("cancel", asked.id)


def test_tickets_are_answered() -> None:
    rig = Rig()
    asked = ScoreRequest((SYSTEM,), TOOLS, owner="somebody")
    rig.thread.take(WarmPrefix(1, (SYSTEM,), TOOLS, Thinking.OFF))
    rig.thread.take(ScoreTools(2, asked))
    rig.thread.take(EmbedTexts(3, ("a",)))
    rig.thread.take(ForgetOwner("somebody"))
    rig.turn()
    assert rig.scheduler.asked == [
        ("warm", ((SYSTEM,), TOOLS, Thinking.OFF)),
        ("score", asked),
        ("embed", ("a",)),
        ("forget", "somebody"),
    ]
    scores = ToolScores((NameScore("set_timer", -0.5),), -0.25)
    rig.scheduler.warmed(WARM)
    rig.scheduler.scored(scores)
    rig.scheduler.embedded(((1.0, 0.0),))
    assert rig.answers() == [
        PrefixWarmed(1, WARM.tokens, WARM.sha256),
        ToolsScored(2, scores),
        TextsEmbedded(3, ((1.0, 0.0),)),
    ]


def test_tickets_that_fail_say_why() -> None:
    rig = Rig()
    rig.thread.take(WarmPrefix(1, (), (), Thinking.OFF))
    rig.thread.take(ScoreTools(2, ScoreRequest((), ())))
    rig.thread.take(EmbedTexts(3, ("a",)))
    rig.turn()
    error = TooLongError("it does not fit", "Shorten it.")
    rig.scheduler.warmed(error)
    rig.scheduler.scored(error)
    rig.scheduler.embedded(error)
    why = Failed.from_error(error)
    assert rig.answers() == [WarmFailed(1, why), ScoreFailed(2, why), EmbedFailed(3, why)]


def test_a_score_that_cannot_be_sent_is_a_failure() -> None:
    rig = Rig()
    rig.thread.take(ScoreTools(2, ScoreRequest((), TOOLS)))
    rig.turn()
    rig.scheduler.scored(ToolScores((NameScore("set_timer", math.nan),), -0.25))
    (report,) = rig.answers()
    assert isinstance(report, ScoreFailed)
    assert report.error.code == "invalid_data"


def test_a_second_load_changes_nothing() -> None:
    rig = Rig()
    rig.thread.take(LoadModel("other.gguf", "other"))
    rig.turn()
    assert rig.scheduler.asked == []
    assert rig.answers() == []


def test_it_says_how_busy_it_is_when_that_changes_but_not_too_often() -> None:
    rig = Rig()
    rig.turn()
    (first,) = rig.busy()
    assert (first.running, first.waiting) == (0, 0)
    assert first.memory_bytes > 1 << 20
    rig.now += LONGEST_S
    rig.scheduler.state = EngineState(running=1, waiting=2, warm=(WARM,))
    rig.turn()
    assert rig.busy() == []
    rig.now += SHORTEST_S
    rig.turn()
    (second,) = rig.busy()
    assert (second.running, second.waiting) == (1, 2)
    assert second.warm == ((WARM.tokens, WARM.sha256),)


def test_what_is_over_at_once_is_not_worth_a_report() -> None:
    rig = Rig()
    rig.turn()
    rig.busy()
    for state in (EngineState(running=1), EngineState()):
        rig.scheduler.state = state
        rig.now += SHORTEST_S / 2
        rig.turn()
    assert rig.busy() == []
    rig.scheduler.state = EngineState(decode_tokens_per_second=50.0)
    rig.now += SHORTEST_S
    rig.turn()
    (report,) = rig.busy()
    assert report.decode_tokens_per_second == 50.0


def test_changes_that_never_stop_do_not_keep_it_silent() -> None:
    rig = Rig()
    rig.turn()
    rig.busy()
    for running in range(1, 6):
        rig.scheduler.state = EngineState(running=running)
        rig.turn()
        rig.now += SHORTEST_S / 4
    assert [report.running for report in rig.busy()] == [5]


def test_while_it_works_it_never_falls_silent() -> None:
    rig = Rig()
    rig.scheduler.state = EngineState(running=1, decode_tokens_per_second=40.0)
    rig.turn()
    rig.now += SHORTEST_S
    rig.turn()
    assert len(rig.busy()) == 1
    rig.scheduler.state = replace(rig.scheduler.state, decode_tokens_per_second=50.0)
    rig.now += LONGEST_S - 0.01
    rig.turn()
    assert rig.busy() == []
    rig.now += 0.01
    rig.turn()
    (report,) = rig.busy()
    assert report.decode_tokens_per_second == 50.0


def test_with_nothing_to_do_it_says_so_once_and_waits_for_a_command() -> None:
    rig = Rig()
    rig.scheduler.state = EngineState(running=1)
    rig.turn()
    rig.now += SHORTEST_S
    rig.turn()
    rig.scheduler.state = EngineState()
    rig.now += SHORTEST_S
    rig.busy()
    rig.told.clear()
    ended = threading.Event()

    def end() -> None:
        raise _EndError

    def serve() -> None:
        with pytest.raises(_EndError):
            rig.thread.serve(rig.scheduler)
        ended.set()

    threading.Thread(target=serve, daemon=True).start()
    assert rig.told.wait(BOUND_S)
    rig.scheduler.steps.append(end)  # which it only looks for when it is woken
    rig.thread.take(CancelGeneration(ask().id))
    assert ended.wait(BOUND_S)
    (report,) = rig.busy()
    assert report.running == 0


def test_it_closes_the_model_when_it_is_told_to_stop() -> None:
    rig = Rig()
    serving = threading.Thread(target=rig.thread.serve, args=(rig.scheduler,), daemon=True)
    serving.start()
    assert rig.told.wait(BOUND_S)
    rig.thread.stop(BOUND_S)
    assert rig.scheduler.asked == [("close", None)]


def test_nobody_waits_for_a_model_that_was_not_loaded() -> None:
    rig = Rig()
    rig.thread.stop(BOUND_S)
    assert rig.scheduler.asked == []
    rig.thread.serve(rig.scheduler)
    assert rig.scheduler.asked == [("close", None)]
