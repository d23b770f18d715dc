"""Whatever happens between, a sequence's scores are those of the same tokens computed alone.

Each example is a random interleaving of everything that `Sequences` does. What a sequence was given
is written down beside the scores that it gave, and computed again in a fresh context, alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from homing_inference.llama.model import LoadedModel
from homing_inference.llama.sequences import Sequences
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.interleaving import OPERATIONS, Interleaving, Line, Part, alone, deltas

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

    from support.interleaving import Scores

    Steps = list[tuple[str, tuple[int, int, int]]]

_SMALL: Final = 63
"""From 64 tokens on, llama.cpp's attention goes through the cells in tiles of 64."""
_LARGE: Final = 128
_TEXT: Final = (
    "The person who comes home first feeds the cat, opens the window and writes on the board what "
    "is missing in the kitchen. On Tuesday the plumber comes at half past nine; somebody has to be "
    "there. Grandmother's birthday is on the third of May, and the trains are full by then, so the "
    "seats are booked in March. The light in the hall goes out by itself after ten minutes."
)

# The largest difference between the same tokens' scores in batches of other shapes or in cells in
# another order. Measured: TINY, Q4, BF16 (tiny F32, 0.5B Q4_K_M and 0.5B BF16).
_BOUND_F32: Final = 0.002
_BOUND_Q4_K_M: Final = 0.75
_BOUND_BF16: Final = 0.2


def _steps(longest: int) -> st.SearchStrategy[Steps]:
    numbers = st.integers(0, 1000)
    step = st.tuples(st.sampled_from(OPERATIONS), st.tuples(numbers, numbers, numbers))
    return st.lists(step, min_size=4, max_size=longest)


def _lives(model: LoadedModel, steps: Steps, *, cells: int, largest: int) -> list[Line]:
    words = model.vocabulary.tokenize(_TEXT)
    run = Interleaving(model, words, cells=cells, largest=min(largest, len(words) - 1))
    for operation, numbers in steps:
        run.do(operation, numbers)
    return run.finish()


def _check_near(scores: Sequence[Scores], others: Sequence[Scores], bound: float) -> None:
    """The scores agree within `bound`, and so does the choice, unless two are as near as that."""
    assert max(deltas(scores, others), default=0.0) < bound
    for one, other in zip(scores, others, strict=True):
        second, first = np.sort(other)[-2:]
        assert one.argmax() == other.argmax() or first - second < bound


def _check(model: LoadedModel, lives: Sequence[Line], *, largest: int, bound: float) -> None:
    for life in lives:
        shaped = alone(model, life.parts, shaped=True)
        if life.in_order and largest <= _SMALL:
            assert all(map(np.array_equal, life.scores, shaped))
        else:
            _check_near(life.scores, shaped, bound)
        _check_near(life.scores, alone(model, life.parts, shaped=False), bound)


def _loaded(path: Path) -> Generator[LoadedModel]:
    loaded = LoadedModel(path)
    yield loaded
    loaded.close()


@pytest.fixture(scope="module")
def tiny(tiny_qwen35: Path) -> Generator[LoadedModel]:
    yield from _loaded(tiny_qwen35)


@pytest.fixture(scope="module")
def quantized(stand_in_phone: Path) -> Generator[LoadedModel]:
    yield from _loaded(stand_in_phone)


@pytest.fixture(scope="module")
def brain_float(stand_in_bf16: Path) -> Generator[LoadedModel]:
    yield from _loaded(stand_in_bf16)


_OFTEN: Final = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
_SELDOM: Final = settings(_OFTEN, max_examples=4, derandomize=True)


@_OFTEN
@given(_steps(40))
def test_a_hybrid_models_scores_are_equal_to_the_bit(tiny: LoadedModel, steps: Steps) -> None:
    lives = _lives(tiny, steps, cells=1024, largest=_SMALL)
    _check(tiny, lives, largest=_SMALL, bound=_BOUND_F32)


@_OFTEN
@given(_steps(40))
def test_in_a_pool_that_is_often_full(tiny: LoadedModel, steps: Steps) -> None:
    lives = _lives(tiny, steps, cells=256, largest=_SMALL)
    _check(tiny, lives, largest=_SMALL, bound=_BOUND_F32)


@settings(_OFTEN, max_examples=30)
@given(_steps(25))
def test_with_large_batches_they_differ_by_less_than_the_bound(
    tiny: LoadedModel, steps: Steps
) -> None:
    lives = _lives(tiny, steps, cells=1024, largest=_LARGE)
    _check(tiny, lives, largest=_LARGE, bound=_BOUND_F32)


@pytest.mark.parametrize("lengths", [(22, 22, 19), (7, 56), (40, 40, 40), (100, 20)])
def test_prompts_that_are_computed_together_again_score_the_same(
    tiny: LoadedModel, lengths: tuple[int, ...]
) -> None:
    words = tiny.vocabulary.tokenize(_TEXT)
    pool = Sequences(tiny, context_tokens=512, cells=1024, sequences=8, threads=1)

    def computed(behind: Sequence[int]) -> list[Scores]:
        held = [pool.open() for _ in lengths]
        starts = range(0, 10 * len(lengths), 10)
        parts = {
            one: words[start : start + length]
            for one, start, length in zip(held, starts, lengths, strict=True)
        }
        scores = [row.copy() for row in pool.prefill_many(parts, scores_at=held).values()]
        scores += [row.copy() for row in pool.step(dict.fromkeys(held, 65)).values()]
        for one in (*held, *behind):
            pool.close(one)
        return scores

    first = computed(())
    assert all(map(np.array_equal, first, computed(())))
    other = pool.open()
    pool.prefill(other, words[5:47])
    again = computed((other,))
    if sum(lengths) <= _SMALL:
        assert all(map(np.array_equal, first, again))
    _check_near(first, again, _BOUND_F32)
    apart = [
        alone(tiny, [Part(tuple(words[start : start + length]))], shaped=False)[0]
        for start, length in zip(range(0, 10 * len(lengths), 10), lengths, strict=True)
    ]
    _check_near(first[: len(lengths)], apart, _BOUND_F32)
    pool.shut()


@_SELDOM
@given(_steps(12))
def test_a_quantized_models_scores(quantized: LoadedModel, steps: Steps) -> None:
    lives = _lives(quantized, steps, cells=512, largest=24)
    _check(quantized, lives, largest=24, bound=_BOUND_Q4_K_M)


@_SELDOM
@given(_steps(12))
def test_a_brain_float_models_scores(brain_float: LoadedModel, steps: Steps) -> None:
    lives = _lives(brain_float, steps, cells=512, largest=24)
    _check(brain_float, lives, largest=24, bound=_BOUND_BF16)
