"""How fast the machine is, learned, and what follows for chunks and for sharing time."""

from __future__ import annotations

import pytest
from homing_inference.scheduler.pace import (
    ALONE,
    LONGEST_TILE_WAIT_S,
    LONGEST_WAIT_S,
    PREFILL_SHARE,
    SMALLEST_CHUNK,
    TILE,
    ChunkSize,
    Line,
    Pace,
)
from hypothesis import given
from hypothesis import strategies as st

BATCH = 128
_starts = st.floats(0, 0.2)
_slopes = st.floats(1e-4, 0.05)


def _learned(start: float, slope: float, step: float, answers: int = 4) -> Pace:
    pace = Pace(BATCH)
    for size in (16, 128, 32, 64, 24, 128, 40):
        pace.prefilled(size, start + slope * size)
        pace.decoded(answers, step)
    return pace


def test_without_measurements_chunks_are_careful_and_speeds_unknown() -> None:
    pace = Pace(BATCH)
    assert pace.chunk(0) == ChunkSize(BATCH, BATCH)
    assert pace.chunk(2) == ChunkSize(16, 16)
    assert pace.prefill_tokens_per_second == 0
    assert pace.decode_tokens_per_second == 0
    assert pace.seconds(100, 100, 4) == 0
    assert not pace.owed


@given(_starts, _slopes, st.lists(st.integers(1, BATCH), min_size=20, max_size=40))
def test_a_line_is_found_from_chunks_of_several_sizes(
    start: float, slope: float, sizes: list[int]
) -> None:
    line = Line()
    for size in sizes:
        line.learn(size, start + slope * size)
    mean = sum(sizes[-8:]) // 8
    assert line.seconds(mean) == pytest.approx(start + slope * mean, rel=0.5)
    fitted = line.fit()
    assert fitted[0] >= 0
    assert fitted[1] > 0


@given(_starts, _slopes, st.floats(1e-3, 0.14), st.integers(1, 8))
def test_a_chunk_and_the_step_behind_it_keep_within_the_longest_wait(
    start: float, slope: float, step: float, answers: int
) -> None:
    pace = _learned(start, slope, step, answers)
    size = pace.chunk(answers)
    assert SMALLEST_CHUNK <= size.small < TILE
    assert size.small <= size.tokens <= BATCH
    assert size.tokens == size.small or size.tokens % TILE == 0
    for chunk, limit in (
        (size.small, LONGEST_WAIT_S),
        (size.tokens, LONGEST_TILE_WAIT_S if size.tokens == TILE else LONGEST_WAIT_S),
    ):
        if chunk > SMALLEST_CHUNK:
            assert start + slope * chunk + step <= limit * 1.25 + start
    assert pace.chunk(0) == ChunkSize(BATCH, BATCH)


def test_a_tile_is_taken_where_it_is_cheaper_than_smaller_chunks() -> None:
    pace = Pace(BATCH)
    for tokens, took in ((128, 0.52), (64, 0.307), (32, 0.265), (16, 0.143), (8, 0.083)) * 3:
        pace.prefilled(tokens, took)
        pace.decoded(1, 0.027)
    size = pace.chunk(1)
    assert size.tokens == TILE
    assert 24 <= size.small <= 36
    assert size.of(100) == TILE
    assert size.of(50) == size.small


def test_a_slow_step_still_leaves_the_prompt_its_half() -> None:
    pace = _learned(0.0, 0.002, 0.25)
    assert pace.chunk(4).tokens in {TILE, BATCH}
    assert pace.chunk(4).tokens * 0.002 + 0.25 <= 2 * 0.25 + 0.02


def test_it_adapts_when_the_machine_becomes_slower() -> None:
    pace = _learned(0.01, 0.001, 0.02)
    before = pace.chunk(4).tokens
    for size in (before, TILE, 32) * 6:
        pace.prefilled(size, 5 * (0.01 + 0.001 * size))
        pace.decoded(4, 0.02)
    assert SMALLEST_CHUNK <= pace.chunk(4).tokens <= before / 2


@given(st.floats(0, 0.05), st.floats(5e-4, 0.01), st.floats(0.005, 0.1))
def test_a_prompt_keeps_its_share_beside_answers(start: float, slope: float, step: float) -> None:
    pace = _learned(start, slope, step)
    tokens, seconds, longest, waited = 0, 0.0, 0.0, 0.0
    for _ in range(40):
        chunk = pace.chunk(4).tokens
        took = start + slope * chunk
        pace.prefilled(chunk, took)
        tokens, seconds, waited = tokens + chunk, seconds + took, took
        while True:
            pace.decoded(4, step)
            seconds += step
            longest, waited = max(longest, waited + step), 0.0
            if not pace.owed:
                break
    alone = BATCH / (start + slope * BATCH)
    possible = SMALLEST_CHUNK / (start + slope * SMALLEST_CHUNK + step) / alone
    assert tokens / seconds / alone >= min(0.45, 0.9 * possible)


def test_answers_are_owed_time_after_a_chunk_and_not_for_ever() -> None:
    pace = _learned(0.0, 0.001, 0.01)
    pace.prefilled(100, 0.1)
    steps = 0
    while pace.owed:
        pace.decoded(4, 0.01)
        steps += 1
    assert steps == pytest.approx(0.1 * (1 / PREFILL_SHARE - 1) / 0.01, abs=1)
    pace.worked(0.1)
    assert pace.owed


@given(_starts, _slopes, st.floats(1e-3, 0.14), st.lists(st.integers(1, TILE), max_size=6))
def test_several_chunks_of_one_slot_keep_within_the_longest_wait(
    start: float, slope: float, step: float, lefts: list[int]
) -> None:
    pace = _learned(start, slope, step)
    first = pace.chunk(4)
    waited = start + slope * first.of(20)
    pace.prefilled(first.of(20), waited)
    for left in lefts:
        if pace.chunk(4).of(left) < left:
            continue
        took = start + slope * left
        assert took > 0
        pace.prefilled(left, took)
        waited += took
        assert waited + step <= max(LONGEST_TILE_WAIT_S, 2 * step) * 1.25 + start
    pace.decoded(4, step)
    assert pace.chunk(4).of(20) >= min(first.of(20), SMALLEST_CHUNK)


def test_a_slot_that_is_used_up_has_time_for_nothing() -> None:
    pace = _learned(0.01, 0.001, 0.02)
    pace.prefilled(64, LONGEST_TILE_WAIT_S)
    size = pace.chunk(4)
    assert [size.of(left) for left in (1, 20, TILE, 100, BATCH)] == [0] * 5
    pace.decoded(4, 0.02)
    assert pace.chunk(4).of(TILE) == TILE


def test_what_fits_a_slot_is_not_cut_at_a_tile() -> None:
    size = ChunkSize(TILE, 20, 90)
    assert [size.of(left) for left in (7, 63, 64, 90, 91)] == [7, 20, 64, 90, 64]


def test_chunks_beside_which_nobody_waits_cost_nobody_a_slot() -> None:
    pace = _learned(0.01, 0.001, 0.02)
    before = pace.chunk(4)
    pace.prefilled(20, 0.03)  # whoever waited for this has gone meanwhile
    pace.prefilled(BATCH, 0.138, ALONE)
    assert not pace.owed
    assert pace.chunk(4).of(BATCH) == before.of(BATCH)
    pace.prefilled(20, 0.03)
    first = pace.owed
    pace.prefilled(20, 0.03)
    assert first
    assert pace.owed


def test_speeds_and_estimates_follow_what_was_measured() -> None:
    pace = _learned(0.0, 0.001, 0.05)
    assert pace.prefill_tokens_per_second == pytest.approx(1000, rel=0.1)
    assert pace.decode_tokens_per_second == pytest.approx(20, rel=0.1)
    assert pace.seconds(1000, 100, 4) == pytest.approx(1 + 100 * 0.05 / 4, rel=0.1)
