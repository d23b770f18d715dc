"""Every operation on a context's memory. Nothing else calls llama.cpp's memory or decode functions.

A context holds numbered sequences of tokens. Sequence 0 is the workplace: the prompt that is being
computed and the answer that grows behind it. The others hold pinned prefixes. Starting from a pin
is a whole copy (`seq_cp` from -1 to -1), which shares its cells until one of the two grows, so it
costs nothing.

Hybrid and recurrent models keep one running state a sequence instead of an entry a position. Four
rules follow, each of which gives silently wrong scores when broken:

- copy whole sequences, never a part;
- never take back a tail; where the model can (`can_rewind`), still look at the answer;
- clear the target before copying into it;
- after any failed step the sequence is cleared, since nobody knows what it holds.

A batch over the context's `n_batch` would abort the process, so batches are cut here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from homing_core.errors import InternalError, OverloadedError

from homing_inference.llama.library import native_log

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from numpy.typing import NDArray

    from homing_inference.llama.model import LoadedModel

_WORK: Final = 0
_NO_SLOT: Final = 1
_CELL_BLOCK: Final = 256
_ALSO_DATA: Final = True

BATCH_TOKENS: Final = 128
"""Tokens computed at once. Larger batches were not faster on 2 cores, reserve more memory (75 MiB
at 128, 300 at 512, for a vocabulary of 150,000) and make cancelling slower."""
PINNED_PREFIXES: Final = 3
"""Prefixes kept at once; each costs its tokens' memory, and on hybrid models one state."""


class Sequences:
    """A context and what it holds. Belongs to one thread.

    Args:
        model: stays loaded for as long as this is open.
        context_tokens: prompt and answer together.
        threads: that compute.
        batch_tokens: computed at once.
        pinned: prefixes kept.

    Raises:
        OverloadedError: there is not enough memory for it.
    """

    def __init__(
        self,
        model: LoadedModel,
        *,
        context_tokens: int,
        threads: int,
        batch_tokens: int = BATCH_TOKENS,
        pinned: int = PINNED_PREFIXES,
    ) -> None:
        """Reserve all the memory that it will use."""
        self._library: Final[ModuleType] = model.library
        self._vocabulary_size: Final = model.vocabulary.size
        self._can_rewind: Final = model.facts.can_rewind
        self._batch_tokens: Final = batch_tokens
        # Pins that the present prompt does not start with need cells of their own.
        self._spare: Final = context_tokens // 4
        self.context_tokens: Final = context_tokens
        self._held: list[int] = []
        self._last_prompt: tuple[int, ...] = ()
        self._pins: dict[int, tuple[int, ...]] = {}
        """Sequence to tokens, least recently used first."""
        self._free: list[int] = list(range(1, 1 + pinned))
        cells = context_tokens + self._spare
        self._context: object = self._open(
            model, -(-cells // _CELL_BLOCK) * _CELL_BLOCK, threads, sequences=1 + pinned
        )
        self._memory: object = self._library.llama_get_memory(self._context)
        self._batch = self._library.llama_batch_init(batch_tokens, 0, 1)

    @property
    def held(self) -> int:
        """Tokens in the workplace."""
        return len(self._held)

    @property
    def pinned(self) -> tuple[tuple[int, ...], ...]:
        """The pinned prefixes, least recently used first."""
        return tuple(self._pins.values())

    def start(self, prompt: Sequence[int]) -> int:
        """Put as much of `prompt` into the workplace as is known already, but not its last token.

        A conversation that goes on is taken up where it stands; otherwise the longest pin is. The
        same prompt again always starts from its pin: scores depend a little on how tokens were
        batched, and a repeated request should get the same answer.

        Returns:
            How many tokens that are; `advance` computes the others.
        """
        most = len(prompt) - 1
        common = _common_prefix(self._held, prompt, most)
        pin = self._longest_pin(prompt, most)
        pinned = len(self._pins[pin]) if pin is not None else 0
        repeated = tuple(prompt) == self._last_prompt
        self._last_prompt = tuple(prompt)
        gain = common - pinned
        worthwhile = gain >= self._batch_tokens or (gain > 0 and common == len(self._held))
        if worthwhile and not repeated and self._cut(common):
            return common
        self._clear(_WORK)
        self._held = []
        if pin is not None:
            self._library.llama_memory_seq_cp(self._memory, pin, _WORK, -1, -1)
            self._held = list(self._pins[pin])
            self._check_end(_WORK, pinned)
            self._pins[pin] = self._pins.pop(pin)
        return pinned

    def advance(self, prompt: Sequence[int], pin_at: int = 0) -> bool:
        """Compute the next batch of `prompt`, and pin it where it has `pin_at` tokens.

        Returns:
            Whether the whole prompt is in the workplace now; then `scores` gives what follows it.
        """
        done = len(self._held)
        end = min(done + self._batch_tokens, len(prompt))
        if done < pin_at < end:
            end = pin_at
        self.append(prompt[done:end])
        if end == pin_at:
            self.pin()
        return end == len(prompt)

    def append(self, tokens: Sequence[int]) -> None:
        """Compute at most a batch of tokens behind what the workplace holds.

        Raises:
            InternalError: the computation failed; the workplace is empty now.
        """
        if not 0 < len(tokens) <= self._batch_tokens or self.held + len(tokens) > (
            self.context_tokens
        ):
            msg = f"{len(tokens)} tokens cannot be computed at once behind {self.held}"
            raise InternalError(msg)
        status = self._decode(tokens)
        if status == _NO_SLOT and self._pins:
            for pin in tuple(self._pins):
                self._unpin(pin)
            status = self._decode(tokens)
        if status != 0:
            self._clear(_WORK)
            self._held = []
            native_log.errors()
            msg = f"the model could not compute its next step (status {status})"
            raise InternalError(msg, "Try again; if it happens again, use a smaller context.")
        self._held.extend(tokens)

    def pin(self) -> None:
        """Keep what the workplace holds as a prefix; the least recently used one makes room."""
        tokens = tuple(self._held)
        if not tokens or tokens in self._pins.values():
            return
        # The workplace shares the new pin's cells; the other pins need cells of their own.
        while self._pins and (not self._free or sum(map(len, self._pins.values())) > self._spare):
            self._unpin(next(iter(self._pins)))
        if not self._free:
            return
        pin = min(self._free)
        self._free.remove(pin)
        self._clear(pin)
        self._library.llama_memory_seq_cp(self._memory, _WORK, pin, -1, -1)
        self._check_end(pin, len(tokens))
        self._pins[pin] = tokens

    def renew_pin(self, tokens: Sequence[int]) -> bool:
        """Whether exactly this is pinned; if so it counts as just used."""
        wanted = tuple(tokens)
        for pin, pinned in self._pins.items():
            if pinned == wanted:
                self._pins[pin] = self._pins.pop(pin)
                return True
        return False

    def scores(self) -> NDArray[np.float32]:
        """What the model gives each token as the next one.

        Returns:
            Logits, shape (vocabulary,). A view that the next computation overwrites.

        Raises:
            InternalError: nothing was computed yet.
        """
        pointer = self._library.llama_get_logits_ith(self._context, -1)
        if not pointer:
            msg = "the model gave no scores"
            raise InternalError(msg)
        return np.ctypeslib.as_array(pointer, shape=(self._vocabulary_size,))

    def close(self) -> None:
        """Free it; harmless when repeated."""
        context, self._context = self._context, None
        if context:
            self._library.llama_batch_free(self._batch)
            self._library.llama_free(context)

    def _open(self, model: LoadedModel, cells: int, threads: int, sequences: int) -> object:
        parameters = self._library.llama_context_default_params()
        parameters.n_ctx = cells
        parameters.n_batch = self._batch_tokens
        parameters.n_ubatch = self._batch_tokens
        parameters.n_seq_max = sequences
        parameters.n_threads = threads
        parameters.n_threads_batch = threads
        # One pool of cells for all sequences: that is what makes a copied prefix free.
        parameters.kv_unified = True
        native_log.errors()
        context: object = self._library.llama_init_from_model(model.handle, parameters)
        if not context:
            native_log.errors()
            msg = f"there is not enough memory for a context of {self.context_tokens} tokens"
            raise OverloadedError(msg, "Ask for a smaller context, or close other programs.")
        return context

    def _decode(self, tokens: Sequence[int]) -> int:
        batch = self._batch
        first = len(self._held)
        batch.n_tokens = len(tokens)
        for index, token in enumerate(tokens):
            batch.token[index] = token
            batch.pos[index] = first + index
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = _WORK
            batch.logits[index] = index == len(tokens) - 1
        status: int = self._library.llama_decode(self._context, batch)
        return status

    def _cut(self, keep: int) -> bool:
        """Drop the workplace's tail so that `keep` tokens stay; False if that cannot be done."""
        if keep == len(self._held):
            return True
        if not self._can_rewind:
            return False
        if not self._library.llama_memory_seq_rm(self._memory, _WORK, keep, -1):
            return False
        del self._held[keep:]
        self._check_end(_WORK, keep)
        return True

    def _clear(self, sequence: int) -> None:
        if not self._library.llama_memory_seq_rm(self._memory, sequence, -1, -1):
            self._forget_all()  # never happens for whole sequences, so nothing can be trusted

    def _unpin(self, pin: int) -> None:
        del self._pins[pin]
        self._free.append(pin)
        self._clear(pin)

    def _longest_pin(self, prompt: Sequence[int], most: int) -> int | None:
        fitting = [
            pin
            for pin, tokens in self._pins.items()
            if len(tokens) <= most and tokens == tuple(prompt[: len(tokens)])
        ]
        return max(fitting, key=lambda pin: len(self._pins[pin]), default=None)

    def _forget_all(self) -> None:
        self._library.llama_memory_clear(self._memory, _ALSO_DATA)
        self._held = []
        self._free.extend(self._pins)
        self._pins.clear()

    def _check_end(self, sequence: int, tokens: int) -> None:
        last: int = self._library.llama_memory_seq_pos_max(self._memory, sequence)
        if last != tokens - 1:
            self._forget_all()
            msg = f"a sequence of {tokens} tokens ends at position {last}"
            raise InternalError(msg, "Try again; its memory was emptied.")


def _common_prefix(left: Sequence[int], right: Sequence[int], most: int) -> int:
    for index, (one, other) in enumerate(zip(left, right, strict=False)):
        if index == most or one != other:
            return index
    return min(len(left), len(right), most)
