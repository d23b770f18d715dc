"""Copied prefixes give the scores of a fresh computation, to the bit; memory stays whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from homing_core.errors import InternalError, OverloadedError
from homing_inference.llama.model import LoadedModel
from homing_inference.llama.old_sequences import BATCH_TOKENS, PINNED_PREFIXES, Sequences

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_PREFIX = 200


@pytest.fixture(scope="module", params=["tiny_qwen35", "stand_in_phone"])
def model(request: pytest.FixtureRequest) -> Generator[LoadedModel]:
    path: Path = request.getfixturevalue(request.param)
    loaded = LoadedModel(path)
    yield loaded
    loaded.close()


@pytest.fixture
def hybrid(tiny_qwen35: Path) -> Generator[LoadedModel]:
    loaded = LoadedModel(tiny_qwen35)
    yield loaded
    loaded.close()


def _open(model: LoadedModel, context_tokens: int = 1024) -> Sequences:
    return Sequences(model, context_tokens=context_tokens, threads=1)


def _prompt(tail: int, length: int = 23) -> list[int]:
    """The same prefix each time, then something else for each `tail`."""
    return [7 + index % 190 for index in range(_PREFIX)] + [
        11 + (index * 13 + tail * 29) % 180 for index in range(length)
    ]


def _compute(
    sequences: Sequences, prompt: Sequence[int], pin_at: int = _PREFIX
) -> tuple[int, NDArray[np.float32]]:
    cached = sequences.start(prompt)
    while not sequences.advance(prompt, pin_at=pin_at):
        pass
    return cached, sequences.scores().copy()


def _fresh(model: LoadedModel, prompt: Sequence[int]) -> NDArray[np.float32]:
    sequences = _open(model)
    _, scores = _compute(sequences, prompt)
    sequences.close()
    return scores


def test_a_copied_prefix_gives_the_scores_of_a_fresh_one(model: LoadedModel) -> None:
    sequences = _open(model)
    caches: list[int] = []
    for tail in (1, 2, 1):
        cached, scores = _compute(sequences, _prompt(tail))
        caches.append(cached)
        assert np.array_equal(scores, _fresh(model, _prompt(tail)))
        for token in (20, 30, 40):  # an answer behind it does not change the prefix
            sequences.append([token])
    assert caches == [0, _PREFIX, _PREFIX]
    assert sequences.pinned == (tuple(_prompt(0)[:_PREFIX]),)
    sequences.close()


def test_a_conversation_that_goes_on_is_taken_up_where_it_stands(model: LoadedModel) -> None:
    sequences = _open(model)
    first = _prompt(1)
    _compute(sequences, first)
    for token in (20, 30, 40):
        sequences.append([token])
    longer = [*first, 20, 30, 40, *range(50, 70)]
    cached, scores = _compute(sequences, longer)
    assert cached == len(first) + 3
    # Batched otherwise than a fresh one, so nearly the same.
    assert np.abs(scores - _fresh(model, longer)).max() < 0.5
    # Asked again, it starts from the pin and is exact.
    cached, scores = _compute(sequences, longer)
    assert cached == _PREFIX
    assert np.array_equal(scores, _fresh(model, longer))
    sequences.close()


def test_only_a_model_that_can_rewind_keeps_part_of_a_conversation(model: LoadedModel) -> None:
    sequences = _open(model)
    long = _prompt(1, length=400)
    _compute(sequences, long)
    changed = [*long[:-10], *range(50, 70)]
    cached, scores = _compute(sequences, changed)
    assert cached == (len(long) - 10 if model.facts.can_rewind else _PREFIX)
    assert np.abs(scores - _fresh(model, changed)).max() < 0.5
    sequences.close()


def test_prompts_that_fill_whole_batches(hybrid: LoadedModel) -> None:
    sequences = _open(hybrid)
    for length in (1, BATCH_TOKENS - 1, BATCH_TOKENS, BATCH_TOKENS + 1, 3 * BATCH_TOKENS):
        prompt = _prompt(1, 400)[:length]
        cached, scores = _compute(sequences, prompt, pin_at=0)
        assert cached < length
        assert sequences.held == length
        assert np.isfinite(scores).all()
    sequences.close()


def test_the_least_recently_used_prefix_makes_room(hybrid: LoadedModel) -> None:
    sequences = _open(hybrid)
    prompts = [[tail + 10, *range(20, 80)] for tail in range(PINNED_PREFIXES + 1)]
    for prompt in prompts[:PINNED_PREFIXES]:
        _compute(sequences, prompt, pin_at=30)
    assert sequences.renew_pin(prompts[0][:30])
    _compute(sequences, prompts[-1], pin_at=30)
    kept = [pin[0] for pin in sequences.pinned]
    assert kept == [prompts[2][0], prompts[0][0], prompts[-1][0]]
    assert not sequences.renew_pin(prompts[1][:30])
    sequences.close()


def test_prefixes_never_take_the_room_of_a_whole_prompt(hybrid: LoadedModel) -> None:
    sequences = _open(hybrid, context_tokens=512)
    for tail in range(5):
        filler = [tail + 10] * 500
        _compute(sequences, filler, pin_at=400)
        assert sequences.held == 500
    sequences.append([5] * 12)
    with pytest.raises(InternalError, match="cannot be computed at once"):
        sequences.append([5])
    sequences.close()


def test_a_batch_over_the_limit_never_reaches_native_code(hybrid: LoadedModel) -> None:
    sequences = _open(hybrid)
    for tokens in ([], [1] * (BATCH_TOKENS + 1)):
        with pytest.raises(InternalError, match="cannot be computed at once"):
            sequences.append(tokens)
    assert sequences.held == 0
    sequences.close()
    sequences.close()


def test_a_token_that_does_not_exist_empties_the_workplace(hybrid: LoadedModel) -> None:
    sequences = _open(hybrid)
    _compute(sequences, _prompt(1))
    with pytest.raises(InternalError, match="could not compute"):
        sequences.append([hybrid.vocabulary.size + 5])
    assert sequences.held == 0
    cached, scores = _compute(sequences, _prompt(2))
    assert cached == _PREFIX
    assert np.array_equal(scores, _fresh(hybrid, _prompt(2)))
    sequences.close()


def test_a_context_that_does_not_fit_the_memory_is_refused(
    hybrid: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        """As llama.cpp does."""

    monkeypatch.setattr(hybrid.library, "llama_init_from_model", refuse)
    with pytest.raises(OverloadedError, match="not enough memory for a context of 1024 tokens"):
        _open(hybrid)
