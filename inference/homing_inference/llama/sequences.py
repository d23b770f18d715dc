"""The sequences of a context: opened, forked, computed, cut, saved, restored and closed.

A context holds numbered sequences of tokens over one pool of cells. A fork is a whole copy, which
shares its cells until one of the two grows, so it costs nothing. Nothing else calls llama.cpp's
memory functions; the rules that keep this from going wrong silently, and when scores are equal to
the bit, are in `cell_pool`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_core.errors import InternalError, OverloadedError

from homing_inference.llama.adapters import Adapters
from homing_inference.llama.cell_pool import CellPool, Held
from homing_inference.llama.context_sizes import Sizes
from homing_inference.llama.state_seal import SEAL_BYTES, StateSeal

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from homing_inference.llama.model import LoadedModel

BATCH_TOKENS: Final = 128
"""Computed at once. Larger batches were not faster on 2 cores, and make cancelling slower."""


class Sequences:
    """A context and what it holds. Belongs to one thread.

    Args:
        model: stays loaded for as long as this is open.
        context_tokens: most tokens of one sequence.
        cells: of the pool that all sequences share; rounded up to a multiple of 256.
        sequences: at most so many at once.
        threads: that compute.
        batch_tokens: computed at once.
        adapters: LoRA adapters by name.

    Attributes:
        equal_parts: whether several prompts in one batch gain only where they are equally long:
            for running states llama.cpp splits a batch into as many as there are lengths in it.

    Raises:
        OverloadedError: there is not enough memory for it.
        HomingError: an adapter cannot be used; see `Adapters`.
    """

    def __init__(  # noqa: PLR0913  # each is one size
        self,
        model: LoadedModel,
        *,
        context_tokens: int,
        cells: int,
        sequences: int,
        threads: int,
        batch_tokens: int = BATCH_TOKENS,
        adapters: Mapping[str, Path] | None = None,
    ) -> None:
        """Reserve all the memory that it will use."""
        self.context_tokens: Final = context_tokens
        self.sequences: Final = sequences
        self.batch_tokens: Final = batch_tokens
        self._adapters: Final = Adapters(model, adapters or {})
        self._adapter = ""
        sizes = Sizes(cells, sequences, batch_tokens, threads)
        self._pool: Final = CellPool(model, sizes, context_tokens)
        self._context: Final = self._pool.context
        self.cells: Final = self._pool.cells
        self.score_rows: Final = sizes.score_rows
        self.equal_parts: Final = not model.facts.can_rewind
        self._seal: Final = StateSeal(model, self._context.flags, self._adapters)
        self.fingerprint: Final = self._seal.fingerprint

    @property
    def used_cells(self) -> int:
        """Cells in use, those that several sequences share counted once."""
        return self._pool.segments.used

    @property
    def free_sequences(self) -> int:
        """How many more can be opened."""
        return self.sequences - len(self._pool.held)

    @property
    def adapter(self) -> str:
        """What the next computations use; "" is none."""
        return self._adapter

    def is_open(self, sequence: int) -> bool:
        """Whether it is; a failed computation closes sequences."""
        return sequence in self._pool.held

    def tokens(self, sequence: int) -> tuple[int, ...]:
        """All that a sequence holds."""
        return tuple(self._pool.of(sequence).tokens)

    def length(self, sequence: int) -> int:
        """How many tokens a sequence holds."""
        return len(self._pool.of(sequence).tokens)

    def own_cells(self, sequence: int) -> int:
        """Cells that closing a sequence would free."""
        self._pool.of(sequence)
        return self._pool.segments.own(sequence)

    def open(self, *, pinned: bool = False) -> int:
        """An empty sequence: the lowest free id, since low ids in a row compute fastest.

        What is `pinned` will be kept and forked rather than computed: it gets the highest free id.

        Raises:
            OverloadedError: all are in use.
        """
        free = [number for number in range(self.sequences) if number not in self._pool.held]
        if not free:
            msg = f"all {self.sequences} sequences of the model are in use"
            raise OverloadedError(msg, "Try again when another answer has ended.")
        sequence = max(free) if pinned else min(free)
        self._pool.open(sequence)
        return sequence

    def fork(self, source: int, *, pinned: bool = False) -> int:
        """A whole copy, which costs nothing until one of the two grows.

        Raises:
            OverloadedError: all sequences are in use.
        """
        self._pool.of(source)
        target = self.open(pinned=pinned)
        self._pool.fork(source, target)
        return target

    def prefill(
        self, sequence: int, tokens: Sequence[int], *, scores_at: Sequence[int] = ()
    ) -> list[NDArray[np.float32]]:
        """Compute tokens behind what a sequence holds, as a batch of their own.

        Args:
            sequence: an open one.
            tokens: at most `batch_tokens`.
            scores_at: indexes into `tokens` behind which the next token's scores are wanted; at
                most `score_rows`.

        Returns:
            Logits, shape (vocabulary,) each; views that the next computation overwrites.

        Raises:
            OverloadedError: the pool has no room for them; nothing changed.
            InternalError: they cannot be computed at once and nothing changed, or the computation
                failed and the sequence is closed.
        """
        rows = [(token, at, sequence) for at, token in enumerate(tokens, self.length(sequence))]
        self._pool.compute(rows, set(scores_at), self._adapter)
        return [self._context.scores(index) for index in scores_at]

    def prefill_many(
        self, parts: Mapping[int, Sequence[int]], *, scores_at: Collection[int] = ()
    ) -> dict[int, NDArray[np.float32]]:
        """Compute tokens behind what several sequences hold, as one batch; see `prefill`.

        Gives the logits behind the last token of each of `scores_at`.
        """
        rows: list[tuple[int, int, int]] = []
        last: dict[int, int] = {}
        for sequence, tokens in parts.items():
            start = self.length(sequence)
            rows += [(token, at, sequence) for at, token in enumerate(tokens, start)]
            last[sequence] = len(rows) - 1 if tokens else -1
        wanted = {sequence: last.get(sequence, -1) for sequence in scores_at}
        self._pool.compute(rows, wanted.values(), self._adapter)
        return {sequence: self._context.scores(row) for sequence, row in wanted.items()}

    def step(self, tokens: Mapping[int, int]) -> dict[int, NDArray[np.float32]]:
        """Compute one more token of each of several sequences, as one batch; see `prefill`."""
        ordered = sorted(tokens)
        return self.prefill_many({one: (tokens[one],) for one in ordered}, scores_at=ordered)

    def cut(self, sequence: int, keep: int) -> bool:
        """Drop the tail of a sequence so that `keep` tokens stay.

        False where the memory cannot do that; then nothing changed.
        """
        return self._pool.cut(sequence, keep)

    def close(self, sequence: int) -> None:
        """Empty a sequence and free its id; harmless if a failure closed it already."""
        self._pool.close(sequence)

    def save(self, sequence: int) -> bytes:
        """The whole state of a sequence that holds something.

        Its numbers carry no checksum: whoever lets it leave this process adds one. Raises
        InternalError if llama.cpp gave none, or the sequence is empty.
        """
        held = self._pool.of(sequence)
        seal = self._seal.of(held.tokens, held.adapter)
        state = self._context.save(sequence, seal) if held.tokens else b""
        if not state:
            msg = "the state of a sequence could not be saved"
            raise InternalError(msg)
        return state

    def restore(self, tokens: Sequence[int], state: bytes, *, pinned: bool = False) -> int | None:
        """A sequence that holds `tokens`, from what `save` gave for them.

        None if it does not fit: no sequence or no room is free, or it belongs to other tokens,
        another adapter, model or build, or is damaged. Then nothing changed.
        """
        most = min(self._pool.room, self.context_tokens)
        fits = 0 < len(tokens) <= most and self._seal.fits(state, tokens, self._adapter)
        if not fits or not self.free_sequences:
            return None
        sequence = self.open(pinned=pinned)
        held = Held(list(tokens), self._adapter)
        return sequence if self._pool.load(sequence, held, state, SEAL_BYTES) else None

    def use_adapter(self, name: str) -> None:
        """Use a LoRA adapter for the next computations; "" is none.

        Changing it costs a few milliseconds: compute what needs the same one together.

        Raises:
            NotFoundError: there is none of this name.
            InternalError: llama.cpp refuses it; the former one is in use.
        """
        handle = self._adapters.handle(name)
        if name != self._adapter:
            if not self._context.use_adapter(handle):
                msg = f"the adapter {name!r} cannot be used"
                raise InternalError(msg)
            self._adapter = name

    def use_threads(self, threads: int) -> None:
        """Compute with so many threads from now on."""
        self._context.use_threads(threads)

    def adapter_digests(self) -> dict[str, str]:
        """Each adapter's name and the SHA-256 of its file, hex."""
        return self._adapters.digests()

    def shut(self) -> None:
        """Free the context; harmless when repeated."""
        self._pool.shut()
