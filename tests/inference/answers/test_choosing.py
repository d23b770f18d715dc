"""Which token is written, and how sure the model was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from homing_core.errors import InternalError, UsageError
from homing_core.generation import Sampling
from homing_inference.answers.choosing import Chooser, check_sampling, top
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _scores(*probabilities: float) -> NDArray[np.float32]:
    return np.log(np.array(probabilities, dtype=np.float32))


def test_greedy_takes_the_most_likely_and_says_how_likely() -> None:
    scores = _scores(0.1, 0.6, 0.3)
    before = scores.copy()
    choice = Chooser(Sampling()).choose(scores)
    assert choice.token == 1
    assert choice.probability == pytest.approx(0.6, rel=1e-5)
    assert choice.margin == pytest.approx(0.3, rel=1e-5)
    assert (scores == before).all()


def test_a_seed_gives_the_same_draws_and_the_models_own_probability() -> None:
    scores = _scores(0.5, 0.3, 0.2)
    draws = [
        Chooser(Sampling(temperature=1.0, seed=seed)).choose(scores) for seed in (1, 1, 2, 3, 4, 5)
    ]
    assert draws[0] == draws[1]
    assert len({draw.token for draw in draws}) > 1
    for draw in draws:
        assert draw.probability == pytest.approx([0.5, 0.3, 0.2][draw.token], rel=1e-5)
        assert draw.margin == pytest.approx(0.2, rel=1e-5)


def test_draws_follow_the_distribution() -> None:
    chooser = Chooser(Sampling(temperature=1.0, seed=1))
    scores = _scores(0.5, 0.3, 0.2)
    counts = np.bincount([chooser.choose(scores).token for _ in range(4000)], minlength=3) / 4000
    assert counts == pytest.approx([0.5, 0.3, 0.2], abs=0.03)


@pytest.mark.parametrize(
    ("sampling", "possible"),
    [
        (Sampling(temperature=5.0, top_k=1, seed=1), {1}),
        (Sampling(temperature=5.0, top_k=2, seed=1), {1, 2}),
        (Sampling(temperature=5.0, top_p=0.4, seed=1), {1}),
        (Sampling(temperature=5.0, top_p=0.75, seed=1), {1, 2}),
        (Sampling(temperature=5.0, top_p=0.99, seed=1), {0, 1, 2, 3}),
        (Sampling(temperature=5.0, top_k=10, seed=1), {0, 1, 2, 3}),
    ],
)
def test_limits_leave_only_the_best(sampling: Sampling, possible: set[int]) -> None:
    chooser = Chooser(sampling)
    scores = _scores(0.15, 0.45, 0.35, 0.05)
    assert {chooser.choose(scores).token for _ in range(200)} == possible


def test_a_flat_nucleus_of_a_large_vocabulary_is_found() -> None:
    chooser = Chooser(Sampling(temperature=1.0, top_p=0.999, seed=1))
    scores = np.zeros(20_000, dtype=np.float32)
    assert len({chooser.choose(scores).token for _ in range(50)}) > 40


@given(st.integers(1, 3000), st.integers(0, 1 << 32), st.floats(0.1, 5), st.floats(0.05, 1))
def test_only_what_is_allowed_is_written_whatever_the_limits(
    size: int, seed: int, temperature: float, top_p: float
) -> None:
    dice = np.random.default_rng(seed)
    scores = (dice.normal(size=size) * 8).astype(np.float32)
    allowed = dice.random(size) < 0.3
    allowed[dice.integers(size)] = True
    before = scores.copy()
    exact = np.exp(scores.astype(np.float64) - scores.max())
    exact /= exact.sum()
    for sampling in (
        Sampling(),
        Sampling(temperature=temperature, seed=1),
        Sampling(temperature=temperature, top_p=top_p, top_k=int(dice.integers(5)), seed=1),
    ):
        choice = Chooser(sampling).choose(scores, allowed)
        assert allowed[choice.token]
        assert choice.share == pytest.approx(exact[allowed].sum(), abs=1e-5)
        assert choice.probability == pytest.approx(exact[choice.token], rel=1e-3, abs=1e-6)
        if sampling.temperature == 0:
            assert scores[choice.token] == scores[allowed].max()
    assert (scores == before).all()


def test_where_nothing_is_allowed_nothing_is_written() -> None:
    with pytest.raises(InternalError, match="nothing may be written"):
        Chooser(Sampling()).choose(_scores(0.5, 0.5), np.zeros(2, np.bool_))


def test_draws_from_a_large_vocabulary_follow_the_distribution() -> None:
    dice = np.random.default_rng(3)
    scores = (dice.normal(size=5000) * 2).astype(np.float32)
    exact = np.exp(scores.astype(np.float64))
    exact /= exact.sum()
    chooser = Chooser(Sampling(temperature=1.0, seed=1))
    draws = np.array([chooser.choose(scores).token for _ in range(4000)])
    halves = scores > np.median(scores)
    assert halves[draws].mean() == pytest.approx(exact[halves].sum(), abs=0.02)
    lower = np.arange(5000) < 1500
    assert (draws < 1500).mean() == pytest.approx(exact[lower].sum(), abs=0.03)


def test_a_token_that_is_forced_is_judged_and_not_drawn() -> None:
    choice = Chooser(Sampling(temperature=1.0, seed=1)).judge(_scores(0.1, 0.6, 0.3), 2)
    assert choice.token == 2
    assert choice.probability == pytest.approx(0.3, rel=1e-5)
    assert choice.margin == pytest.approx(0.3, rel=1e-5)


@given(st.integers(1, 50), st.integers(1, 20))
def test_the_most_likely_tokens_come_with_their_log_probabilities(size: int, count: int) -> None:
    scores = np.random.default_rng(size).normal(size=size).astype(np.float32)
    best, norm = top(scores, count)
    assert len(best) == min(size, count)
    assert norm == pytest.approx(np.log(np.exp(scores.astype(np.float64)).sum()), abs=1e-5)
    assert [token for token, _ in best] == np.argsort(-scores, kind="stable")[:count].tolist()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_no_numbers_are_an_error(bad: float) -> None:
    scores = _scores(0.5, 0.5)
    scores[0] = bad
    with pytest.raises(InternalError, match="no usable scores"):
        Chooser(Sampling()).choose(scores)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=-1.0),
        Sampling(temperature=float("nan")),
        Sampling(temperature=float("inf")),
        Sampling(top_p=0.0),
        Sampling(top_p=1.5),
        Sampling(top_p=float("nan")),
        Sampling(top_k=-1),
        Sampling(max_tokens=-1),
    ],
)
def test_values_without_a_meaning_are_refused(sampling: Sampling) -> None:
    with pytest.raises(UsageError):
        check_sampling(sampling)


def test_usual_values_are_fine() -> None:
    check_sampling(Sampling())
    check_sampling(Sampling(temperature=0.7, top_p=0.9, top_k=40))
