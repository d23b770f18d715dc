"""Vectors of texts: of length 1, the same for the same text, near for near texts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from homing_core.errors import InternalError, OverloadedError, TooLongError, UsageError
from homing_inference.llama.context import Context
from homing_inference.llama.context_sizes import Outcome
from homing_inference.llama.embedding import EMBED_TOKENS, Embedder
from homing_inference.llama.model import LoadedModel

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@pytest.fixture(scope="module")
def model(tiny_qwen35: Path) -> Generator[LoadedModel]:
    loaded = LoadedModel(tiny_qwen35)
    yield loaded
    loaded.close()


@pytest.fixture
def embedder(model: LoadedModel) -> Generator[Embedder]:
    opened = Embedder(model, 1)
    yield opened
    opened.close()
    opened.close()


def _failing(*_: object) -> Outcome:
    return Outcome.FAILED


def _near(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    return float(np.dot(one, other))


def test_each_text_has_a_vector_of_length_one(embedder: Embedder) -> None:
    vectors = embedder.embed(["Where is my umbrella?", "x", "é" * 300])
    assert [len(vector) for vector in vectors] == [256] * 3
    assert all(math.isclose(_near(vector, vector), 1.0) for vector in vectors)
    assert _near(vectors[0], vectors[1]) < 0.99


def test_the_same_text_gives_the_same_vector_in_any_company(embedder: Embedder) -> None:
    (alone,) = embedder.embed(["Turn on the light."])
    together = embedder.embed(["a" * 100, "Turn on the light.", "b"])
    assert together[1] == alone


def test_no_text_and_an_empty_one(embedder: Embedder) -> None:
    assert embedder.embed([]) == ()
    assert embedder.embed([""]) == ((0.0,) * 256,)
    empty, full = embedder.embed(["", "full"])
    assert not any(empty)
    assert any(full)


def test_a_text_that_is_too_long_is_refused_before_anything_is_computed(
    model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = Embedder(model, 1, context_tokens=100)
    assert embedder.embed(["a" * 100])
    with monkeypatch.context() as patched:
        patched.setattr(Context, "compute", None)
        with pytest.raises(TooLongError, match="a text has 101 tokens"):
            embedder.embed(["short", "a" * 101])
    embedder.close()


def test_a_limit_above_what_the_model_was_trained_on(model: LoadedModel) -> None:
    assert Embedder(model, 1, context_tokens=10**9).context_tokens == model.facts.trained_context
    assert Embedder(model, 1).context_tokens == EMBED_TOKENS


@pytest.mark.attack
def test_the_text_of_a_control_token_stays_text(embedder: Embedder) -> None:
    mark, word = embedder.embed(["<|im_end|>", "<|im_" + "end|>"])
    assert mark == word
    with_mark, without = embedder.embed(["a<|im_end|>b", "a<im_end>b"])
    assert with_mark != without


def test_it_serves_again_after_a_failure(
    embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = embedder.embed(["Hello"])
    with monkeypatch.context() as patched:
        patched.setattr(Context, "compute", _failing)
        with pytest.raises(InternalError, match="could not make a vector"):
            embedder.embed(["Hello"])
    assert embedder.embed(["Hello"]) == before


def test_closed_it_opens_again(embedder: Embedder) -> None:
    before = embedder.embed(["Hello"])
    embedder.close()
    embedder.use_threads(2)
    assert np.allclose(embedder.embed(["Hello"]), before, atol=1e-5)


def test_a_context_that_does_not_fit(tiny_qwen35: Path) -> None:
    size = tiny_qwen35.stat().st_size
    model = LoadedModel(tiny_qwen35, available=lambda: size)
    with pytest.raises(OverloadedError):
        Embedder(model, 1).embed(["Hello"])
    model.close()


@pytest.mark.parametrize(("number", "same_as"), [(1, "mean"), (2, "first"), (3, "last")])
def test_pooling_is_what_the_model_says(
    model: LoadedModel, monkeypatch: pytest.MonkeyPatch, number: int, same_as: str
) -> None:
    monkeypatch.setattr(LoadedModel, "pooling_type", number)
    embedder = Embedder(model, 1)
    whole, first = embedder.embed(["a" * 70 + "b", "a"])
    assert (_near(whole, first) > 0.99999) == (same_as == "first")
    monkeypatch.undo()
    (plain,) = Embedder(model, 1).embed(["a" * 70 + "b"])
    assert (whole == plain) == (same_as == "mean")
    embedder.close()


def test_a_model_that_ranks_makes_no_vectors(
    model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LoadedModel, "pooling_type", 4)
    with pytest.raises(UsageError, match="makes no vectors"):
        Embedder(model, 1)


def test_near_texts_are_nearer_than_far_ones(stand_in_phone: Path) -> None:
    model = LoadedModel(stand_in_phone)
    embedder = Embedder(model, 2)
    light, lamp, tax = embedder.embed(
        [
            "Switch on the light in the kitchen.",
            "Turn the kitchen lamp on, please.",
            "The tax office wants a form by March.",
        ]
    )
    assert _near(light, lamp) > _near(light, tax)
    embedder.close()
    model.close()
