"""How many cells the sequences of a context use, those that several share counted once.

A sequence is a chain of segments, each a run of cells that the same sequences hold. Forking shares
the whole chain; what grows behind it afterwards is a segment of one's own; cutting in the middle of
a segment splits it. This is arithmetic about llama.cpp's unified cache, which does the same with a
set of sequences in every cell.
"""

from __future__ import annotations


class _Segment:
    """Cells in a row that are held by the same sequences."""

    __slots__ = ("cells", "holders")

    def __init__(self, cells: int, holders: set[int]) -> None:
        self.cells = cells
        self.holders = holders


class Segments:
    """Who holds which cells. Sequences that were never grown or forked hold none."""

    def __init__(self) -> None:
        """Nothing is held."""
        self._chains: dict[int, list[_Segment]] = {}
        self._used = 0

    @property
    def used(self) -> int:
        """Cells that at least one sequence holds."""
        return self._used

    def own(self, sequence: int) -> int:
        """Cells that closing this sequence would free."""
        chain = self._chains.get(sequence, ())
        return sum(segment.cells for segment in chain if len(segment.holders) == 1)

    def grow(self, sequence: int, cells: int) -> None:
        """Put `cells` new ones behind the sequence."""
        if cells == 0:
            return
        chain = self._chains.setdefault(sequence, [])
        if chain and len(chain[-1].holders) == 1:
            chain[-1].cells += cells
        else:
            chain.append(_Segment(cells, {sequence}))
        self._used += cells

    def fork(self, source: int, target: int) -> None:
        """Let `target`, which holds nothing, share all that `source` holds."""
        chain = list(self._chains.get(source, ()))
        for segment in chain:
            segment.holders.add(target)
        self._chains[target] = chain

    def cut(self, sequence: int, keep: int) -> None:
        """Let go of all but the first `keep` cells of a sequence that holds at least so many."""
        chain = self._chains.get(sequence, [])
        before = 0
        for index, segment in enumerate(chain):
            if before + segment.cells > keep:
                if keep > before:
                    self._split(segment, keep - before)
                first = index + (keep > before)
                self._release(sequence, chain[first:])
                del chain[first:]
                return
            before += segment.cells

    def close(self, sequence: int) -> None:
        """Let go of everything that the sequence holds."""
        self._release(sequence, self._chains.pop(sequence, []))

    def clear(self) -> None:
        """Let go of everything that any sequence holds."""
        self._chains.clear()
        self._used = 0

    def _release(self, sequence: int, segments: list[_Segment]) -> None:
        for segment in segments:
            segment.holders.discard(sequence)
            if not segment.holders:
                self._used -= segment.cells

    def _split(self, segment: _Segment, cells: int) -> None:
        """Make two of a segment, the first with `cells` cells, in every chain that holds it."""
        rest = _Segment(segment.cells - cells, set(segment.holders))
        segment.cells = cells
        for holder in segment.holders:
            chain = self._chains[holder]
            chain.insert(chain.index(segment) + 1, rest)
