"""Many sequences over one pool: what is refused, what is kept, and that the class lives on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from homing_core.errors import InternalError, OverloadedError
from homing_inference.llama import state_seal as module
from homing_inference.llama.model import LoadedModel
from homing_inference.llama.sequences import BATCH_TOKENS, Sequences
from homing_inference.synthetic import write_qwen35
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_PROMPT = [7 + 13 * index % 190 for index in range(60)]
_TAG = 32


@pytest.fixture(scope="module")
def model(tiny_qwen35: Path) -> Generator[LoadedModel]:
    loaded = LoadedModel(tiny_qwen35)
    yield loaded
    loaded.close()


def _open(model: LoadedModel, *, cells: int = 512, sequences: int = 4) -> Sequences:
    return Sequences(model, context_tokens=300, cells=cells, sequences=sequences, threads=1)


@pytest.fixture
def pool(model: LoadedModel) -> Generator[Sequences]:
    opened = _open(model)
    yield opened
    opened.shut()
    opened.shut()


def _filled(pool: Sequences, tokens: Sequence[int] = tuple(_PROMPT)) -> int:
    sequence = pool.open()
    pool.prefill(sequence, tokens)
    return sequence


def _next(pool: Sequences, sequence: int) -> NDArray[np.float32]:
    return pool.step({sequence: 65})[sequence].copy()


@pytest.fixture(scope="module")
def expected(model: LoadedModel) -> NDArray[np.float32]:
    """Scores behind the prompt and one more token, computed alone."""
    pool = _open(model)
    scores = _next(pool, _filled(pool))
    pool.shut()
    return scores


def _answer(value: object) -> Callable[..., object]:
    def answer(*_: object) -> object:
        return value

    return answer


def test_low_ids_are_given_first_and_high_ones_to_pins(pool: Sequences) -> None:
    assert [pool.open(), pool.open(pinned=True), pool.open(), pool.open()] == [0, 3, 1, 2]
    assert pool.free_sequences == 0
    with pytest.raises(OverloadedError, match="all 4 sequences"):
        pool.open()
    with pytest.raises(OverloadedError, match="all 4 sequences"):
        pool.fork(0)
    pool.close(1)
    assert pool.fork(0) == 1


def test_forks_share_cells_until_they_grow(pool: Sequences, expected: NDArray[np.float32]) -> None:
    source = _filled(pool)
    forks = [pool.fork(source), pool.fork(source, pinned=True)]
    assert pool.used_cells == 60
    assert [pool.own_cells(number) for number in (source, *forks)] == [0, 0, 0]
    for sequence in (source, *forks):
        assert np.array_equal(_next(pool, sequence), expected)
    assert pool.used_cells == 63
    assert pool.tokens(forks[0]) == (*_PROMPT, 65)
    pool.close(source)
    assert pool.used_cells == 62


def test_scores_are_given_where_they_are_wanted(model: LoadedModel, pool: Sequences) -> None:
    sequence = pool.open()
    rows = [row.copy() for row in pool.prefill(sequence, _PROMPT, scores_at=[59, 3, 59])]
    assert [row.shape for row in rows] == [(model.vocabulary.size,)] * 3
    assert np.array_equal(rows[0], rows[2])
    assert not np.array_equal(rows[0], rows[1])
    assert pool.prefill(sequence, [65]) == []


def test_several_prompts_are_computed_as_one_batch(model: LoadedModel, pool: Sequences) -> None:
    first, second, third = (pool.open() for _ in range(3))
    pool.prefill(second, _PROMPT[:7])
    parts = {third: _PROMPT[:20], second: _PROMPT[7:30], first: _PROMPT[30:]}
    scores = pool.prefill_many(parts, scores_at=[second, third])
    scores = {sequence: row.copy() for sequence, row in scores.items()}
    assert [pool.length(one) for one in (first, second, third)] == [30, 30, 20]
    assert pool.tokens(second) == tuple(_PROMPT[:30])
    assert pool.used_cells == 80
    assert list(scores) == [second, third]
    alone = _open(model)
    for sequence, held in ((second, _PROMPT[:30]), (third, _PROMPT[:20])):
        (expected,) = alone.prefill(alone.open(), held, scores_at=[len(held) - 1])
        assert np.abs(scores[sequence] - expected).max() < 0.01
    alone.shut()


def test_what_cannot_be_computed_at_once_never_reaches_native_code(
    model: LoadedModel, pool: Sequences, monkeypatch: pytest.MonkeyPatch
) -> None:
    sequence, other = _filled(pool), pool.open()
    with monkeypatch.context() as patched:
        patched.setattr(model.library, "llama_decode", None)
        for tokens, scores_at in (
            ([], []),
            ([1] * (BATCH_TOKENS + 1), []),
            ([model.vocabulary.size], []),
            ([-1], []),
            ([65], [1]),
            ([65], [-1]),
            ([65] * 60, list(range(pool.score_rows + 1))),
        ):
            with pytest.raises(InternalError):
                pool.prefill(sequence, tokens, scores_at=scores_at)
        with pytest.raises(InternalError):
            pool.step({})
        with pytest.raises(InternalError, match="sequence 2 is not open"):
            pool.step({sequence: 65, 2: 65})
        batches: tuple[tuple[dict[int, list[int]], list[int]], ...] = (
            ({}, []),
            ({sequence: []}, []),
            ({sequence: [65]}, [2]),
            ({sequence: [65], 2: [65]}, []),
            ({sequence: [], other: [65]}, [sequence]),
            ({sequence: [65] * BATCH_TOKENS, other: [65]}, []),
        )
        for parts, wanted in batches:
            with pytest.raises(InternalError):
                pool.prefill_many(parts, scores_at=wanted)
    assert pool.length(sequence) == 60


def test_a_sequence_never_outgrows_the_context(pool: Sequences) -> None:
    sequence = pool.open()
    for count in (BATCH_TOKENS, BATCH_TOKENS, 300 - 2 * BATCH_TOKENS):
        pool.prefill(sequence, [65] * count)
    with pytest.raises(InternalError, match="more than 300 tokens"):
        pool.step({sequence: 65})
    assert pool.length(sequence) == 300


def test_a_full_pool_refuses_and_nothing_is_lost(
    model: LoadedModel, expected: NDArray[np.float32]
) -> None:
    pool = _open(model, cells=256)
    kept, filler = _filled(pool), _filled(pool, [65] * 120)
    with pytest.raises(OverloadedError, match="memory of 256 tokens is full"):
        pool.prefill(filler, [65] * 77)
    pool.prefill(filler, [65] * 76)
    fork = pool.fork(kept)
    with pytest.raises(OverloadedError):
        pool.step({kept: 65, fork: 65})
    state = pool.save(kept)
    assert pool.restore(_PROMPT, state) is None
    pool.close(filler)
    assert pool.used_cells == 60
    assert np.array_equal(_next(pool, fork), expected)
    pool.shut()


def test_room_that_the_memory_does_not_find_is_overload_too(
    model: LoadedModel, pool: Sequences, monkeypatch: pytest.MonkeyPatch
) -> None:
    sequence = _filled(pool)
    with monkeypatch.context() as patched:
        patched.setattr(model.library, "llama_decode", _answer(1))
        with pytest.raises(OverloadedError):
            pool.step({sequence: 65})
    assert pool.length(sequence) == 60


def test_a_hybrid_model_takes_nothing_back(pool: Sequences, expected: NDArray[np.float32]) -> None:
    sequence = _filled(pool)
    assert not pool.cut(sequence, 59)
    assert pool.cut(sequence, 60)
    assert pool.length(sequence) == pool.used_cells == 60
    for keep in (-1, 61):
        with pytest.raises(InternalError, match="cannot keep"):
            pool.cut(sequence, keep)
    assert np.array_equal(_next(pool, sequence), expected)
    assert pool.cut(sequence, 0)
    assert pool.used_cells == pool.length(sequence) == 0
    pool.prefill(sequence, _PROMPT)
    assert np.array_equal(_next(pool, sequence), expected)


def test_a_restored_state_goes_on_exactly(
    model: LoadedModel, pool: Sequences, expected: NDArray[np.float32]
) -> None:
    state = pool.save(_filled(pool))
    restored = pool.restore(_PROMPT, state, pinned=True)
    assert restored == 3
    assert np.array_equal(_next(pool, restored), expected)
    other = _open(model, cells=1024, sequences=6)
    elsewhere = other.restore(_PROMPT, state)
    assert elsewhere == 0
    assert np.array_equal(_next(other, elsewhere), expected)
    other.shut()


@pytest.mark.attack
def test_damaged_cut_and_foreign_states_are_refused_and_nothing_changes(
    pool: Sequences, expected: NDArray[np.float32]
) -> None:
    sequence = _filled(pool)
    state = pool.save(sequence)
    frame = _TAG + 16  # behind tag, magic, id, streams and cells
    recurrent = state.index(np.array([1, 59, 0, 0], "<i4").tobytes(), frame)

    def changed(place: int) -> bytes:
        return state[:place] + bytes([state[place] ^ 2]) + state[place + 1 :]

    for wrong in (
        *(b"", state[:1], state[:_TAG], state[: len(state) // 2], state[:-1], state + b"\0"),
        *(state[1:], b"\0" * len(state)),
        *map(changed, (0, _TAG, _TAG + 8, _TAG + 12, frame, frame + 4, recurrent, recurrent + 4)),
    ):
        assert pool.restore(_PROMPT, wrong) is None
    for tokens in ([], _PROMPT[:-1], [*_PROMPT, 65], [*_PROMPT[:-1], 65]):
        assert pool.restore(tokens, state) is None
    assert (pool.used_cells, pool.free_sequences) == (60, 3)
    assert np.array_equal(_next(pool, sequence), expected)


@pytest.mark.attack
@settings(max_examples=300, deadline=None)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), early=st.booleans())
def test_no_bit_of_a_state_takes_the_process_or_another_sequence_down(
    model: LoadedModel, expected: NDArray[np.float32], place: float, bit: int, *, early: bool
) -> None:
    pool = _open(model)
    sequence = _filled(pool)
    state = bytearray(pool.save(sequence))
    # Half of them in the frame at the front; the rest is nearly all numbers of tensors.
    state[int(place * (2000 if early else len(state)))] ^= 1 << bit
    restored = pool.restore(_PROMPT, bytes(state))
    assert restored in (None, 1)
    assert pool.used_cells == (60 if restored is None else 120)
    if restored is not None:
        pool.close(restored)
    assert np.array_equal(_next(pool, sequence), expected)
    pool.shut()


def test_a_state_of_another_model_or_build_is_refused(
    pool: Sequences,
    model: LoadedModel,
    tmp_path: Path,
    qwen35_chat_template: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = pool.save(_filled(pool))
    # The same shape: only what the file says of itself differs.
    other = LoadedModel(write_qwen35(tmp_path / "b.gguf", qwen35_chat_template + " "))
    foreign = _open(other)
    assert foreign.restore(_PROMPT, state) is None
    foreign.shut()
    other.close()
    with monkeypatch.context() as patched:
        patched.setattr(module, "build_facts", _answer("another build"))
        newer = _open(model)
    assert newer.fingerprint != pool.fingerprint
    assert newer.restore(_PROMPT, state) is None
    newer.shut()
    same = _open(model, cells=1024)
    assert same.fingerprint == pool.fingerprint
    same.shut()


def test_a_state_with_other_types_in_it_is_refused_by_its_fingerprint(
    pool: Sequences, model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = pool.save(_filled(pool))
    defaults = model.library.llama_context_default_params()
    defaults.type_k = defaults.type_v = 8  # Q8_0
    with monkeypatch.context() as patched:
        patched.setattr(model.library, "llama_context_default_params", _answer(defaults))
        smaller = _open(model)
    assert smaller.fingerprint != pool.fingerprint
    assert smaller.restore(_PROMPT, state) is None
    smaller.shut()


@pytest.mark.parametrize("taken", [0, 100])
def test_a_state_that_is_not_wholly_taken_leaves_nothing_behind(
    pool: Sequences,
    model: LoadedModel,
    monkeypatch: pytest.MonkeyPatch,
    expected: NDArray[np.float32],
    taken: int,
) -> None:
    sequence = _filled(pool)
    state = pool.save(sequence)
    with monkeypatch.context() as patched:
        patched.setattr(model.library, "llama_state_seq_set_data", _answer(taken))
        assert pool.restore(_PROMPT, state) is None
    assert (pool.used_cells, pool.free_sequences) == (60, 3)
    assert np.array_equal(_next(pool, sequence), expected)


def test_a_state_that_cannot_be_saved(
    pool: Sequences, model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InternalError, match="could not be saved"):
        pool.save(pool.open())
    sequence = _filled(pool)
    for name in ("llama_state_seq_get_size", "llama_state_seq_get_data"):
        with monkeypatch.context() as patched:
            patched.setattr(model.library, name, _answer(0))
            with pytest.raises(InternalError, match="could not be saved"):
                pool.save(sequence)
    assert pool.length(sequence) == 60


@pytest.mark.parametrize("status", [2, -2, -3])
def test_a_hybrid_computation_that_broke_off_closes_everything(
    pool: Sequences,
    model: LoadedModel,
    monkeypatch: pytest.MonkeyPatch,
    expected: NDArray[np.float32],
    status: int,
) -> None:
    sequence, other = _filled(pool), _filled(pool)
    with monkeypatch.context() as patched:
        patched.setattr(model.library, "llama_decode", _answer(status))
        with pytest.raises(InternalError, match="could not compute"):
            pool.step({sequence: 65})
    assert not pool.is_open(sequence)
    assert not pool.is_open(other)
    assert pool.used_cells == 0
    pool.close(other)
    assert np.array_equal(_next(pool, _filled(pool)), expected)


def test_a_refused_batch_closes_its_own_sequence_only(
    pool: Sequences,
    model: LoadedModel,
    monkeypatch: pytest.MonkeyPatch,
    expected: NDArray[np.float32],
) -> None:
    other, sequence = _filled(pool), _filled(pool)
    with monkeypatch.context() as patched:
        patched.setattr(model.library, "llama_decode", _answer(-1))
        with pytest.raises(InternalError, match="could not compute"):
            pool.step({sequence: 65})
    assert not pool.is_open(sequence)
    assert np.array_equal(_next(pool, other), expected)


@pytest.mark.parametrize("name", ["llama_memory_seq_pos_max", "llama_memory_seq_cp"])
def test_a_memory_that_contradicts_the_books_is_emptied(
    pool: Sequences,
    model: LoadedModel,
    monkeypatch: pytest.MonkeyPatch,
    expected: NDArray[np.float32],
    name: str,
) -> None:
    sequence = _filled(pool)
    with monkeypatch.context() as patched:
        patched.setattr(model.library, name, _answer(17))
        with pytest.raises(InternalError, match="reaches from"):
            pool.fork(sequence)
    assert pool.free_sequences == 4
    assert pool.used_cells == 0
    assert np.array_equal(_next(pool, _filled(pool)), expected)


def test_a_sequence_that_cannot_be_emptied_empties_everything(
    pool: Sequences,
    model: LoadedModel,
    monkeypatch: pytest.MonkeyPatch,
    expected: NDArray[np.float32],
) -> None:
    sequence, other = _filled(pool), _filled(pool)
    with monkeypatch.context() as patched:
        patched.setattr(model.library, "llama_memory_seq_rm", _answer(value=False))
        pool.close(sequence)
    assert not pool.is_open(other)
    assert np.array_equal(_next(pool, _filled(pool)), expected)


def test_what_is_closed_is_gone(pool: Sequences) -> None:
    sequence = _filled(pool)
    pool.close(sequence)
    pool.close(sequence)
    for use in (pool.length, pool.tokens, pool.save, pool.fork, pool.own_cells):
        with pytest.raises(InternalError, match="sequence 0 is not open"):
            use(sequence)
    with pytest.raises(InternalError, match="not open"):
        pool.prefill(sequence, [65])


def test_a_context_that_the_runtime_cannot_reserve(
    model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model.library, "llama_init_from_model", _answer(None))
    with pytest.raises(OverloadedError, match="not enough memory for a context of 512 tokens"):
        _open(model)


def test_more_threads_give_nearly_the_same(pool: Sequences, expected: NDArray[np.float32]) -> None:
    pool.use_threads(2)
    assert np.allclose(_next(pool, _filled(pool)), expected, atol=1e-3)


@pytest.fixture(scope="module")
def attention_only(stand_in_phone: Path) -> Generator[LoadedModel]:
    loaded = LoadedModel(stand_in_phone)
    yield loaded
    loaded.close()


def test_where_every_position_is_kept_a_tail_is_taken_back(attention_only: LoadedModel) -> None:
    pool = _open(attention_only)
    sequence = _filled(pool)
    fork = pool.fork(sequence)
    assert pool.cut(fork, 40)
    assert (pool.used_cells, pool.length(fork)) == (60, 40)
    pool.close(sequence)
    assert pool.used_cells == 40
    pool.prefill(fork, _PROMPT[40:])
    whole = _next(pool, fork)
    pool.close(fork)
    assert np.abs(whole - _next(pool, _filled(pool))).max() < 1.0
    pool.shut()


def test_where_nothing_is_moved_only_the_failed_sequences_are_closed(
    attention_only: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = _open(attention_only)
    other, failed = _filled(pool), _filled(pool)
    before = _next(pool, pool.fork(other))
    with monkeypatch.context() as patched:
        patched.setattr(attention_only.library, "llama_decode", _answer(-3))
        with pytest.raises(InternalError):
            pool.step({failed: 65})
    assert not pool.is_open(failed)
    assert np.array_equal(_next(pool, other), before)
    pool.shut()
