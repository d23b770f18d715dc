"""Scoring names branch by branch, against the slow and obvious way; on a made-up model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from homing_core.errors import InternalError, OverloadedError
from homing_core.messages import assistant, system, user
from homing_core.scoring import CONTENT_FREE, NameScore, ToolScores
from homing_inference.formats.base import CallSyntax
from homing_inference.scoring.baseline import (
    Baseline,
    BaselineKey,
    Baselines,
    content_free,
)
from homing_inference.scoring.call_opening import call_opening
from homing_inference.scoring.name_shares import name_shares, parting
from homing_inference.scoring.names import NameTrie
from homing_inference.scoring.score_plan import ScorePlan
from homing_inference.scoring.scorer import Scorer
from homing_inference.scoring.token_texts import TokenTexts
from hypothesis import given, settings
from hypothesis import strategies as st
from support.dreamt_model import BATCH_TOKENS, DreamtSequences, DreamtVocabulary
from support.dreamt_names import chances, name_chances

if TYPE_CHECKING:
    from collections.abc import Sequence

SYNTAX = CallSyntax("<call>", "<call>=", ">")
TEXTS = (b"<call>", b"=get", b"get", b"set", b"_a", b"_b", b"et", b">\n", b"_alarm")
NAMES = ("get_a", "get_b", "get_c", "set", "set_alarm", "set_b", "list", "late")
PROMPT = tuple(range(1, 30))


def _plan(
    names: Sequence[str] = NAMES, texts: Sequence[bytes] = TEXTS, floor: float = 0.0
) -> tuple[ScorePlan, DreamtVocabulary]:
    vocabulary = DreamtVocabulary(texts)
    trie = NameTrie(names, SYNTAX.closing, TokenTexts(vocabulary))
    opening = call_opening(trie, SYNTAX, vocabulary)
    return ScorePlan(PROMPT, trie, opening, floor), vocabulary


def _scorer(sequences: DreamtSequences, plan: ScorePlan, held: int = 0) -> Scorer:
    sequence = sequences.open()
    for token in plan.prompt[:held]:
        sequences.prefill(sequence, [token])
    sequences.computations.clear()
    return Scorer(sequences, sequence, plan)


def _run(scorer: Scorer) -> None:
    while scorer.advance():
        pass


def _scores(sequences: DreamtSequences, plan: ScorePlan, held: int = 0) -> ToolScores:
    scorer = _scorer(sequences, plan, held)
    _run(scorer)
    scores = scorer.result()
    scorer.close()
    return scores


def _expected(
    sequences: DreamtSequences, plan: ScorePlan, vocabulary: DreamtVocabulary
) -> dict[str, float]:
    """Logarithms by name."""
    ends = [(name + SYNTAX.closing).encode() for name in plan.trie.names]
    begun = b"".join(vocabulary.piece(token) for token in plan.opening.tokens)
    targets = [SYNTAX.opening.encode() + end for end in ends]
    found = name_chances(sequences.scores, vocabulary.pieces, list(plan.tokens), begun, targets)
    return {
        name: math.log(found[target]) for name, target in zip(plan.trie.names, targets, strict=True)
    }


def test_scores_are_what_one_token_at_a_time_gives() -> None:
    plan, vocabulary = _plan()
    sequences = DreamtSequences(vocabulary.size)
    scores = _scores(sequences, plan, held=20)
    found = {name.name: name.logprob for name in scores.names}
    assert found == pytest.approx(_expected(sequences, plan, vocabulary), abs=1e-4)
    assert all(name.exact for name in scores.names)
    assert sum(math.exp(value) for value in found.values()) == pytest.approx(1)
    assert [n.logprob for n in scores.names] == sorted(found.values(), reverse=True)
    mark = plan.opening.tokens[0]
    given_prompt = chances(sequences.scores(PROMPT))
    assert scores.call_logprob == pytest.approx(math.log(given_prompt[mark]), abs=1e-5)
    assert (scores.prompt_tokens, scores.cached_tokens) == (len(PROMPT), 20)
    assert not sequences.held


_WORD = st.text("abc", min_size=1, max_size=4)
_NAMES = st.lists(_WORD, min_size=1, max_size=9, unique=True)
_LONGER = st.lists(st.text("abc=>", min_size=2, max_size=3).map(str.encode), max_size=15)


@settings(max_examples=120, deadline=None)
@given(
    names=_NAMES, texts=_LONGER, seed=st.integers(0, 1000), spread=st.sampled_from([0.5, 3.0, 8.0])
)
def test_any_names_any_vocabulary_any_leaning(
    names: list[str], texts: list[bytes], seed: int, spread: float
) -> None:
    plan, vocabulary = _plan(names, texts)
    sequences = DreamtSequences(vocabulary.size, sequences=100, seed=seed, spread=spread)
    scores = _scores(sequences, plan)
    assert not sequences.held
    found = {name.name: name.logprob for name in scores.names}
    assert found == pytest.approx(_expected(sequences, plan, vocabulary), abs=1e-4)
    assert all(name.exact for name in scores.names)


@settings(max_examples=80, deadline=None)
@given(names=_NAMES, texts=_LONGER, seed=st.integers(0, 1000), width=st.integers(1, 4))
def test_few_sequences_give_scores_or_bounds(
    names: list[str], texts: list[bytes], seed: int, width: int
) -> None:
    plan, vocabulary = _plan(names, texts)
    sequences = DreamtSequences(vocabulary.size, sequences=width, seed=seed)
    expected = _expected(sequences, plan, vocabulary)
    scores = _scores(sequences, plan)
    assert not sequences.held
    for name in scores.names:
        assert name.logprob >= expected[name.name] - 0.011
        if name.exact:
            assert name.logprob <= expected[name.name] + 1e-4


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10_000), floor=st.sampled_from([0.01, 0.1, 0.3]))
def test_an_unlikely_branch_is_not_looked_at_and_bounds_its_names(seed: int, floor: float) -> None:
    plan, vocabulary = _plan(floor=floor)
    sequences = DreamtSequences(vocabulary.size, seed=seed, spread=4.0)
    expected = _expected(sequences, plan, vocabulary)
    whole = _scores(sequences, _plan()[0])
    scores = _scores(sequences, plan)
    assert scores.scored_tokens <= whole.scored_tokens
    for name in scores.names:
        exact = expected[name.name]
        assert name.logprob >= exact - 0.011
        if name.exact:
            assert name.logprob <= exact + 1e-4
        else:
            # At most what was not looked at was added: branches below the floor.
            assert math.exp(name.logprob) <= math.exp(exact) + floor * 4


def test_what_is_below_the_floor_costs_no_step() -> None:
    plan, vocabulary = _plan(("get_a", "get_b", "list"), (*TEXTS, b"list"), floor=0.01)
    scores = np.full(vocabulary.size, -20, np.float32)
    scores[vocabulary.pieces.index(b"get")] = math.log(0.009)
    scores[vocabulary.pieces.index(b"l")] = math.log(0.991)
    root = parting(plan.trie, plan.trie.start(), scores)
    assert root.open_branches(0.01) == []
    assert len(root.open_branches(0.001)) == 1
    shares = name_shares(root)
    assert plan.trie.names == ("get_a", "get_b", "list")
    assert shares.exact.tolist() == [False, False, True]
    assert shares.best.tolist() == pytest.approx([0.009, 0.009, 0.991], abs=1e-4)


def test_a_level_is_one_step_and_the_opening_rides_with_the_prompt() -> None:
    plan, vocabulary = _plan(("get_a", "get_b", "set_a", "set_b", "list"), (*TEXTS, b"=set"))
    sequences = DreamtSequences(vocabulary.size)
    scorer = _scorer(sequences, plan, held=len(PROMPT) - 4)
    assert scorer.advance()
    assert sequences.computations == [4 + len(plan.opening.tokens)]
    assert scorer.prefilled
    wanted = scorer.wanted()
    assert scorer.wanted() == wanted  # until it is computed
    while scorer.advance():
        pass
    # `=`, `=g`, `=get`, `=s`, `=se`, `=set` at once; behind `=` and the like it goes on.
    assert sequences.computations[1] == len(wanted)
    assert scorer.result().scored_tokens == len(plan.opening.tokens) + sum(
        sequences.computations[1:]
    )
    scorer.close()


def test_steps_can_be_computed_together_with_others() -> None:
    plan, vocabulary = _plan()
    sequences = DreamtSequences(vocabulary.size, sequences=20)
    first, second = _scorer(sequences, plan), _scorer(sequences, plan)
    for scorer in (first, second):
        while not scorer.prefilled:
            scorer.advance(3)
    assert max(sequences.computations) == 3
    while (one := first.wanted()) | (two := second.wanted()):
        found = sequences.step(one) | sequences.step(two)
        first.stepped({sequence: found[sequence] for sequence in one})
        second.stepped({sequence: found[sequence] for sequence in two})
    alone = _scores(DreamtSequences(vocabulary.size), plan)
    assert first.result().names == second.result().names == alone.names
    first.close()
    second.close()
    assert not sequences.held


def test_with_no_sequence_to_spare_the_likeliest_branch_is_followed() -> None:
    plan, vocabulary = _plan()
    sequences = DreamtSequences(vocabulary.size, sequences=1)
    scores = _scores(sequences, plan)
    expected = _expected(sequences, plan, vocabulary)
    assert not sequences.held
    assert set(sequences.computations[-2:]) == {1}
    for name in scores.names:
        assert name.logprob >= expected[name.name] - 0.011
    assert not all(name.exact for name in scores.names)


def test_one_tool_needs_no_step() -> None:
    plan, vocabulary = _plan(("get_a",))
    sequences = DreamtSequences(vocabulary.size)
    scores = _scores(sequences, plan, held=len(PROMPT) - 2)
    assert scores.names == (NameScore("get_a", 0.0),)
    assert len(sequences.computations) == 1


def test_a_mark_of_several_tokens_counts_whole() -> None:
    plan, vocabulary = _plan(texts=(b"<ca", b"ll>"))
    sequences = DreamtSequences(vocabulary.size)
    scores = _scores(sequences, plan)
    first, second = plan.opening.tokens[:2]
    expected = math.log(chances(sequences.scores(PROMPT))[first]) + math.log(
        chances(sequences.scores((*PROMPT, first)))[second]
    )
    assert scores.call_logprob == pytest.approx(expected, abs=1e-4)


def test_a_mark_of_more_tokens_than_one_computation_gives_scores() -> None:
    plan, vocabulary = _plan(texts=())
    sequences = DreamtSequences(vocabulary.size, sequences=2)
    scores = _scores(sequences, plan)
    expected = 0.0
    for count, token in enumerate(plan.opening.tokens[: len(SYNTAX.mark)]):
        before = (*PROMPT, *plan.opening.tokens[:count])
        expected += math.log(chances(sequences.scores(before))[token])
    assert scores.call_logprob == pytest.approx(expected, abs=1e-4)


def _computations() -> int:
    plan, vocabulary = _plan()
    sequences = DreamtSequences(vocabulary.size, sequences=4)
    _scores(sequences, plan)
    return len(sequences.computations)


@pytest.mark.parametrize("number", range(1, _computations() + 1))
def test_a_computation_that_fails_leaves_nothing_behind(number: int) -> None:
    plan, vocabulary = _plan()
    sequences = DreamtSequences(vocabulary.size, sequences=4)
    sequences.fails_at[number] = InternalError("the model could not compute")
    scorer = _scorer(sequences, plan)
    with pytest.raises(InternalError, match="could not compute"):
        _run(scorer)
    # What it lost may belong to somebody else by now.
    others = [sequences.open() for _ in range(sequences.free_sequences)]
    scorer.close()
    scorer.close()
    assert sorted(sequences.held) == sorted(others)


@pytest.mark.parametrize("number", range(1, _computations() + 1))
def test_where_there_was_no_room_it_can_be_tried_again(number: int) -> None:
    plan, vocabulary = _plan()
    sequences = DreamtSequences(vocabulary.size, sequences=4)
    sequences.fails_at[number] = OverloadedError("there is no room")
    scorer = _scorer(sequences, plan)
    refused = 0
    more = True
    while more:
        try:
            more = scorer.advance()
        except OverloadedError:
            refused += 1
    assert refused == 1
    assert scorer.result().names == _scores(DreamtSequences(vocabulary.size), plan).names
    scorer.close()
    assert not sequences.held


@pytest.mark.parametrize("steps", range(_computations() + 1))
def test_given_up_at_any_time_it_frees_everything(steps: int) -> None:
    plan, vocabulary = _plan()
    sequences = DreamtSequences(vocabulary.size, sequences=4)
    scorer = _scorer(sequences, plan)
    for _ in range(steps):
        scorer.advance()
    scorer.wanted()
    scorer.close()
    assert not sequences.held


def test_a_result_before_the_end_and_a_prompt_held_whole_are_refused() -> None:
    plan, vocabulary = _plan()
    sequences = DreamtSequences(vocabulary.size)
    with pytest.raises(InternalError, match="not scored yet"):
        _scorer(sequences, plan).result()
    with pytest.raises(InternalError, match="held already"):
        _scorer(sequences, plan, held=len(PROMPT))


def test_scores_that_are_no_numbers_are_an_error() -> None:
    plan, vocabulary = _plan()
    with pytest.raises(InternalError, match="no usable scores"):
        parting(plan.trie, plan.trie.start(), np.full(vocabulary.size, np.nan, np.float32))


def test_a_vocabulary_that_cannot_write_the_names_knows_nothing_of_them() -> None:
    class Mute(DreamtVocabulary):
        def piece(self, token: int) -> bytes:
            return b"?" if token else b""

    trie = NameTrie(("a", "b"), ">", TokenTexts(Mute()))
    root = parting(trie, trie.start(), np.zeros(257, np.float32))
    assert root.open_branches(0) == []
    shares = name_shares(root)
    assert not shares.exact.any()
    assert shares.best.tolist() == [1.0, 1.0]


def test_the_baseline_stands_beside_the_scores() -> None:
    scores = ToolScores((NameScore("a", -0.1), NameScore("b", -2.4)), -0.5, prompt_tokens=7)
    baseline = Baseline.of(ToolScores((NameScore("b", -0.3), NameScore("a", -1.4)), -3.0))
    both = baseline.added_to(scores)
    assert both.names == (NameScore("a", -0.1, -1.4), NameScore("b", -2.4, -0.3))
    assert (both.call_logprob, both.call_baseline, both.prompt_tokens) == (-0.5, -3.0, 7)
    assert Baseline({}, -3.0).added_to(scores).names == scores.names


def test_the_baselines_used_last_are_kept() -> None:
    baselines = Baselines(kept=2)
    keys = [BaselineKey.of(str(number), "", ("b", "a")) for number in range(3)]
    assert BaselineKey.of("0", "", ("a", "b")) == keys[0]
    assert BaselineKey.of("0", "lora", ("a", "b")) != keys[0]
    values = [Baseline({}, -float(number)) for number in range(3)]
    baselines.put(keys[0], values[0])
    baselines.put(keys[1], values[1])
    assert baselines.get(keys[0]) is values[0]
    baselines.put(keys[2], values[2])
    assert baselines.get(keys[1]) is None
    assert (baselines.get(keys[0]), baselines.get(keys[2])) == (values[0], values[2])


def test_without_content_only_the_rules_and_no_request_are_left() -> None:
    rules = (system("Be brief."), system("Be kind."))
    talk = (*rules, user("What time is it?"), assistant("Noon."), system("Late rule."))
    assert content_free(talk) == (*rules, user(CONTENT_FREE))
    assert content_free(()) == (user(CONTENT_FREE),)
    assert len(CONTENT_FREE) < BATCH_TOKENS
