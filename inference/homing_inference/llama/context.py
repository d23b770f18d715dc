"""One llama.cpp context: its memory, its computations, its saved states. Rules live in `sequences`.

Every method is one native call, its arguments checked so that none can abort the process: a batch
over `n_batch`, a sequence id that does not exist or too many rows of scores would.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Final

import numpy as np
from homing_core.errors import InternalError, OverloadedError

from homing_inference.llama.context_sizes import Outcome, Sizes
from homing_inference.llama.library import native_log

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from types import ModuleType

    from numpy.typing import NDArray

    from homing_inference.llama.model import LoadedModel

_CELL_BLOCK: Final = 256
_ALSO_DATA: Final = True
_WHOLE: Final = -1
_NO_SLOT: Final = 1
_REFUSED: Final = -1

_new_bytes: Final = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)(
    ("PyBytes_FromStringAndSize", ctypes.pythonapi)
)


class Context:
    """A context. Belongs to one thread.

    Args:
        model: stays loaded for as long as this is open.
        sizes: what to reserve.

    Raises:
        OverloadedError: there is not enough memory for it.
    """

    def __init__(self, model: LoadedModel, sizes: Sizes) -> None:
        """Reserve all the memory that it will use."""
        self._library: Final[ModuleType] = model.library
        self._vocabulary_size: Final = model.vocabulary.size
        self._vector_width: Final = model.vector_width
        self.sizes: Final = sizes
        self._parameters: Final = self._library.llama_context_default_params()
        self._handle: object = self._open(model)
        self.cells: Final[int] = self._library.llama_n_ctx(self._handle)
        self._memory: object = self._library.llama_get_memory(self._handle)
        batch = self._library.llama_batch_init(sizes.batch_tokens, 0, 1)
        self._batch = batch
        length = (sizes.batch_tokens,)
        self._tokens = np.ctypeslib.as_array(batch.token, length)
        self._positions = np.ctypeslib.as_array(batch.pos, length)
        self._wanted = np.ctypeslib.as_array(batch.logits, length)
        self._ids = [batch.seq_id[index] for index in range(sizes.batch_tokens)]
        np.ctypeslib.as_array(batch.n_seq_id, length)[:] = 1

    @property
    def flags(self) -> tuple[int, ...]:
        """What a saved state depends on: types of keys and values, unified cells, attention."""
        used = self._parameters
        return (
            *(used.type_k, used.type_v, used.kv_unified, used.swa_full),
            *(used.flash_attn_type, used.offload_kqv),
        )

    def compute(self, rows: Sequence[tuple[int, int, int]], scores_at: Collection[int]) -> Outcome:
        """Compute one batch.

        Args:
            rows: token, position and sequence of each.
            scores_at: indexes of rows whose scores are wanted.

        Raises:
            InternalError: there are too many rows, or a token or sequence that does not exist.
        """
        count = len(rows)
        if not 0 < count <= self.sizes.batch_tokens or len(scores_at) > self.sizes.score_rows:
            msg = f"{count} tokens with {len(scores_at)} rows of scores cannot be computed at once"
            raise InternalError(msg)
        if any(not 0 <= row < count for row in scores_at):
            msg = "scores are wanted behind a token that is not computed"
            raise InternalError(msg)
        tokens, positions, ids = zip(*rows, strict=True)
        if min(tokens) < 0 or max(tokens) >= self._vocabulary_size:
            msg = "a token that the model does not have cannot be computed"
            raise InternalError(msg)
        for index, sequence in enumerate(ids):
            self._check_id(sequence)
            self._ids[index][0] = sequence
        self._tokens[:count] = tokens
        self._positions[:count] = positions
        self._wanted[:count] = 0
        for index in scores_at:
            self._wanted[index] = 1
        self._batch.n_tokens = count
        native_log.errors()
        status: int = self._library.llama_decode(self._handle, self._batch)
        if status == 0:
            return Outcome.DONE
        if status == _NO_SLOT:
            return Outcome.NO_ROOM
        return Outcome.REFUSED if status == _REFUSED else Outcome.FAILED

    def scores(self, row: int) -> NDArray[np.float32]:
        """Logits behind row `row` of the last batch, shape (vocabulary,).

        A view that the next computation overwrites.

        Raises:
            InternalError: no scores were asked for there.
        """
        pointer = self._library.llama_get_logits_ith(self._handle, row)
        if not pointer:
            msg = "the model gave no scores"
            raise InternalError(msg)
        return np.ctypeslib.as_array(pointer, shape=(self._vocabulary_size,))

    def vectors(self, rows: int) -> NDArray[np.float32]:
        """The vectors of the last batch's rows, which are `rows`; shape (rows, width).

        A view that the next computation overwrites.

        Raises:
            InternalError: there are none.
        """
        pointer = self._library.llama_get_embeddings(self._handle)
        if not self.sizes.vectors or not pointer:
            msg = "the model gave no vectors"
            raise InternalError(msg)
        return np.ctypeslib.as_array(pointer, shape=(rows, self._vector_width))

    def ends(self, sequence: int) -> tuple[int, int]:
        """First and last position that the memory holds of a sequence; (-1, -1) if it is empty."""
        self._check_id(sequence)
        first: int = self._library.llama_memory_seq_pos_min(self._memory, sequence)
        last: int = self._library.llama_memory_seq_pos_max(self._memory, sequence)
        return first, last

    def copy(self, source: int, target: int) -> None:
        """Let `target`, which must be empty, hold all that `source` holds."""
        self._check_id(source)
        self._check_id(target)
        self._library.llama_memory_seq_cp(self._memory, source, target, _WHOLE, _WHOLE)

    def remove(self, sequence: int, first: int = _WHOLE) -> bool:
        """Drop a sequence from position `first` on, or all of it; whether the memory did that."""
        self._check_id(sequence)
        return bool(self._library.llama_memory_seq_rm(self._memory, sequence, first, _WHOLE))

    def clear(self) -> None:
        """Empty all of the memory, if there is one: a model without causal attention has none."""
        if self._memory:
            self._library.llama_memory_clear(self._memory, _ALSO_DATA)

    def save(self, sequence: int, front: bytes) -> bytes:
        """`front` and then the whole state of a sequence; empty if llama.cpp gave none."""
        self._check_id(sequence)
        size: int = self._library.llama_state_seq_get_size(self._handle, sequence)
        if size == 0:
            return b""
        # Written in place: nobody else has seen these bytes yet, and a copy may be 100 MB.
        state: bytes = _new_bytes(None, len(front) + size)
        ctypes.memmove(_address(state), front, len(front))
        written: int = self._library.llama_state_seq_get_data(
            self._handle, _bytes_at(_address(state, len(front))), size, sequence
        )
        return state if written == size else b""

    def load(self, sequence: int, state: bytes, start: int) -> bool:
        """Put what `state` holds from `start` on into an empty sequence; whether all was taken."""
        self._check_id(sequence)
        size = len(state) - start
        taken: int = self._library.llama_state_seq_set_data(
            self._handle, _bytes_at(_address(state, start)), size, sequence
        )
        return taken == size

    def use_adapter(self, adapter: object | None) -> bool:
        """Compute with one LoRA adapter of this model, or with none; whether it was accepted."""
        library = self._library
        if adapter is None:
            return bool(library.llama_set_adapters_lora(self._handle, None, 0, None) == 0)
        adapters = (library.llama_adapter_lora_p_ctypes * 1)(adapter)
        scales = (ctypes.c_float * 1)(1.0)
        return bool(library.llama_set_adapters_lora(self._handle, adapters, 1, scales) == 0)

    def use_threads(self, threads: int) -> None:
        """Compute with so many threads from now on."""
        self._library.llama_set_n_threads(self._handle, threads, threads)

    def close(self) -> None:
        """Free it; harmless when repeated."""
        handle, self._handle = self._handle, None
        if handle:
            self._library.llama_batch_free(self._batch)
            self._library.llama_free(handle)

    def _open(self, model: LoadedModel) -> object:
        parameters, sizes = self._parameters, self.sizes
        parameters.n_ctx = -(-sizes.cells // _CELL_BLOCK) * _CELL_BLOCK
        parameters.n_batch = sizes.batch_tokens
        parameters.n_ubatch = sizes.batch_tokens
        parameters.n_seq_max = sizes.sequences
        parameters.n_outputs_max = sizes.score_rows
        parameters.n_threads = sizes.threads
        parameters.n_threads_batch = sizes.threads
        parameters.embeddings = sizes.vectors
        if sizes.vectors:
            parameters.pooling_type = self._library.LLAMA_POOLING_TYPE_NONE
        # One pool of cells for all sequences: that is what makes a copied prefix free.
        parameters.kv_unified = True
        model.check_context(parameters.n_ctx, sizes.sequences)
        native_log.errors()
        context: object = self._library.llama_init_from_model(model.handle, parameters)
        if not context:
            native_log.errors()
            msg = f"there is not enough memory for a context of {sizes.cells} tokens"
            raise OverloadedError(msg, "Ask for a smaller context, or close other programs.")
        return context

    def _check_id(self, sequence: int) -> None:
        if not 0 <= sequence < self.sizes.sequences:
            msg = f"there is no sequence {sequence}"
            raise InternalError(msg)


def _address(data: bytes, start: int = 0) -> int:
    """Where the bytes of `data` from `start` on lie; valid while `data` lives."""
    return (ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0) + start


def _bytes_at(address: int) -> object:
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_uint8))
