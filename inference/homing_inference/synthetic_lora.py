"""Writes LoRA adapters with random weights for the synthetic `qwen35` models.

Source of the keys: llama.cpp's `convert_lora_to_gguf.py` and `llama-adapter.cpp`. Needs the `gguf`
package, which comes with the `dev` extra.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
from homing_core.errors import UnavailableError

from homing_inference.synthetic import TINY, Shape, tensor_table

if TYPE_CHECKING:
    from pathlib import Path

_ADAPTED: Final = ("attn_q.weight", "attn_v.weight", "attn_qkv.weight", "ffn_down.weight")
"""Some of what adapters usually change; both kinds of layers are among them."""


def write_lora(  # noqa: PLR0913  # each is one property of the file
    path: Path,
    base: Shape = TINY,
    *,
    seed: int = 0,
    rank: int = 4,
    scale: float = 1.0,
    architecture: str = "qwen35",
) -> Path:
    """Write an adapter; the same arguments give the same numbers.

    Args:
        path: where to.
        base: shape of the model that it is for.
        seed: of its weights.
        rank: of the change to each matrix.
        scale: that the change is multiplied by.
        architecture: that it claims to be for.

    Returns:
        `path`.

    Raises:
        UnavailableError: the `gguf` package is not installed.
    """
    try:
        import gguf  # noqa: PLC0415  # only the dev extra has it
    except ImportError as error:
        msg = "the gguf package is missing"
        raise UnavailableError(msg, "Install homing with its dev extra.") from error
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", scale * rank)
    rng = np.random.default_rng(seed)
    for name, dimensions, _ in tensor_table(base):
        if not name.endswith(_ADAPTED):
            continue
        rows, columns = dimensions
        narrow = rng.standard_normal((rank, columns), np.float32) / math.sqrt(columns)
        wide = rng.standard_normal((rows, rank), np.float32) / math.sqrt(rank)
        writer.add_tensor(f"{name}.lora_a", narrow.astype(np.float32))
        writer.add_tensor(f"{name}.lora_b", wide.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
