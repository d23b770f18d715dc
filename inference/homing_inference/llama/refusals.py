"""What in a GGUF header makes llama.cpp crash or hang, so that such a file never reaches it.

Each rule was found by writing such a file and running it (version 0.5). What llama.cpp refuses by
itself has no rule here. Whatever else may crash it ends a child process and no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from homing_inference.catalog.gguf_header import GgufHeader

_F32: Final = 0
_NOT_COMPUTED: Final = {24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64"}
"""Types that GGUF can hold and no matrix product can read; ends in a segmentation fault."""
_MOST_LAYERS: Final = 512
_MOST_EXPERTS: Final = 1024
_ALWAYS_F32: Final = ("ssm_conv1d.weight",)
_TEXT: Final = 8
_FLOAT: Final = 6
_ADAPTER_KINDS: Final = {
    "general.type": _TEXT,
    "general.architecture": _TEXT,
    "adapter.type": _TEXT,
    "adapter.lora.alpha": _FLOAT,
}


def model_fault(header: GgufHeader) -> str:
    """Why a model cannot be run, in words that follow "it"; empty if nothing is known against it.

    Args:
        header: of the file.
    """
    for name, (kind, dimensions) in header.tensor_kinds.items():
        if kind in _NOT_COMPUTED:
            return f"has a tensor of type {_NOT_COMPUTED[kind]}, which cannot be computed with"
        if kind != _F32 and (dimensions == 1 or name.endswith(_ALWAYS_F32)):
            return "has a small tensor that is not of type F32, which cannot be computed with"
    return _number_fault(header)


def adapter_fault(header: GgufHeader) -> str:
    """As `model_fault`, for a LoRA adapter."""
    if any(header.kinds.get(key) != kind for key, kind in _ADAPTER_KINDS.items()):
        return "does not describe itself as a LoRA adapter"
    for kind, _ in header.tensor_kinds.values():
        if kind in _NOT_COMPUTED:
            return f"has a tensor of type {_NOT_COMPUTED[kind]}, which cannot be computed with"
    return ""


def _number_fault(header: GgufHeader) -> str:
    def number(name: str, default: int) -> int:
        return header.numbers.get(f"{header.architecture}.{name}", default)

    layers = number("block_count", 1)
    if not 1 <= layers <= _MOST_LAYERS:
        return f"claims to have {layers:,} layers"
    if number("full_attention_interval", 1) == 0:
        return "claims that every 0th layer is different"
    if number("nextn_predict_layers", 0) > layers or number("expert_count", 0) > _MOST_EXPERTS:
        return "claims to have more parts than llama.cpp has room for"
    heads = number("attention.head_count", 0)
    width = number("attention.key_length", number("embedding_length", 0) // max(heads, 1))
    rotated = number("rope.dimension_count", 2)
    if rotated % 2 or not 0 < rotated <= max(width, 2):
        return f"claims to rotate {rotated:,} of {width:,} dimensions"
    return ""
