"""Random interleavings of everything that sequences go through, and the same done alone."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np
from homing_inference.llama.sequences import Sequences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from homing_inference.llama.model import LoadedModel
    from numpy.typing import NDArray

    Scores = NDArray[np.float32]

MOST_SEQUENCES: Final = 6
OPERATIONS: Final = (
    *("open", "prefill", "prefill", "prefill", "step", "step", "step", "fork", "fork pinned"),
    *("prefill many", "prefill many", "close", "restore", "cut", "overflow"),
)


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """One thing that was done with a sequence: tokens computed in a batch, or a cut.

    Attributes:
        tokens: that were computed; empty for a cut.
        before: how many rows each of the sequences before it had in the batch. Their places count:
            quantized matrices are multiplied by four rows at once, and what is left over one by
            one, and for running states a batch is split by the lengths of its parts.
        behind: likewise of those behind it.
        keep: tokens kept by a cut.
    """

    tokens: tuple[int, ...]
    before: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()
    keep: int = 0


@dataclasses.dataclass(slots=True)
class Line:
    """A sequence's life: what was done, and the scores after each computation."""

    sequence: int
    parts: list[Part]
    scores: list[Scores]
    in_order: bool = True


class Interleaving:
    """Does what it is told with several sequences, and writes it down.

    Args:
        model: that computes.
        words: tokens to take runs from.
        cells: of the pool.
        largest: most tokens of a batch.
    """

    def __init__(
        self, model: LoadedModel, words: Sequence[int], *, cells: int, largest: int
    ) -> None:
        self.sequences = Sequences(
            model, context_tokens=cells, cells=cells, sequences=MOST_SEQUENCES, threads=1
        )
        self._largest = largest
        self._words = words
        self._extended = model.state_layout.extended_cells
        self.alive: list[Line] = []
        self.ended: list[Line] = []

    def do(self, operation: str, numbers: Sequence[int]) -> None:
        which, size, seed = numbers
        if operation == "open" or not self.alive:
            if self.sequences.free_sequences:
                self.alive.append(Line(self.sequences.open(), [], []))
            return
        line = self.alive[which % len(self.alive)]
        match operation:
            case "prefill":
                self._prefill(line, self._tokens(1 + size % self._largest, seed))
            case "prefill many":
                self._prefill_many(self.alive[: 1 + which % len(self.alive)], size, seed)
            case "step":
                self._step(self.alive[: 1 + which % len(self.alive)], seed)
            case "fork" | "fork pinned" if self.sequences.free_sequences:
                pinned = operation == "fork pinned"
                self._born(line, self.sequences.fork(line.sequence, pinned=pinned))
            case "close":
                self._end(line)
            case "restore":
                self._restore(line, ended=bool(size % 2), pinned=bool(seed % 2))
            case "cut":
                self._cut(line, size)
            case _:
                pass

    def finish(self) -> list[Line]:
        """All lives, ended now; the memory must be empty afterwards."""
        for line in tuple(self.alive):
            self._end(line)
        assert self.sequences.used_cells == 0
        assert self.sequences.free_sequences == MOST_SEQUENCES
        self.sequences.shut()
        return self.ended

    def _tokens(self, count: int, seed: int) -> tuple[int, ...]:
        start = seed * 31 % (len(self._words) - count)
        return tuple(self._words[start : start + count])

    def _prefill(self, line: Line, tokens: tuple[int, ...]) -> None:
        if len(tokens) > self.sequences.cells - self.sequences.used_cells:
            return
        (scores,) = self.sequences.prefill(line.sequence, tokens, scores_at=[len(tokens) - 1])
        self._computed(line, Part(tokens), scores)

    def _prefill_many(self, lines: list[Line], size: int, seed: int) -> None:
        most = self._largest // len(lines)
        given = {
            line.sequence: self._tokens(1 + (size + number * seed) % most, seed + number)
            for number, line in enumerate(sorted(lines, key=lambda line: line.sequence))
        }
        if sum(map(len, given.values())) > self.sequences.cells - self.sequences.used_cells:
            return
        self._computed_many(lines, given, self.sequences.prefill_many(given, scores_at=given))

    def _step(self, lines: list[Line], seed: int) -> None:
        if len(lines) > self.sequences.cells - self.sequences.used_cells:
            return
        given = {line.sequence: self._tokens(1, seed + n)[0] for n, line in enumerate(lines)}
        parts = {sequence: (given[sequence],) for sequence in sorted(given)}
        self._computed_many(lines, parts, self.sequences.step(given))

    def _computed_many(
        self, lines: list[Line], given: Mapping[int, tuple[int, ...]], scores: dict[int, Scores]
    ) -> None:
        """Write down a batch; `given` is in its order."""
        lengths = tuple(map(len, given.values()))
        copies = {sequence: one.copy() for sequence, one in scores.items()}
        for line in lines:
            place = list(given).index(line.sequence)
            part = Part(given[line.sequence], lengths[:place], lengths[place + 1 :])
            self._computed(line, part, copies[line.sequence])

    def _restore(self, line: Line, *, ended: bool, pinned: bool) -> None:
        if not self.sequences.length(line.sequence):
            return
        state = self.sequences.save(line.sequence)
        tokens = self.sequences.tokens(line.sequence)
        if ended:
            self._end(line)
        restored = self.sequences.restore(tokens, state, pinned=pinned)
        if restored is not None:
            self._born(line, restored)

    def _computed(self, line: Line, part: Part, scores: Scores) -> None:
        line.parts.append(part)
        line.scores.append(scores.copy())
        line.in_order = line.in_order and self._in_order(line.sequence)

    def _cut(self, line: Line, size: int) -> None:
        length = self.sequences.length(line.sequence)
        keep = size % (length + 1)
        before = self.sequences.used_cells
        if self.sequences.cut(line.sequence, keep):
            line.parts.append(Part((), keep=keep))
        else:
            assert self.sequences.length(line.sequence) == length
            assert self.sequences.used_cells == before

    def _born(self, parent: Line, sequence: int) -> None:
        child = dataclasses.replace(
            parent, sequence=sequence, parts=list(parent.parts), scores=list(parent.scores)
        )
        self.alive.append(child)

    def _end(self, line: Line) -> None:
        self.sequences.close(line.sequence)
        self.alive.remove(line)
        self.ended.append(line)

    def _in_order(self, sequence: int) -> bool:
        """Whether the cells of a sequence lie in the order of its tokens; its state shows that."""
        frame = np.frombuffer(self.sequences.save(sequence), np.dtype("<i4"), offset=32)
        width = 6 if self._extended else 3
        cells = int(frame[3])
        positions = frame[4 : 4 + width * cells : width]
        return bool((positions == np.arange(cells)).all())


def alone(model: LoadedModel, parts: Sequence[Part], *, shaped: bool) -> list[Scores]:
    """The same in a fresh context, with nobody else in it.

    Args:
        model: that computes.
        parts: what is done.
        shaped: fill batches with other rows up to the size that they had; otherwise each is as
            large as the part itself.
    """
    sequences = Sequences(
        model, context_tokens=4096, cells=4096, sequences=2 * MOST_SEQUENCES, threads=1
    )
    below = [sequences.open() for _ in range(MOST_SEQUENCES)] if shaped else []
    sequence = sequences.open()
    above = [sequences.open() for _ in range(MOST_SEQUENCES - 1)] if shaped else []
    scores: list[Scores] = []
    for part in parts:
        if not part.tokens:
            assert sequences.cut(sequence, part.keep)
        elif shaped and (part.before or part.behind):
            batch = {
                **_filled(below, part.before),
                sequence: part.tokens,
                **_filled(above, part.behind),
            }
            scores.append(sequences.prefill_many(batch, scores_at=batch)[sequence].copy())
        else:
            last = [len(part.tokens) - 1]
            scores += [
                row.copy() for row in sequences.prefill(sequence, part.tokens, scores_at=last)
            ]
    sequences.shut()
    return scores


def _filled(sequences: Sequence[int], lengths: Sequence[int]) -> dict[int, tuple[int, ...]]:
    return {one: (65,) * length for one, length in zip(sequences, lengths, strict=False)}


def deltas(left: Sequence[Scores], right: Sequence[Scores]) -> list[float]:
    return [float(np.abs(one - other).max()) for one, other in zip(left, right, strict=True)]
