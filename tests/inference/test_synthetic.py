"""The synthetic model is one that the runtime loads, runs and repeats."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import llama_cpp
import pytest
from gguf import GGUFReader
from homing_inference.formats.select import choose
from homing_inference.synthetic import QWEN35_0_8B, write_qwen35
from homing_inference.synthetic_lora import write_lora

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PROMPT = "<|im_start|>user\nHi é<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"


@pytest.fixture(scope="module")
def model(tiny_qwen35: Path) -> Iterator[llama_cpp.llama_model_p]:
    llama_cpp.llama_backend_init()
    params = llama_cpp.llama_model_default_params()
    params.n_gpu_layers = 0
    loaded = llama_cpp.llama_model_load_from_file(str(tiny_qwen35).encode(), params)
    assert loaded
    yield loaded
    llama_cpp.llama_model_free(loaded)


def _vocab(model: llama_cpp.llama_model_p) -> llama_cpp.llama_vocab_p:
    vocab = llama_cpp.llama_model_get_vocab(model)
    assert vocab
    return vocab


def _tokens(model: llama_cpp.llama_model_p, text: str) -> list[int]:
    vocab = _vocab(model)
    data = text.encode()
    room = (llama_cpp.llama_token * (len(data) + 8))()
    count = llama_cpp.llama_tokenize(vocab, data, len(data), room, len(room), False, True)  # noqa: FBT003  # a C function
    assert count > 0
    return list(room[:count])


def _greedy(model: llama_cpp.llama_model_p, prompt: list[int], count: int) -> list[int]:
    params = llama_cpp.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch = 256, 256, 64
    params.n_threads = params.n_threads_batch = 1
    context = llama_cpp.llama_init_from_model(model, params)
    assert context
    size = llama_cpp.llama_vocab_n_tokens(_vocab(model))
    said: list[int] = []
    piece = prompt
    for _ in range(count):
        array = (llama_cpp.llama_token * len(piece))(*piece)
        assert (
            llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(array, len(piece))) == 0
        )
        logits = llama_cpp.llama_get_logits_ith(context, -1)
        values = ctypes.cast(logits, ctypes.POINTER(ctypes.c_float * size)).contents
        piece = [max(range(size), key=values.__getitem__)]
        said += piece
    llama_cpp.llama_free(context)
    return said


def test_marks_are_single_tokens_and_bytes_come_back(model: llama_cpp.llama_model_p) -> None:
    tokens = _tokens(model, _PROMPT)
    vocab = _vocab(model)
    room = ctypes.create_string_buffer(512)
    array = (llama_cpp.llama_token * len(tokens))(*tokens)
    into: Any = room  # declared as bytes, yet written to
    length = llama_cpp.llama_detokenize(vocab, array, len(tokens), into, 512, False, True)  # noqa: FBT003  # a C function
    assert room.raw[:length].decode() == _PROMPT
    assert len(tokens) == len("user\nHi é\nassistant\n\n\n\n\n".encode()) + 5
    assert llama_cpp.llama_vocab_eos(vocab) == _tokens(model, "<|im_end|>")[0]


def test_it_decodes_and_repeats_itself(model: llama_cpp.llama_model_p) -> None:
    prompt = _tokens(model, _PROMPT)
    said = _greedy(model, prompt, 24)
    assert said == _greedy(model, prompt, 24)
    assert said != _greedy(model, prompt[:-8], 24)
    assert len(set(said)) > 3
    assert max(said) < 256  # bytes only: it never ends its turn by itself


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, qwen35_chat_template: str) -> None:
    first, again, other = (
        write_qwen35(tmp_path / name, qwen35_chat_template, seed=seed).read_bytes()
        for name, seed in (("a.gguf", 3), ("b.gguf", 3), ("c.gguf", 4))
    )
    assert first == again
    assert first != other
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.gguf", "b.gguf", "c.gguf"]


def test_an_adapter_of_the_same_seed_has_the_same_bytes(tmp_path: Path) -> None:
    first, again, other = (
        write_lora(tmp_path / name, seed=seed).read_bytes()
        for name, seed in (("a.gguf", 3), ("b.gguf", 3), ("c.gguf", 4))
    )
    assert first == again
    assert first != other


def test_an_adapter_describes_itself_and_pairs_its_tensors(tmp_path: Path) -> None:
    reader = GGUFReader(write_lora(tmp_path / "a.gguf", rank=2, scale=3.0))
    assert reader.fields["general.type"].contents() == "adapter"
    assert reader.fields["adapter.lora.alpha"].contents() == 6.0
    narrow = {t.name.removesuffix(".lora_a") for t in reader.tensors if t.name.endswith("_a")}
    wide = {t.name.removesuffix(".lora_b") for t in reader.tensors if t.name.endswith("_b")}
    assert narrow == wide
    assert {"blk.0.attn_qkv.weight", "blk.3.attn_q.weight"} <= narrow


def test_its_format_is_chosen_by_its_template(tiny_qwen35: Path, qwen35_chat_template: str) -> None:
    field = GGUFReader(tiny_qwen35).fields["tokenizer.chat_template"]
    kept = bytes(field.parts[field.data[0]]).decode()
    assert kept == qwen35_chat_template
    assert choose(kept, eos="<|im_end|>").name == "qwen35-xml"


def test_the_benchs_shape_has_the_published_state_and_cache() -> None:
    shape = QWEN35_0_8B
    recurrent = shape.layers * 3 // 4
    state = recurrent * 4 * (shape.state_width**2 * shape.state_value_heads + 3 * shape.convolved)
    cache = (shape.layers - recurrent) * 2 * shape.kv_heads * shape.head_width * 2
    assert round(state / 2**20, 1) == 19.3
    assert cache == 12_288
