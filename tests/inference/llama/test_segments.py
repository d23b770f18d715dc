"""Shared cells are counted once: the arithmetic against a model that names every cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_inference.llama.segments import Segments
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence


class Naive:
    """Every cell has a name; a sequence is a list of names."""

    def __init__(self) -> None:
        self.cells: dict[int, list[int]] = {}
        self._next = 0

    def grow(self, sequence: int, count: int) -> None:
        names = range(self._next, self._next + count)
        self.cells.setdefault(sequence, []).extend(names)
        self._next += count

    @property
    def used(self) -> int:
        return len({name for names in self.cells.values() for name in names})

    def own(self, sequence: int) -> int:
        others = {n for other, names in self.cells.items() if other != sequence for n in names}
        return len(set(self.cells.get(sequence, [])) - others)


_OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["grow", "grow", "fork", "cut", "close", "clear"]),
        st.integers(0, 5),
        st.integers(0, 40),
    ),
    max_size=60,
)


def _do(segments: Segments, naive: Naive, name: str, sequence: int, number: int) -> None:
    cells = naive.cells.get(sequence, [])
    match name:
        case "grow":
            segments.grow(sequence, number)
            naive.grow(sequence, number)
        case "fork" if not naive.cells.get(number % 6) and number % 6 != sequence:
            segments.fork(sequence, number % 6)
            naive.cells[number % 6] = list(cells)
        case "cut":
            keep = number % (len(cells) + 1)
            segments.cut(sequence, keep)
            naive.cells[sequence] = cells[:keep]
        case "close":
            segments.close(sequence)
            naive.cells.pop(sequence, None)
        case "clear" if number == 0:
            segments.clear()
            naive.cells.clear()
        case _:
            pass


@given(_OPERATIONS)
def test_it_counts_like_somebody_who_names_every_cell(
    operations: Sequence[tuple[str, int, int]],
) -> None:
    segments, naive = Segments(), Naive()
    for name, sequence, number in operations:
        _do(segments, naive, name, sequence, number)
        assert segments.used == naive.used
        assert [segments.own(n) for n in range(6)] == [naive.own(n) for n in range(6)]
    for sequence in range(6):
        segments.close(sequence)
    assert segments.used == 0


def test_a_cut_inside_what_is_shared_frees_nothing_and_the_sharer_keeps_all() -> None:
    segments = Segments()
    segments.grow(0, 100)
    segments.fork(0, 1)
    segments.grow(1, 20)
    segments.cut(0, 40)
    assert segments.used == 120
    segments.grow(0, 5)
    segments.close(1)
    assert segments.used == 45
