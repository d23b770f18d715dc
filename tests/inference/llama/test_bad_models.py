"""Model files that are wrong in every way we know: each is refused in words, none crashes us."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import gguf
import numpy as np
import pytest
from gguf import GGUFValueType
from homing_core.errors import IntegrityError, InvalidDataError, OverloadedError
from homing_inference.llama.model import LoadedModel
from homing_inference.llama.sequences import Sequences

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[Any]


class Changed(NamedTuple):
    """What is different in a rewritten model."""

    numbers: Mapping[str, int] = {}
    tensors: Mapping[str, Callable[[Array], Array]] = {}
    without: str = ""
    architecture: str = "qwen35"


def rewritten(source: Path, target: Path, changed: Changed) -> Path:
    """The model with some numbers and tensors changed."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, changed.architecture)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture" or name in changed.numbers:
            continue
        if field.types[0] == GGUFValueType.ARRAY:
            writer.add_array(name, field.contents())
        else:
            writer.add_key_value(name, field.contents(), field.types[0])
    for name, number in changed.numbers.items():
        writer.add_uint32(name, number)
    for tensor in reader.tensors:
        if tensor.name != changed.without:
            change = changed.tensors.get(tensor.name, np.asarray)
            writer.add_tensor(tensor.name, np.ascontiguousarray(change(tensor.data)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target


def _as(kind: type[np.generic]) -> Callable[[Array], Array]:
    return lambda values: values.astype(kind)


def _shorter(values: Array) -> Array:
    return values[:-1]


@pytest.mark.attack
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (Changed(tensors={"output_norm.weight": _as(np.float64)}), "type F64"),
        (Changed(tensors={"blk.0.attn_qkv.weight": _as(np.float64)}), "type F64"),
        (Changed(tensors={"blk.0.ffn_up.weight": _as(np.int8)}), "type I8"),
        (Changed(tensors={"output.weight": _as(np.int16)}), "type I16"),
        (Changed(tensors={"blk.0.attn_qkv.weight": _as(np.int32)}), "type I32"),
        (Changed(tensors={"token_embd.weight": _as(np.int64)}), "type I64"),
        (Changed(tensors={"blk.0.attn_norm.weight": _as(np.float16)}), "not of type F32"),
        (Changed(tensors={"blk.0.ssm_conv1d.weight": _as(np.float16)}), "not of type F32"),
        (Changed({"qwen35.block_count": 0}), "claims to have 0 layers"),
        (Changed({"qwen35.block_count": 4_000_000_000}), "claims to have 4,000,000,000 layers"),
        (Changed({"qwen35.full_attention_interval": 0}), "every 0th layer"),
        (Changed({"qwen35.rope.dimension_count": 0}), "rotate 0 of 64"),
        (Changed({"qwen35.rope.dimension_count": 15}), "rotate 15 of 64"),
        (Changed({"qwen35.rope.dimension_count": 4096}), "rotate 4,096 of 64"),
        (Changed({"qwen35.nextn_predict_layers": 9}), "more parts"),
        (Changed({"qwen35.expert_count": 100_000}), "more parts"),
    ],
)
def test_what_would_crash_the_runtime_never_reaches_it(
    tiny_qwen35: Path, tmp_path: Path, changed: Changed, said: str
) -> None:
    path = rewritten(tiny_qwen35, tmp_path / "bad.gguf", changed)
    with pytest.raises(InvalidDataError, match=said):
        LoadedModel(path)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (Changed(architecture="sorcery"), "has the architecture sorcery"),
        (Changed(tensors={"blk.0.ffn_up.weight": _shorter}), "is damaged"),
        (Changed(without="blk.0.ffn_up.weight"), "is damaged"),
        (Changed({"qwen35.attention.head_count": 0}), "is damaged"),
        (Changed({"qwen35.embedding_length": 0}), "is damaged"),
        (Changed({"qwen35.ssm.group_count": 3}), "is damaged"),
    ],
)
def test_what_does_not_fit_together_is_refused_and_the_next_model_is_loaded(
    tiny_qwen35: Path, tmp_path: Path, changed: Changed, said: str
) -> None:
    path = rewritten(tiny_qwen35, tmp_path / "bad.gguf", changed)
    with pytest.raises(InvalidDataError, match=said):
        LoadedModel(path)
    LoadedModel(tiny_qwen35).close()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.999])
def test_a_file_that_is_cut_off(tiny_qwen35: Path, tmp_path: Path, share: float) -> None:
    whole = tiny_qwen35.read_bytes()
    path = tmp_path / "cut.gguf"
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(IntegrityError, match="truncated"):
        LoadedModel(path)


def test_a_rewritten_model_without_a_change_runs(tiny_qwen35: Path, tmp_path: Path) -> None:
    LoadedModel(rewritten(tiny_qwen35, tmp_path / "same.gguf", Changed())).close()


def test_weights_that_do_not_fit_the_memory_are_never_loaded(tiny_qwen35: Path) -> None:
    with pytest.raises(OverloadedError, match=r"needs 10 MiB of memory, and 9 MiB are available"):
        LoadedModel(tiny_qwen35, available=lambda: (9 << 20) + 5)


def test_a_context_that_does_not_fit_beside_the_weights_is_never_reserved(
    tiny_qwen35: Path,
) -> None:
    size = tiny_qwen35.stat().st_size
    model = LoadedModel(tiny_qwen35, available=lambda: size + (3 << 20))

    def opened(cells: int) -> Sequences:
        return Sequences(model, context_tokens=256, cells=cells, sequences=2, threads=1)

    with pytest.raises(OverloadedError, match=r"100096 tokens needs .* 3 MiB are available"):
        opened(100_000)
    opened(256).shut()
    model.close()


def test_where_nobody_knows_the_memory_models_are_loaded(tiny_qwen35: Path) -> None:
    model = LoadedModel(tiny_qwen35, available=lambda: None)
    Sequences(model, context_tokens=256, cells=256, sequences=1, threads=1).shut()
    model.close()
