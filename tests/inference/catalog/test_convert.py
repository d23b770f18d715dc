from __future__ import annotations

from typing import TYPE_CHECKING

import gguf
import numpy as np
import pytest
from homing_core.errors import OverloadedError, UnavailableError
from homing_inference.catalog.convert import ConvertSource
from homing_inference.catalog.gguf_header import check_gguf
from homing_inference.catalog.models import BF16_FTYPE, Converted, HubFile, ModelEntry
from homing_inference.catalog.progress import silent
from homing_inference.catalog.store import Store, StoredModel
from homing_inference.catalog.testing import RecordedProgress, gguf_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from homing_inference.catalog.progress import Progress

SOURCE = ModelEntry("tiny", "F32", "Tiny", "none", HubFile("a/b", "*"))
ENTRY = ModelEntry("tiny", "BF16", "Tiny", "none", Converted("tiny:f32", BF16_FTYPE))
WIDTH = 256


def write_tiny_llama(path: Path) -> None:
    """One layer of random weights: enough for llama.cpp to know what to convert."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(4)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    random = np.random.default_rng(7)
    shapes = {
        "token_embd.weight": (32, WIDTH),
        "output_norm.weight": (WIDTH,),
        "blk.0.attn_norm.weight": (WIDTH,),
        "blk.0.attn_q.weight": (WIDTH, WIDTH),
        "blk.0.ffn_down.weight": (WIDTH, WIDTH),
    }
    for name, shape in shapes.items():
        writer.add_tensor(name, random.standard_normal(shape, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture
def tiny(tmp_path: Path) -> StoredModel:
    path = tmp_path / "tiny.gguf"
    write_tiny_llama(path)
    return StoredModel(SOURCE, path, path.stat().st_size, "5" * 64, "a test")


def source(model: StoredModel, threads: int = 1) -> ConvertSource:
    async def obtain(name: str, store: Store, progress: Progress) -> StoredModel:
        assert name == "tiny:f32"
        del store, progress
        return model

    return ConvertSource(obtain, threads=threads)


async def test_writes_bf16_and_says_how_far_it_is(tiny: StoredModel, store: Store) -> None:
    progress = RecordedProgress()
    stored = await source(tiny).fetch(ENTRY, store, progress)
    header = check_gguf(stored.path)
    assert header.quantization == "BF16"
    assert header.expected_size == stored.size
    assert header.parameters == check_gguf(tiny.path).parameters
    seen = progress.stage("writing tiny:bf16")
    assert seen[0] == (0, 0)
    assert seen[-1] == (5, 5)


async def test_the_number_of_threads_does_not_change_the_result(
    tiny: StoredModel, tmp_path: Path
) -> None:
    one = await source(tiny, 1).fetch(ENTRY, Store(tmp_path / "one"), silent)
    two = await source(tiny, 2).fetch(ENTRY, Store(tmp_path / "two"), silent)
    assert one.sha256 == two.sha256


async def test_a_source_that_the_quantizer_cannot_read_is_one_line(
    tmp_path: Path, store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "no-model.gguf"
    path.write_bytes(gguf_bytes(32))
    broken = StoredModel(SOURCE, path, path.stat().st_size, "5" * 64, "a test")
    with pytest.raises(UnavailableError, match="quantizer could not write tiny:bf16"):
        await source(broken).fetch(ENTRY, store, silent)
    assert not store.path(ENTRY).exists()
    assert capfd.readouterr() == ("", "")


async def test_no_room_is_said_before_anything_is_written(
    tiny: StoredModel, tmp_path: Path
) -> None:
    with pytest.raises(OverloadedError, match="Writing tiny:bf16"):
        await source(tiny).fetch(ENTRY, Store(tmp_path / "s", free_bytes=lambda _: 0), silent)
