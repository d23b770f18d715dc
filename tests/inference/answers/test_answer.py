"""Tokens in, events out: text, calls with their signals, stop strings, split characters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from homing_core.generation import (
    FinishReason,
    TextDelta,
    ThinkingDelta,
    TokenSignals,
    ToolCallEvent,
    ToolNamed,
)
from homing_core.tools import ToolSpec
from homing_inference.answers.answer import Answer
from homing_inference.answers.choosing import Choice
from homing_inference.answers.stops import StopWatch
from homing_inference.formats.select import choose
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.generation import GenerationEvent

TEMPLATE = "{% if tools %}<tool_call>{{ tools }} arguments{% endif %}{{ messages }}"
TIMER = ToolSpec("set_timer", "", {"type": "object", "properties": {"minutes": {}}})


def _answer(
    stops: Sequence[str] = (), turn_stops: Sequence[str] = (), *, thinking: bool = False
) -> Answer:
    parser = choose(TEMPLATE).parser([TIMER], starts_in_thinking=thinking)
    return Answer(parser, turn_stops, stops)


def _write(
    answer: Answer, tokens: Sequence[tuple[str | bytes, float]], *, end_of_turn: bool = True
) -> list[GenerationEvent]:
    events: list[GenerationEvent] = []
    for piece, probability in tokens:
        raw = piece.encode() if isinstance(piece, str) else piece
        more, stopped = answer.take(Choice(0, probability, probability / 2), raw)
        events += more
        if stopped:
            return events
    return events + answer.finish(end_of_turn=end_of_turn)


def _text(events: Sequence[GenerationEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@given(st.text(max_size=40), st.integers(1, 3))
def test_text_comes_out_as_written_however_its_bytes_are_split(text: str, step: int) -> None:
    raw = text.encode("utf-8", "replace").replace(b"<", b"(").replace(b"`", b"'")
    raw = raw.replace(b"{", b"(").replace(b"[", b"(")  # nothing that could begin a call
    pieces = [(raw[start : start + step], 0.5) for start in range(0, len(raw), step)]
    answer = _answer()
    assert _text(_write(answer, pieces)).strip() == raw.decode().strip()
    assert answer.tokens == len(pieces)


def test_bytes_that_are_no_text_become_replacement_characters() -> None:
    assert _text(_write(_answer(), [(b"a\xff", 1.0), (b"\xf0\x9f", 1.0)])) == "a\ufffd\ufffd"


def test_a_call_carries_how_sure_the_model_was_of_each_of_its_parts() -> None:
    tokens = [
        ("<tool_call>", 0.8),
        ('\n{"', 1.0),
        ("name", 1.0),
        ('": "', 0.99),
        ("set", 0.9),
        ("_timer", 0.7),
        ('", "', 0.95),
        ("arguments", 1.0),
        ('": ', 1.0),
        ('{"', 1.0),
        ("minutes", 0.6),
        ('": ', 1.0),
        ("10", 0.5),
        ("}}\n", 0.9),
        ("</tool_call>", 0.3),
    ]
    answer = _answer()
    events = _write(answer, tokens)
    (call,) = [event for event in events if isinstance(event, ToolCallEvent)]
    assert call.call.name == "set_timer"
    assert call.call.arguments == {"minutes": 10}
    assert call.signals is not None
    assert call.signals.call_probability == pytest.approx(0.8)
    assert call.signals.name_probability == pytest.approx(0.9 * 0.7)
    assert call.signals.name_margin == pytest.approx(0.35)
    assert call.signals.lowest_argument_probability == pytest.approx(0.5)
    assert call.signals.grammar_share == 1.0
    assert answer.ending() is FinishReason.TOOL_CALLS


def test_a_calls_name_is_told_before_its_arguments_are_written() -> None:
    parser = choose(TEMPLATE).parser([TIMER], starts_in_thinking=False)
    answer = Answer(parser, early_names=True)
    written = [("<tool_call>", 0.8), ('\n{"name": "', 1.0), ("set", 0.9), ("_timer", 0.7)]
    for piece, probability in written:
        assert answer.take(Choice(0, probability, probability / 2), piece.encode())[0] == []
    events, _ = answer.take(Choice(0, 0.95, 0.5), b'", "arguments": {"minutes": ')
    (named,) = events
    assert isinstance(named, ToolNamed)
    assert named.name == "set_timer"
    assert named.signals.name_probability == pytest.approx(0.63)
    assert named.signals.call_probability == pytest.approx(0.8)
    assert named.signals.lowest_argument_probability == 1.0
    rest = _write(answer, [("5}}</tool_call>", 0.5)])
    assert [type(event) for event in rest].count(ToolCallEvent) == 1


def test_a_name_longer_than_any_tools_is_not_told_early() -> None:
    parser = choose(TEMPLATE).parser([TIMER], starts_in_thinking=False)
    events = _write(
        Answer(parser, early_names=True), [('<tool_call>\n{"name": "' + "x" * 201 + '", ', 0.5)]
    )
    assert not [event for event in events if isinstance(event, ToolNamed)]


def test_start_signals_come_once_after_sixteen_tokens() -> None:
    tokens = [("word ", 0.5)] * 40
    events = _write(_answer(), tokens)
    signals = [event for event in events if isinstance(event, TokenSignals)]
    assert signals == [TokenSignals(0.5, pytest.approx(math.log(0.5)), 16)]  # type: ignore[arg-type]
    before = _text(events[: events.index(signals[0])])
    assert len(before) < len("word ") * 17


def test_a_short_answer_has_its_start_signals_before_its_end() -> None:
    events = _write(_answer(), [("Paris", 0.9), (".", 0.4)])
    assert TokenSignals(0.9, pytest.approx(math.log(0.36) / 2), 2) in events  # type: ignore[arg-type]


def test_an_empty_answer_has_no_signals() -> None:
    assert _write(_answer(), []) == []


def test_thinking_is_told_apart_and_not_counted_in_the_start_signals() -> None:
    tokens = [("Hmm", 0.1), (" yes", 0.1), ("</think>", 0.2), ("\n\n", 0.9), ("Paris", 0.9)]
    events = _write(_answer(thinking=True), tokens)
    assert "".join(e.text for e in events if isinstance(e, ThinkingDelta)).strip() == "Hmm yes"
    assert _text(events).strip() == "Paris"
    (signals,) = [event for event in events if isinstance(event, TokenSignals)]
    assert signals.first_probability >= 0.2
    assert signals.tokens <= 3


def test_an_answer_ends_before_a_stop_string_that_spans_tokens() -> None:
    answer = _answer(stops=["END"])
    events, stopped = answer.take(Choice(0, 1.0, 1.0), b"one E")
    assert not stopped
    assert _text(events).strip() == "one"
    events, stopped = answer.take(Choice(0, 1.0, 1.0), b"ND two")
    assert stopped
    assert _text(events).strip() == ""
    assert answer.ending() is FinishReason.STOP


def test_what_only_looked_like_a_stop_string_is_not_lost() -> None:
    assert _text(_write(_answer(stops=["END"]), [("one EN", 1.0), ("D", 1.0)])) == "one "
    assert _text(_write(_answer(stops=["END"]), [("one EN", 1.0), ("d", 1.0)])) == "one ENd"
    assert _text(_write(_answer(stops=["END"]), [("one EN", 1.0)])) == "one EN"


@pytest.mark.parametrize(("cut_off", "calls"), [(False, 1), (True, 0)])
def test_a_call_without_its_closing_marks_counts_only_if_the_turn_ended(
    cut_off: bool,  # noqa: FBT001  # pytest gives it
    calls: int,
) -> None:
    text = '<tool_call>\n{"name": "set_timer", "arguments": {"minutes": 10}'
    events = _write(_answer(), [(text, 1.0)], end_of_turn=not cut_off)
    assert sum(isinstance(event, ToolCallEvent) for event in events) == calls


@given(st.text("abE ND", max_size=30), st.lists(st.text("END", min_size=1, max_size=3), max_size=3))
def test_stop_strings_are_found_wherever_the_text_is_split(text: str, stops: list[str]) -> None:
    places = [place for stop in stops if (place := text.find(stop)) >= 0]
    watch = StopWatch(stops)
    passed, stopped = "", False
    for character in text:
        more, stop = watch.feed(character)
        passed += more
        if stop is not None:
            stopped = True
            break
    if not stopped:
        passed += watch.finish()
    assert stopped == bool(places)
    # The stop string that is complete first ends the text; it may start behind another one.
    assert text.startswith(passed)
    assert len(passed) >= min(places, default=len(text))
    assert all(stop not in passed for stop in stops)
