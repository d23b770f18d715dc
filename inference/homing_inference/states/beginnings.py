"""Where the computation of a prompt begins: behind a pin, a checkpoint, a saved prefix, or nothing.

- A **pin** is a sequence that holds what system message and tools render to. Every conversation
  may begin as its fork, which costs nothing. Pins are the only states that are written to disk.
- A **checkpoint** is the saved state of one owner's conversation, in main memory only, for turns to
  come. It is never given to another owner.

Scores depend a little on how tokens were cut into batches and on where in memory they lie, and a
request that is repeated shall get the same answer. It does, to the bit: it begins where it began
the first time, or at the end of the prefix, from states with the very bits that they had then. What
follows is cut at the same places, since a computation begins only where one before also began a
batch: at the end of the prefix, at a cut of the prompt, or whole batches behind one of these. That
holds for a request that is computed alone in batches of `batch_tokens` while the states that it
begins with are there; otherwise scores differ as they do between batch sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.errors import InternalError

from homing_inference.machine.sizes import PINNED_PREFIXES
from homing_inference.states.checkpoints import Checkpoint, Checkpoints
from homing_inference.states.pins import Pins
from homing_inference.states.prefixes import Pinned
from homing_inference.states.repeats import Repeats, batch_start
from homing_inference.states.saving import restored, saved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_inference.states.pins import Pin
    from homing_inference.states.prefixes import PrefixStore
    from homing_inference.states.sequence_pool import SequencePool


@dataclass(frozen=True, slots=True)
class Beginning:
    """A sequence to go on with.

    Attributes:
        sequence: its id; whoever asked closes it.
        cached: tokens of the prompt that it holds.
    """

    sequence: int
    cached: int


class Beginnings:
    """Knows every state that a prompt may begin with. Belongs to the sequences' thread.

    Args:
        sequences: the pool; it must have `pins` ids more than requests use.
        can_rewind: whether the model's memory can drop the tail of a sequence.
        checkpoint_bytes: main memory for checkpoints.
        store: prefixes on disk; None for none.
        pins: prefixes pinned at most.
    """

    def __init__(
        self,
        sequences: SequencePool,
        *,
        can_rewind: bool,
        checkpoint_bytes: int,
        store: PrefixStore | None = None,
        pins: int = PINNED_PREFIXES,
    ) -> None:
        """Nothing is known yet."""
        self._sequences = sequences
        self._can_rewind: Final = can_rewind
        self._checkpoints: Final = Checkpoints(checkpoint_bytes)
        self._pins: Final = Pins(sequences, pins, store)
        self._repeats: Final = Repeats()
        self._prefixes: dict[int, tuple[int, ...]] = {}
        """For each sequence given out the prefix that its prompt said it has."""

    @property
    def pinned(self) -> tuple[Pinned, ...]:
        """The pinned prefixes, least recently used first."""
        return tuple(Pinned(len(pin.tokens), pin.sha256) for pin in self._pins.all)

    @property
    def checkpoint_bytes(self) -> int:
        """Main memory that checkpoints take now."""
        return self._checkpoints.used_bytes

    def start(
        self,
        tokens: Sequence[int],
        *,
        owner: str,
        adapter: str,
        prefix_tokens: int = 0,
        cuts: Sequence[int] = (),
    ) -> Beginning:
        """A fresh sequence that holds as much of the prompt as is known, but not its last token.

        Args:
            tokens: the prompt.
            owner: whose it is; only this owner's checkpoints are looked at.
            adapter: that will compute; empty for none.
            prefix_tokens: how many of them system message and tools account for; 0 if unknown.
            cuts: the prompt's, ascending.

        Raises:
            OverloadedError: no sequence is free.
        """
        self._pins.prune()
        prompt = tuple(tokens)
        prefix = prompt[:prefix_tokens]
        found, known = self._checkpoint(prompt, owner, adapter, (0, prefix_tokens, *cuts))
        pin = self._pins.longest(prompt[:-1], adapter)
        if max(known, _length(pin)) < prefix_tokens < len(prompt):
            pin = self._pins.load(prefix, adapter) or self._pins.longest(prompt[:-1], adapter)
        begun: Beginning | None = None
        if found is not None and known > _length(pin):
            gain = known - _length(pin)
            begun = self._restore(found, adapter, known, len(prompt), gain=gain)
            pin = self._pins.longest(prompt[:-1], adapter)
        if begun is None:
            begun = self._fork(pin)
        self._prefixes[begun.sequence] = prefix
        self._repeats.note(prompt, begun.cached, owner=owner, adapter=adapter)
        return begun

    def stops(self, cuts: Sequence[int]) -> tuple[int, ...]:
        """At which of a prompt's cuts a checkpoint is worth keeping.

        Where a tail can be dropped, the state at the last cut serves for all before it.
        """
        return tuple(cuts[-1:] if self._can_rewind else cuts)

    def pin(self, sequence: int, *, adapter: str, sha256: str) -> None:
        """Keep what a sequence holds as a prefix, and write it to disk in the background.

        Where no room is left for a pin, only the disk gets it.

        Args:
            sequence: given by `start`, now computed up to the end of the prefix.
            adapter: under which it was computed.
            sha256: of the prefix's text, hex.

        Raises:
            InternalError: the sequence holds something else than the prefix that `start` was told:
                words of a conversation are never pinned, since pins are shared and go to disk.
        """
        tokens = self._sequences.tokens(sequence)
        if not tokens or tokens != self._prefixes.get(sequence):
            msg = "only what system message and tools render to can be pinned"
            raise InternalError(msg)
        self._pins.prune()
        self._pins.add(sequence, tokens, adapter, sha256)

    def renew(self, tokens: Sequence[int], *, adapter: str) -> bool:
        """Whether exactly this prefix is pinned, perhaps from disk; it counts as just used."""
        self._pins.prune()
        prefix = tuple(tokens)
        return self._pins.renew(prefix, adapter) or self._pins.load(prefix, adapter) is not None

    def keep(self, sequence: int, *, owner: str, adapter: str) -> None:
        """Keep a checkpoint of what a sequence holds, in main memory, for its owner alone."""
        tokens = self._sequences.tokens(sequence)
        if not tokens or self._checkpoints.renew(tokens, owner=owner, adapter=adapter):
            return
        state = saved(self._sequences, sequence)
        if state is None:
            return
        self._checkpoints.put(
            Checkpoint(tokens, state), owner=owner, adapter=adapter, supersede=self._can_rewind
        )

    def forget(self, owner: str) -> None:
        """Drop all checkpoints of an owner."""
        self._checkpoints.forget(owner)
        self._repeats.forget(owner)

    def make_room(self, cells: int) -> bool:
        """Unpin what is least recently used until so many cells are free.

        A pin whose cells all belong to running answers too is left alone: it would free nothing.

        Returns:
            Whether they are free now.
        """
        self._pins.prune()
        return self._pins.make_room(cells)

    def close(self) -> None:
        """Let go of everything; waits until what is being written to disk is there."""
        self._pins.close()
        self._checkpoints.clear()

    def _checkpoint(
        self, prompt: tuple[int, ...], owner: str, adapter: str, places: Sequence[int]
    ) -> tuple[Checkpoint | None, int]:
        """The checkpoint to begin with and how many of its tokens; see the module's words.

        `places` are where batches begin: 0, the end of the prefix, the cuts.
        """
        most = len(prompt) - 1
        first = self._repeats.began(prompt, owner=owner, adapter=adapter)
        if first is not None:
            most = min(most, max(first, places[1]))
            places = sorted((*places, most))
        best = self._checkpoints.best(
            prompt[:most], owner=owner, adapter=adapter, can_cut=self._can_rewind
        )
        if best is None:
            return None, 0
        checkpoint, common = best
        if common < len(checkpoint.tokens):
            common = batch_start(common, places, self._sequences.batch_tokens)
        return checkpoint, common

    def _fork(self, pin: Pin | None) -> Beginning:
        if pin is None:
            return Beginning(self._sequences.open(), 0)
        self._pins.touch(pin)
        return Beginning(self._sequences.fork(pin.sequence), len(pin.tokens))

    def _restore(
        self, checkpoint: Checkpoint, adapter: str, keep: int, prompt_tokens: int, *, gain: int
    ) -> Beginning | None:
        """A sequence with the checkpoint's first tokens; None if it cannot be had.

        It shares no cells, so it may not fit beside the pins. Those may go where much is gained and
        they can be read again.
        """
        needed = max(len(checkpoint.tokens), prompt_tokens)
        worthwhile = self._pins.outlive and gain >= self._sequences.batch_tokens
        if self._pins.free_cells < needed and not (worthwhile and self._pins.make_room(needed)):
            return None
        sequence = restored(self._sequences, checkpoint.tokens, checkpoint.state, adapter)
        if sequence is None:
            self._checkpoints.drop(checkpoint)
            return None
        if keep < len(checkpoint.tokens) and not self._sequences.cut(sequence, keep):
            self._sequences.close(sequence)
            return None
        return Beginning(sequence, keep)


def _length(pin: Pin | None) -> int:
    return 0 if pin is None else len(pin.tokens)
