"""A context together with the books of what it holds; every change is checked against both.

Hybrid and recurrent models keep one running state a sequence instead of an entry a position. These
rules follow from llama.cpp's sources; each, when broken, gives silently wrong scores:

- copy whole sequences, never a part, and only into an empty one;
- never take back a tail where the model cannot (`can_rewind`); where it can, look at the answer;
- look at every answer, and at the positions that the memory holds after each operation;
- a state is restored only where its frame, its tokens, its adapter and the build that wrote it fit,
  and only if all of its bytes were taken;
- a sequence is computed with one adapter from its first token to its last;
- a computation that broke off leaves its sequences undefined: they are closed. Recurrent states are
  moved between rows during a computation, those of other sequences included, so there everything
  is closed;
- if the memory contradicts the books, everything is closed.

A sequence's scores are equal to the bit whenever its tokens are computed in batches of the same
shape (as many rows, its own at the same place; for running states, parts of the same lengths, too),
whatever else the context holds, with three exceptions, in which they differ as they do between
batch shapes. All come from the order in which attention adds up cells (measured on CPUs with flash
attention; without it, any placement matters):

- its cells are not in the order of its tokens: it grew after something that lay before it was
  closed or cut, and took the cells that became free there;
- batches of 64 tokens or more go through the cells in tiles of 64, so their place counts;
- a step of one row over 512 cells or more is divided among the threads, by the highest used cell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn

from homing_core.errors import InternalError, OverloadedError

from homing_inference.llama.context import Context
from homing_inference.llama.context_sizes import Outcome
from homing_inference.llama.library import native_log
from homing_inference.llama.segments import Segments

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from homing_inference.llama.context_sizes import Sizes
    from homing_inference.llama.model import LoadedModel

_NOTHING: Final = (-1, -1)


@dataclass(slots=True)
class Held:
    """What a sequence holds.

    Attributes:
        tokens: in order.
        adapter: that they were computed with; "" is none.
    """

    tokens: list[int] = field(default_factory=list[int])
    adapter: str = ""


class CellPool:
    """The cells of a context and the sequences that hold them.

    Args:
        model: stays loaded for as long as this is open.
        sizes: what to reserve.
        context_tokens: most tokens of one sequence.

    Raises:
        OverloadedError: there is not enough memory for it.
    """

    def __init__(self, model: LoadedModel, sizes: Sizes, context_tokens: int) -> None:
        """Reserve all the memory that it will use."""
        self.context: Final = Context(model, sizes)
        self.cells: Final = self.context.cells
        self.held: Final[dict[int, Held]] = {}
        self.segments: Final = Segments()
        self._context_tokens: Final = context_tokens
        self._can_rewind: Final = model.facts.can_rewind

    @property
    def room(self) -> int:
        """Cells that nobody holds."""
        return self.cells - self.segments.used

    def of(self, sequence: int) -> Held:
        """What an open sequence holds.

        Raises:
            InternalError: it is not open.
        """
        try:
            return self.held[sequence]
        except KeyError:
            msg = f"sequence {sequence} is not open"
            raise InternalError(msg, "Try again; a failure may have closed it.") from None

    def open(self, sequence: int) -> None:
        """Open a sequence that is not; it holds nothing."""
        self._expect(sequence, 0)
        self.held[sequence] = Held()

    def fork(self, source: int, target: int) -> None:
        """Let `target`, which was just opened, hold all that `source` holds."""
        held = self.of(source)
        self.context.copy(source, target)
        self.held[target] = Held(list(held.tokens), held.adapter)
        self.segments.fork(source, target)
        self._expect(source, len(held.tokens))
        self._expect(target, len(held.tokens))

    def compute(
        self, rows: Sequence[tuple[int, int, int]], scores_at: Collection[int], adapter: str
    ) -> None:
        """Compute rows of token, position and sequence, with the adapter in use.

        Raises:
            OverloadedError: there is no room for them; nothing changed.
            InternalError: they cannot be computed at once and nothing changed, or the computation
                failed and the sequences are closed.
        """
        ids = {sequence for _, _, sequence in rows}
        self._check(rows, ids, adapter)
        match self.context.compute(rows, scores_at):
            case Outcome.NO_ROOM:
                raise self._full()
            case Outcome.REFUSED | Outcome.FAILED as outcome:
                self._fail(ids, outcome)
            case Outcome.DONE:
                for token, _, sequence in rows:
                    held = self.held[sequence]
                    held.tokens.append(token)
                    held.adapter = adapter
                    self.segments.grow(sequence, 1)
                for sequence in ids:
                    self._expect(sequence, len(self.of(sequence).tokens))

    def cut(self, sequence: int, keep: int) -> bool:
        """Keep the first `keep` tokens; False where the memory cannot, then nothing changed."""
        held = self.of(sequence)
        if not 0 <= keep <= len(held.tokens):
            msg = f"a sequence of {len(held.tokens)} tokens cannot keep {keep}"
            raise InternalError(msg)
        if keep == len(held.tokens):
            return True
        if keep == 0:
            self._empty(sequence)
        elif not self._can_rewind or not self.context.remove(sequence, keep):
            return False
        del held.tokens[keep:]
        self.segments.cut(sequence, keep)
        self._expect(sequence, keep)
        return True

    def close(self, sequence: int) -> None:
        """Empty a sequence and close it; harmless if it is not open."""
        if self.held.pop(sequence, None) is not None:
            self.segments.close(sequence)
            self._empty(sequence)

    def load(self, sequence: int, held: Held, state: bytes, start: int) -> bool:
        """Fill a sequence that was just opened from `state`, which begins at `start`.

        Returns:
            False if llama.cpp refused it; then the sequence is closed.
        """
        native_log.errors()
        if not self.context.load(sequence, state, start):
            native_log.errors()
            self.close(sequence)
            return False
        self.held[sequence] = held
        self.segments.grow(sequence, len(held.tokens))
        self._expect(sequence, len(held.tokens))
        return True

    def shut(self) -> None:
        """Free the context; harmless when repeated."""
        self.held.clear()
        self.segments.clear()
        self.context.close()

    def _check(
        self, rows: Sequence[tuple[int, int, int]], ids: Collection[int], adapter: str
    ) -> None:
        if any(position >= self._context_tokens for _, position, _ in rows):
            msg = f"a sequence of more than {self._context_tokens} tokens cannot be computed"
            raise InternalError(msg)
        for sequence in ids:
            held = self.of(sequence)
            if held.tokens and held.adapter != adapter:
                msg = "a sequence cannot go on with another adapter than it began with"
                raise InternalError(msg)
        if len(rows) > self.room:
            raise self._full()

    def _fail(self, ids: Collection[int], outcome: Outcome) -> NoReturn:
        native_log.errors()
        if outcome is Outcome.FAILED and not self._can_rewind:
            self._forget_all()
        for sequence in ids:
            self.close(sequence)
        msg = "the model could not compute its next step"
        raise InternalError(msg, "Try again; if it happens again, use a smaller context.")

    def _empty(self, sequence: int) -> None:
        if not self.context.remove(sequence):
            self._forget_all()  # never happens for whole sequences, so nothing can be trusted
        self._expect(sequence, 0)

    def _expect(self, sequence: int, tokens: int) -> None:
        """Compare the memory with the books; nothing can be trusted if they differ."""
        first, last = self.context.ends(sequence)
        whole = (0, tokens - 1) if tokens else _NOTHING
        if last != whole[1] or (self._can_rewind and first != whole[0]):
            self._forget_all()
            msg = f"a sequence of {tokens} tokens reaches from position {first} to {last}"
            raise InternalError(msg, "Try again; the memory was emptied.")

    def _forget_all(self) -> None:
        self.context.clear()
        self.held.clear()
        self.segments.clear()

    def _full(self) -> OverloadedError:
        msg = f"the model's memory of {self.cells} tokens is full"
        return OverloadedError(msg, "Try again when another answer has ended.")
