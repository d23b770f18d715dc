"""A loaded model: its weights, what its file says of it, and its vocabulary."""

from __future__ import annotations

import ctypes
import functools
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_inference.llama.library import load_library, native_log
from homing_inference.llama.load_errors import check_file, load_error
from homing_inference.llama.state_layout import StateLayout
from homing_inference.llama.vocabulary import Vocabulary
from homing_inference.machine.mapped_file import let_go_of
from homing_inference.machine.memory_room import available_memory, check_room, context_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

_FTYPE_NAME: Final = re.compile(r"LLAMA_FTYPE_(?:MOSTLY|ALL)_(\w+)")
_META_BYTES: Final = 256


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a model's file says of it.

    Attributes:
        architecture: such as `qwen35`.
        quantization: weights' format, such as `Q4_K_M`.
        trained_context: tokens that it was trained on at once.
        template: chat template in Jinja; empty if there is none.
        bos: text of the begin-of-sequence token; empty if there is none.
        eos: text of the end-of-sequence token; empty if there is none.
        can_rewind: whether its memory can drop the tail of a sequence. Recurrent and hybrid models
            keep one state a sequence, which cannot be taken back.
    """

    architecture: str
    quantization: str
    trained_context: int
    template: str
    bos: str
    eos: str
    can_rewind: bool


class LoadedModel:
    """Weights and vocabulary. Contexts made from it must be closed first.

    Args:
        path: a GGUF file.
        gpu_layers: layers on an accelerator; 0 for none, -1 for all.
        on_progress: called while loading with a share in [0, 1].
        available: tells how many bytes of memory can be taken; None where nobody knows.

    Raises:
        NotFoundError: there is no such file.
        UsageError: it cannot be read.
        InvalidDataError: it is not a model that this llama.cpp can run.
        IntegrityError: it is cut off.
        OverloadedError: it does not fit the memory.
        UnavailableError: llama.cpp itself cannot be loaded.
    """

    def __init__(
        self,
        path: Path,
        *,
        gpu_layers: int = 0,
        on_progress: Callable[[float], None] | None = None,
        available: Callable[[], int | None] = available_memory,
    ) -> None:
        """Load it; takes seconds for a file that is not in the page cache."""
        check_file(path)
        self._memory_left: Final = self._check_memory(path, available(), gpu_layers)
        self.library: Final[ModuleType] = load_library()
        native_log.errors()
        self.handle: object = self._load(path, gpu_layers, on_progress)
        if not self.handle:
            raise load_error(path, native_log.errors())
        let_go_of(path)
        self.vocabulary: Final = Vocabulary(
            self.library, self.library.llama_model_get_vocab(self.handle)
        )
        if self.vocabulary.size == 0 or not self.library.llama_model_has_decoder(self.handle):
            self.close()
            raise load_error(path, "")
        self.facts: Final = self._read_facts()
        self.state_layout: Final = self._read_layout()

    @property
    def tag(self) -> str:
        """Tells this model from others whose states would have the same form; not a file's hash."""
        library, handle = self.library, self.handle
        sizes = (library.llama_model_n_params(handle), library.llama_model_size(handle))
        return repr((self.facts, sizes))

    @property
    def vector_width(self) -> int:
        """Numbers in the vector that the model makes of each token."""
        width: int = self.library.llama_model_n_embd_out(self.handle)
        return width

    @property
    def causal(self) -> bool:
        """Whether a token attends to earlier ones only, as in every model that writes text."""
        return self._metadata(f"{self.facts.architecture}.attention.causal") != "false"

    @property
    def pooling_type(self) -> int:
        """`llama_pooling_type` that the file names; 0 for none."""
        return self._number("pooling_type")

    def check_context(self, cells: int, sequences: int) -> None:
        """Refuse a context for which there was no memory beside the weights.

        Args:
            cells: tokens that all of its sequences hold together.
            sequences: at once.

        Raises:
            OverloadedError: there is less memory than it needs.
        """
        needed = context_bytes(self._number, cells, sequences)
        check_room(f"a context of {cells} tokens", needed, self._memory_left)

    def close(self) -> None:
        """Free the weights; harmless when repeated."""
        handle, self.handle = self.handle, None
        if handle:
            self.library.llama_model_free(handle)

    def _load(
        self, path: Path, gpu_layers: int, on_progress: Callable[[float], None] | None
    ) -> object:
        library = self.library
        parameters = library.llama_model_default_params()
        parameters.n_gpu_layers = gpu_layers

        def report(progress: float, _data: object) -> bool:
            if on_progress is not None:
                on_progress(min(max(progress, 0.0), 1.0))
            return True

        callback = library.llama_progress_callback(report)
        parameters.progress_callback = callback
        handle: object = library.llama_model_load_from_file(os.fsencode(path), parameters)
        return handle

    @staticmethod
    def _check_memory(path: Path, available: int | None, gpu_layers: int) -> int | None:
        """What the weights leave of the memory; None if that is unknown, or they go elsewhere."""
        if available is None or gpu_layers != 0:
            return None
        size = path.stat().st_size
        check_room(path.name, size, available)
        return available - size

    def _number(self, name: str) -> int:
        """A number of the metadata, its name without the architecture; 0 if there is none."""
        text = self._metadata(f"{self.facts.architecture}.{name}")
        return int(text) if text.isdecimal() else 0

    def _read_facts(self) -> ModelFacts:
        library, handle = self.library, self.handle
        template: bytes | None = library.llama_model_chat_template(handle, None)
        keeps_every_position = not (
            library.llama_model_is_recurrent(handle)
            or library.llama_model_is_hybrid(handle)
            or library.llama_model_n_swa(handle) > 0
        )
        return ModelFacts(
            architecture=self._metadata("general.architecture"),
            quantization=_ftype_names(library).get(library.llama_model_ftype(handle), "unknown"),
            trained_context=library.llama_model_n_ctx_train(handle),
            template=(template or b"").decode("utf-8", "replace"),
            bos=self.vocabulary.bos_text,
            eos=self.vocabulary.eos_text,
            can_rewind=keeps_every_position,
        )

    def _read_layout(self) -> StateLayout:
        library, handle = self.library, self.handle
        recurrent: bool = library.llama_model_is_recurrent(handle)
        windowed = library.llama_model_n_swa(handle) > 0
        rotary: int = library.llama_model_rope_type(handle)
        return StateLayout(
            attention_caches=0 if recurrent else 1 + windowed,
            recurrent=recurrent or library.llama_model_is_hybrid(handle),
            extended_cells=rotary
            in (library.LLAMA_ROPE_TYPE_MROPE, library.LLAMA_ROPE_TYPE_IMROPE),
            windowed=windowed,
        )

    def _metadata(self, key: str) -> str:
        buffer = ctypes.create_string_buffer(_META_BYTES)
        count: int = self.library.llama_model_meta_val_str(
            self.handle, key.encode(), buffer, _META_BYTES
        )
        return buffer.value.decode("utf-8", "replace") if count >= 0 else ""


@functools.cache
def _ftype_names(library: ModuleType) -> dict[int, str]:
    """The formats' usual names, such as `Q4_K_M`, by their number in a GGUF file."""
    return {
        value: found[1]
        for name, value in vars(library).items()
        if (found := _FTYPE_NAME.fullmatch(name))
    }
