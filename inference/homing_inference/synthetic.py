"""Writes `qwen35` models with random weights: the cheapest honest test of hybrid memory.

Such a model knows nothing and says nothing sensible, but llama.cpp loads and runs it like any
Qwen3.5: gated delta-net layers with a recurrent state, full attention in every fourth, and the
family's own chat template. Needs the `gguf` package, which comes with the `dev` extra.

Source of the keys and tensors: llama.cpp's loader of the `qwen35` architecture.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from homing_core.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

CONTROL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
"""Never text. The first is the padding token, the last ends a turn."""
USER_TOKENS = (
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
)
"""One token each, and text at the same time."""

_NORMAL, _CONTROL, _USER_DEFINED, _UNUSED = 1, 3, 4, 5  # llama.cpp's token types
_CONVOLUTION = 4
_ATTENTION_EVERY = 4
_BYTES = 256
_ROWS_AT_ONCE = 16_384
_FILE_TYPE = {"F32": 0, "BF16": 32}


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a `qwen35` model.

    Attributes:
        layers: how many; every fourth has full attention.
        width: of the residual stream.
        feed_forward: width inside a layer's feed-forward part.
        heads: query heads of full attention.
        kv_heads: its key and value heads.
        head_width: of one such head.
        rope_sections: rotated pairs in each of the four sections of multi-axis positions.
        state_heads: key heads of a recurrent layer.
        state_value_heads: its value heads; a multiple of the key heads.
        state_width: of one such head; one head's state is this squared.
        vocabulary: tokens; at least 256 bytes and the marks, the rest is unused.
        context: tokens that the model claims to have been trained on.
        tied: whether the output weights are the embedding's.
        weights: `F32` or `BF16`; norms and the small recurrent tensors are always F32.
    """

    layers: int
    width: int
    feed_forward: int
    heads: int
    kv_heads: int
    head_width: int
    rope_sections: tuple[int, int, int, int]
    state_heads: int
    state_value_heads: int
    state_width: int
    vocabulary: int
    context: int
    tied: bool
    weights: str

    @property
    def convolved(self) -> int:
        """Channels of a recurrent layer's convolution: queries, keys and values."""
        return self.state_width * (2 * self.state_heads + self.state_value_heads)

    @property
    def state_values(self) -> int:
        """Width of all value heads of a recurrent layer."""
        return self.state_width * self.state_value_heads


TINY = Shape(
    layers=4,
    width=256,
    feed_forward=512,
    heads=4,
    kv_heads=2,
    head_width=64,
    rope_sections=(3, 3, 2, 0),
    state_heads=2,
    state_value_heads=4,
    state_width=32,
    vocabulary=_BYTES + len(CONTROL_TOKENS) + len(USER_TOKENS),
    context=4096,
    tied=False,
    weights="F32",
)
"""For tests: 10 MB, written in well under a second."""

QWEN35_0_8B = Shape(
    layers=24,
    width=1024,
    feed_forward=3584,
    heads=8,
    kv_heads=2,
    head_width=256,
    rope_sections=(11, 11, 10, 0),
    state_heads=16,
    state_value_heads=16,
    state_width=128,
    vocabulary=248_320,
    context=262_144,
    tied=True,
    weights="BF16",
)
"""For benches: the sizes of Qwen3.5-0.8B, 1.5 GB."""


def write_qwen35(path: Path, template: str, shape: Shape = TINY, seed: int = 0) -> Path:
    """Write a model; the same arguments give the same bytes.

    With weights of its own for the output, the marks' logits are always 0, so that greedy decoding
    never ends by itself.

    Args:
        path: where to; written beside it first and then renamed.
        template: the chat template to put in.
        shape: its sizes.
        seed: of the weights.

    Returns:
        `path`.

    Raises:
        UnavailableError: the `gguf` package is not installed.
    """
    try:
        import gguf  # noqa: PLC0415  # only the dev extra has it
    except ImportError as error:
        msg = "synthetic models need the gguf package"
        raise UnavailableError(msg, "Install it with: pip install 'homing[dev]'") from error
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent, prefix=".synthetic-") as folder:
        unfinished = Path(folder) / path.name
        writer = gguf.GGUFWriter(str(unfinished), "qwen35")
        _add_sizes(writer, shape)
        _add_vocabulary(writer, template, shape)
        raw = {name: gguf.GGMLQuantizationType[name] for name in ("F32", "BF16")}
        for name, dimensions, kind in tensor_table(shape):
            item = 4 if kind == "F32" else 2
            writer.add_tensor_info(
                name,
                dimensions,
                np.dtype(np.float32 if kind == "F32" else np.uint16),
                math.prod(dimensions) * item,
                raw_dtype=raw[kind],
            )
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        rng = np.random.default_rng(seed)
        for name, dimensions, kind in tensor_table(shape):
            writer.write_tensor_data(_values(rng, name, dimensions, kind))
        writer.close()
        unfinished.replace(path)
    return path


def _add_sizes(writer: Any, shape: Shape) -> None:  # noqa: ANN401  # gguf has no types
    writer.add_name("synthetic")
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_width)
    writer.add_value_length(shape.head_width)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e7)
    writer.add_rope_dimension_count(2 * sum(shape.rope_sections))
    writer.add_rope_dimension_sections(list(shape.rope_sections))
    writer.add_ssm_conv_kernel(_CONVOLUTION)
    writer.add_ssm_inner_size(shape.state_values)
    writer.add_ssm_state_size(shape.state_width)
    writer.add_ssm_time_step_rank(shape.state_value_heads)
    writer.add_ssm_group_count(shape.state_heads)
    writer.add_uint32("qwen35.full_attention_interval", _ATTENTION_EVERY)
    writer.add_file_type(_FILE_TYPE[shape.weights])


def _add_vocabulary(writer: Any, template: str, shape: Shape) -> None:  # noqa: ANN401  # gguf has no types
    letters = _byte_letters()
    marks = [*CONTROL_TOKENS, *USER_TOKENS]
    unused = [f"<|unused_{n}|>" for n in range(shape.vocabulary - _BYTES - len(marks))]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen35")
    writer.add_token_list([*letters, *marks, *unused])
    writer.add_token_types(
        [_NORMAL] * _BYTES
        + [_CONTROL] * len(CONTROL_TOKENS)
        + [_USER_DEFINED] * len(USER_TOKENS)
        + [_UNUSED] * len(unused)
    )
    # The loader wants merges. This one's bytes stand in no UTF-8, so every byte stays its own.
    writer.add_token_merges([f"{letters[0xFE]} {letters[0xFF]}"])
    writer.add_eos_token_id(_BYTES + CONTROL_TOKENS.index("<|im_end|>"))
    writer.add_pad_token_id(_BYTES + CONTROL_TOKENS.index("<|endoftext|>"))
    writer.add_add_bos_token(False)  # noqa: FBT003  # gguf's own signature
    writer.add_chat_template(template)


def _byte_letters() -> list[str]:
    """The letter that byte-level BPE writes for each byte: itself if printable in Latin-1."""
    shown = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = [byte for byte in range(_BYTES) if byte not in shown]
    return [chr(byte if byte in shown else _BYTES + hidden.index(byte)) for byte in range(_BYTES)]


def tensor_table(shape: Shape) -> Iterator[tuple[str, tuple[int, ...], str]]:
    """Name, dimensions (rows first) and type of each tensor, in the file's order."""
    kind = shape.weights
    yield "token_embd.weight", (shape.vocabulary, shape.width), kind
    yield "output_norm.weight", (shape.width,), "F32"
    if not shape.tied:
        yield "output.weight", (shape.vocabulary, shape.width), kind
    for layer in range(shape.layers):
        attends = (layer + 1) % _ATTENTION_EVERY == 0
        for name, dimensions, own in (
            *((_attention if attends else _recurrent)(shape)),
            ("attn_norm.weight", (shape.width,), "F32"),
            ("post_attention_norm.weight", (shape.width,), "F32"),
            ("ffn_gate.weight", (shape.feed_forward, shape.width), kind),
            ("ffn_up.weight", (shape.feed_forward, shape.width), kind),
            ("ffn_down.weight", (shape.width, shape.feed_forward), kind),
        ):
            yield f"blk.{layer}.{name}", dimensions, own


def _attention(shape: Shape) -> Iterator[tuple[str, tuple[int, ...], str]]:
    queries, keys = shape.heads * shape.head_width, shape.kv_heads * shape.head_width
    # Twice as wide: each query head brings the gate of its output along.
    yield "attn_q.weight", (2 * queries, shape.width), shape.weights
    yield "attn_k.weight", (keys, shape.width), shape.weights
    yield "attn_v.weight", (keys, shape.width), shape.weights
    yield "attn_output.weight", (shape.width, queries), shape.weights
    yield "attn_q_norm.weight", (shape.head_width,), "F32"
    yield "attn_k_norm.weight", (shape.head_width,), "F32"


def _recurrent(shape: Shape) -> Iterator[tuple[str, tuple[int, ...], str]]:
    heads = shape.state_value_heads
    yield "attn_qkv.weight", (shape.convolved, shape.width), shape.weights
    yield "attn_gate.weight", (shape.state_values, shape.width), shape.weights
    yield "ssm_conv1d.weight", (shape.convolved, _CONVOLUTION), "F32"
    yield "ssm_dt.bias", (heads,), "F32"
    yield "ssm_a", (heads,), "F32"
    yield "ssm_alpha.weight", (heads, shape.width), shape.weights
    yield "ssm_beta.weight", (heads, shape.width), shape.weights
    yield "ssm_norm.weight", (shape.state_width,), "F32"
    yield "ssm_out.weight", (shape.width, shape.state_values), shape.weights


def _values(
    rng: np.random.Generator, name: str, dimensions: tuple[int, ...], kind: str
) -> NDArray[Any]:
    if name.endswith("norm.weight"):
        return np.ones(dimensions, np.float32)
    if name.endswith("ssm_a"):  # the state decays: the rate is negative
        return -np.abs(rng.standard_normal(dimensions, np.float32))
    # Small embeddings: tied to the output, large ones would only repeat the last token.
    scale = 0.02 if name.startswith("token_embd") else 1.0 / math.sqrt(dimensions[-1])
    values = np.empty(dimensions, np.float32 if kind == "F32" else np.uint16)
    for start in range(0, dimensions[0], _ROWS_AT_ONCE):
        rows = min(_ROWS_AT_ONCE, dimensions[0] - start)
        some = rng.standard_normal((rows, *dimensions[1:]), np.float32) * np.float32(scale)
        if kind == "BF16":  # the upper half of a float32
            values[start : start + rows] = some.view(np.uint32) >> 16
        else:
            values[start : start + rows] = some
    if name == "output.weight":
        values[_BYTES:] = 0
    return values
