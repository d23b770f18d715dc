"""Whether a saved state is one that llama.cpp's own reader survives, told from its frame.

That reader trusts the counts and positions in a state: a recurrent part that announces two cells
aborts the process, and wrong positions give silently wrong scores. So the frame of a state that may
come from a disk is compared with what it must be for its number of tokens. The numbers inside the
tensors have no frame; whoever keeps a state outside this process keeps a checksum with it.

Source of the layout: `state_write` in llama.cpp's `llama-kv-cache.cpp`,
`llama-memory-recurrent.cpp` and `llama-memory-hybrid.cpp` (version 0.5). A model whose memory is
laid out otherwise is refused, so that it starts cold, never wrong.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

import numpy as np

_MAGIC: Final = 0xAF143CD8
_EXTENSION_BYTES: Final = 12
_MOST_LAYERS: Final = 4096


@dataclass(frozen=True, slots=True)
class StateLayout:
    """What a model's memory consists of.

    Attributes:
        attention_caches: none for a recurrent model, two where some layers attend to a window only.
        recurrent: whether there is a running state.
        extended_cells: whether a cell keeps more than its position (multi-axis rotary positions).
        windowed: whether positions far back are dropped.
    """

    attention_caches: int
    recurrent: bool
    extended_cells: bool
    windowed: bool


class _FrameError(Exception):
    """The state is not what it must be."""


def plausible(state: memoryview, tokens: int, layout: StateLayout) -> bool:
    """Whether `state` has the frame of a sequence of `tokens` tokens.

    Args:
        state: as `llama_state_seq_get_data` writes it.
        tokens: that the sequence holds; at least 1.
        layout: of the model.
    """
    frame = _Frame(state)
    try:
        if frame.number("<I") != _MAGIC:
            return False
        frame.number("<i")  # the sequence that it was
        for _ in range(layout.attention_caches):
            _attention_cache(frame, tokens, layout)
        if layout.recurrent:
            _recurrent_state(frame, tokens)
            return frame.left > 0
    except _FrameError:
        return False
    return frame.left == 0


class _Frame:
    """Reads forward, never behind the end."""

    def __init__(self, state: memoryview) -> None:
        self._state = state
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._state) - self._at

    def take(self, count: int) -> memoryview:
        if count > self.left:
            raise _FrameError
        self._at += count
        return self._state[self._at - count : self._at]

    def number(self, form: str) -> int:
        (value,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return int(value)

    def expect(self, form: str, *wanted: int) -> int:
        value = self.number(form)
        if value not in wanted:
            raise _FrameError
        return value


def _attention_cache(frame: _Frame, tokens: int, layout: StateLayout) -> None:
    frame.expect("<I", 1)  # streams; one in a unified cache
    cells = frame.number("<I")
    if not 0 < cells <= tokens or (cells < tokens and not layout.windowed):
        raise _FrameError
    # A cell: position, number of sequences, the extension, that many sequences.
    extension = _EXTENSION_BYTES if layout.extended_cells else 0
    width = 12 + extension
    meta = np.frombuffer(frame.take(width * cells), np.dtype("<i4")).reshape(cells, width // 4)
    positions, holders = np.sort(meta[:, 0]), meta[:, 1]
    if (holders != 1).any() or (positions != np.arange(tokens - cells, tokens)).any():
        raise _FrameError
    transposed = frame.expect("<I", 0, 1)
    layers = frame.number("<I")
    if layers > _MOST_LAYERS:
        raise _FrameError
    for _ in range(layers):
        frame.number("<i")  # type of keys
        frame.take(cells * frame.number("<Q"))
    for _ in range(layers):
        frame.number("<i")  # type of values
        row = frame.number("<I") * frame.number("<I") if transposed else frame.number("<Q")
        frame.take(cells * row)


def _recurrent_state(frame: _Frame, tokens: int) -> None:
    frame.expect("<I", 1)  # cells
    frame.expect("<i", tokens - 1)  # its position
    frame.expect("<I", 0)  # sequences that are named
    frame.expect("<I", 0)  # whether it is transposed
    if frame.number("<I") > _MOST_LAYERS:
        raise _FrameError
    # What follows is compared with the model, field by field, by llama.cpp itself.
