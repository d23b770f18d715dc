"""Probabilities of all tool names from the steps in which one was written."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from homing_core.generation import Sampling
from homing_inference.answers.choosing import Chooser
from homing_inference.answers.signals import TokenLog
from homing_inference.formats.base import CallNamed, CallParsed
from homing_inference.formats.parser import AnswerParser
from homing_inference.scoring.name_watch import NameWatch
from homing_inference.scoring.names import NameTries
from homing_inference.scoring.token_texts import TokenTexts
from hypothesis import given, settings
from hypothesis import strategies as st
from support.dreamt_model import DreamtVocabulary
from support.dreamt_names import chances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.generation import NameProbability
    from numpy.typing import NDArray

NAMES = ("set", "set_timer", "set_alarm", "get", "Get")
TEXTS = (b"=set", b"=get", b"set", b"get", b"_timer", b"_alarm", b'",', b' "', b">\n", b"timer")
VOCABULARY = DreamtVocabulary((*TEXTS, b'"name', b'":', b"<function", b"<tool_call>"))
TRIES = NameTries(TokenTexts(VOCABULARY))


def _scores(likely: dict[bytes, float], seed: int | None = None) -> NDArray[np.float32]:
    """Logits in which these texts have these probabilities, and all others next to nothing."""
    scores = np.full(VOCABULARY.size, -40, np.float32)
    if seed is not None:
        drawn = np.random.default_rng(seed).standard_normal(VOCABULARY.size)
        scores = (drawn * 3).astype(np.float32)
    for text, probability in likely.items():
        scores[VOCABULARY.pieces.index(text)] = math.log(probability)
    return scores


def _write(
    watch: NameWatch, steps: Sequence[tuple[bytes, dict[bytes, float]]], before: str = ""
) -> None:
    for text in [*before]:
        for byte in text.encode():
            piece = bytes([byte])
            watch.saw(_scores({piece: 0.5}), VOCABULARY.pieces.index(piece), piece)
    for piece, likely in steps:
        watch.saw(_scores(likely), VOCABULARY.pieces.index(piece), piece)


def _shown(found: tuple[NameProbability, ...]) -> dict[str, float]:
    return {name.name: round(name.probability, 6) for name in found}


def test_the_written_name_has_its_product_and_others_what_parted_from_it() -> None:
    watch = NameWatch(TRIES, NAMES)
    before = '<tool_call>\n{"name":'
    _write(
        watch,
        [
            (b' "', {b' "': 1.0}),
            (b"set", {b"set": 0.7, b"get": 0.2, b"G": 0.05, b"x": 0.05}),
            (b"_timer", {b"_timer": 0.6, b"_alarm": 0.3, b'",': 0.04, b'"': 0.01, b"x": 0.05}),
            (b'",', {b'",': 0.9, b'"': 0.1}),
        ],
        before,
    )
    found = watch.take(len(before) + 2)
    assert _shown(found) == {
        "set_timer": 0.42,
        "set_alarm": 0.21,
        "get": 0.2,
        "Get": 0.05,
        "set": 0.035,
    }
    assert [name.name for name in found] == ["set_timer", "set_alarm", "get", "Get", "set"]
    assert watch.take(len(before) + 2) == ()


def test_a_token_that_reaches_from_the_opening_into_the_name() -> None:
    watch = NameWatch(TRIES, NAMES)
    before = "é<tool_call>\n<function"
    _write(
        watch,
        [
            (b"=get", {b"=get": 0.5, b"=set": 0.25, b"=": 0.25}),
            (b">\n", {b">\n": 0.9, b"_timer": 0.1}),
        ],
        before,
    )
    shown = _shown(watch.take(len(before) + 1))
    # `=` alone leaves every name, so it counts for all that were not written.
    assert shown == {"get": 0.5, "set": 0.5, "set_timer": 0.5, "set_alarm": 0.5, "Get": 0.25}


def test_an_opening_alone_hides_no_name_that_could_have_shared_its_token() -> None:
    watch = NameWatch(TRIES, NAMES)
    before = "<function"
    _write(
        watch,
        [
            (b"=", {b"=": 0.2, b"=set": 0.8}),
            (b"G", {b"G": 1.0}),
            (b"e", {b"e": 1.0}),
            (b"t", {b"t": 1.0}),
            (b">", {b">": 1.0}),
        ],
        before,
    )
    shown = _shown(watch.take(len(before) + 1))
    assert shown == {"Get": 1.0, "set": 0.8, "set_timer": 0.8, "set_alarm": 0.8, "get": 0.0}


def test_a_name_that_nobody_offered() -> None:
    watch = NameWatch(TRIES, NAMES)
    before = '{"name": "'
    _write(watch, [(b"s", {b"s": 0.5, b"set": 0.4, b"get": 0.1}), (b"x", {b"x": 1.0})], before)
    shown = _shown(watch.take(len(before)))
    assert shown == {"set": 0.4, "set_timer": 0.4, "set_alarm": 0.4, "get": 0.1, "Get": 0.0}


def test_where_no_name_was_written_there_is_nothing_to_take() -> None:
    watch = NameWatch(TRIES, NAMES)
    _write(watch, [], 'I could call "set" = <function, or "name" of it')
    assert watch.take(0) == ()
    without = NameWatch(TRIES, ())
    _write(without, [(b"set", {b"set": 1.0}), (b'",', {b'",': 1.0})], '{"name": "')
    assert without.take(10) == ()


def test_only_the_name_at_the_calls_own_place_counts() -> None:
    watch = NameWatch(TRIES, NAMES)
    prose = 'Say {"name": "'
    _write(watch, [(b"get", {b"get": 1.0}), (b'",', {b'",': 1.0})], prose)
    call = '{"name": "'
    start = len(prose) + 5 + len(call)
    _write(watch, [(b"set", {b"set": 0.5}), (b'",', {b'",': 1.0})], call)
    inner = '"arguments": {"name": "'
    _write(watch, [(b"get", {b"get": 1.0}), (b'"', {b'"': 1.0})], inner)
    (first, *_) = watch.take(start)
    assert (first.name, round(first.probability, 6)) == ("set", 1.0)


def test_a_text_about_calls_without_end_keeps_little() -> None:
    watch = NameWatch(TRIES, NAMES)
    for _ in range(200):
        _write(watch, [(b"set", {b"set": 1.0}), (b'",', {b'",': 1.0})], '"name": "')
    starts = [9 + 14 * number for number in range(200)]
    assert watch.take(starts[0]) == ()
    assert watch.take(starts[-1]) != ()


@settings(max_examples=100, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    form=st.sampled_from(["json", "xml"]),
    cuts=st.lists(st.booleans(), min_size=40, max_size=40),
    seed=st.integers(0, 1000),
    prose=st.text(st.sampled_from('é"=a '), max_size=6),
)
def test_it_agrees_with_the_calls_signals_and_bounds_the_rest(
    name: str, form: str, cuts: list[bool], seed: int, prose: str
) -> None:
    """However the model cuts a call into tokens."""
    call = (
        f'<tool_call>\n{{"name": "{name}", "arguments": {{}}}}\n</tool_call>'
        if form == "json"
        else f"<tool_call>\n<function={name}>\n</function>\n</tool_call>"
    )
    tokens = _cut_up((prose + call).encode(), cuts)
    watch, log, parser = NameWatch(TRIES, NAMES), TokenLog(), AnswerParser(())
    named: CallNamed | None = None
    ended: CallParsed | None = None
    text = b""
    starts: list[int] = []
    for number, token in enumerate(tokens):
        scores = _scores({}, seed + number)
        piece = VOCABULARY.piece(token)
        choice = Chooser(Sampling()).choose(scores)
        chosen = type(choice)(token, float(chances(scores)[token]), choice.margin)
        start = len(text.decode("utf-8", "ignore"))
        starts.append(start)
        text += piece
        end = len(text.decode("utf-8", "ignore"))
        log.add(start, max(end, start + 1), chosen)
        watch.saw(scores, token, piece)
        for item in parser.feed(text.decode("utf-8", "ignore")[start:]):
            named = item if isinstance(item, CallNamed) else named
            ended = item if isinstance(item, CallParsed) else ended
    for item in parser.finish(end_of_turn=True):
        ended = item if isinstance(item, CallParsed) else ended
    assert named is not None
    assert ended is not None
    signals = log.call_signals(None, named, ended)
    found = {entry.name: entry.probability for entry in watch.take(named.start)}
    assert set(found) == set(NAMES)
    assert found[name] == pytest.approx(signals.name_probability, abs=1e-5)
    # Another name's usual tokens, from the one on in which the opening ends: never above the bound.
    (first, start) = max((n, start) for n, start in enumerate(starts) if start < named.start)
    lead = (prose + call)[start : named.start]
    for other in NAMES:
        path = 1.0
        rest = f"{lead}{other}" + ('"' if form == "json" else ">")
        for number, token in enumerate(_cut_up(rest.encode(), [True]), first):
            path *= float(chances(_scores({}, seed + number))[token])
        assert other == name or path - 1e-9 <= found[other] <= 1


def _cut_up(text: bytes, cuts: list[bool]) -> list[int]:
    """Tokens of a text: at each place the longest or the shortest that fits."""
    tokens: list[int] = []
    while text:
        fitting = [
            t for t, piece in enumerate(VOCABULARY.pieces) if piece and text.startswith(piece)
        ]
        longest = cuts[len(tokens) % len(cuts)]
        token = (max if longest else min)(fitting, key=lambda t: len(VOCABULARY.pieces[t]))
        tokens.append(token)
        text = text[len(VOCABULARY.pieces[token]) :]
    return tokens
