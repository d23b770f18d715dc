"""Which token is written, and how sure the model was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from homing_core.errors import InternalError, UsageError
from homing_core.generation import Sampling
from homing_inference.llama.choosing import Chooser, check_sampling

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
