"""Adapters change what a model computes, and only while they are in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gguf
import numpy as np
import pytest
from homing_core.errors import (
    IntegrityError,
    InternalError,
    InvalidDataError,
    NotFoundError,
    UsageError,
)
from homing_inference.llama.model import LoadedModel
from homing_inference.llama.sequences import Sequences
from homing_inference.synthetic import QWEN35_0_8B, write_qwen35
from homing_inference.synthetic_lora import write_lora

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from numpy.typing import NDArray

    Scores = NDArray[np.float32]

_PROMPT = [7 + 13 * index % 190 for index in range(50)]


@pytest.fixture(scope="module")
def model(tiny_qwen35: Path) -> Generator[LoadedModel]:
    loaded = LoadedModel(tiny_qwen35)
    yield loaded
    loaded.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("adapters")
    return {
        name: write_lora(folder / f"{name}.gguf", seed=seed)
        for name, seed in (("notes", 1), ("home", 2))
    }


def _open(model: LoadedModel, files: dict[str, Path]) -> Sequences:
    return Sequences(model, context_tokens=256, cells=512, sequences=4, threads=1, adapters=files)


@pytest.fixture
def sequences(model: LoadedModel, files: dict[str, Path]) -> Generator[Sequences]:
    opened = _open(model, files)
    yield opened
    opened.shut()


def _scores(sequences: Sequences, adapter: str) -> Scores:
    sequences.use_adapter(adapter)
    sequence = sequences.open()
    (row,) = sequences.prefill(sequence, _PROMPT, scores_at=[len(_PROMPT) - 1])
    scores = row.copy()
    sequences.close(sequence)
    return scores


def test_each_adapter_changes_the_scores_and_none_gives_the_original(
    model: LoadedModel, sequences: Sequences
) -> None:
    plain = Sequences(model, context_tokens=256, cells=512, sequences=1, threads=1)
    original = _scores(plain, "")
    plain.shut()
    notes, home = _scores(sequences, "notes"), _scores(sequences, "home")
    assert np.abs(notes - original).max() > 0.01
    assert np.abs(home - notes).max() > 0.01
    assert np.array_equal(_scores(sequences, ""), original)
    assert np.array_equal(_scores(sequences, "notes"), notes)


def test_sequences_stay_exact_while_others_use_another_adapter(sequences: Sequences) -> None:
    alone: dict[str, list[Scores]] = {}
    together: dict[str, list[Scores]] = {"notes": [], "home": [], "": []}
    for name in together:
        sequences.use_adapter(name)
        sequence = sequences.open()
        rows = [sequences.prefill(sequence, _PROMPT, scores_at=[0])[0].copy()]
        rows += [sequences.step({sequence: 65 + n})[sequence].copy() for n in range(5)]
        alone[name] = rows
        sequences.close(sequence)
    opened = {name: sequences.open() for name in together}
    for name, sequence in opened.items():
        sequences.use_adapter(name)
        together[name] += [sequences.prefill(sequence, _PROMPT, scores_at=[0])[0].copy()]
    for n in range(5):
        for name, sequence in opened.items():
            sequences.use_adapter(name)
            together[name].append(sequences.step({sequence: 65 + n})[sequence].copy())
    for name, rows in together.items():
        assert all(map(np.array_equal, rows, alone[name]))


def test_a_sequence_does_not_go_on_with_another_adapter(sequences: Sequences) -> None:
    sequences.use_adapter("notes")
    sequence = sequences.open()
    sequences.prefill(sequence, _PROMPT)
    sequences.use_adapter("home")
    with pytest.raises(InternalError, match="another adapter"):
        sequences.step({sequence: 65})
    sequences.use_adapter("notes")
    assert sequence in sequences.step({sequence: 65})


def test_a_state_belongs_to_its_adapter(sequences: Sequences) -> None:
    sequences.use_adapter("notes")
    sequence = sequences.open()
    sequences.prefill(sequence, _PROMPT)
    state = sequences.save(sequence)
    sequences.use_adapter("home")
    assert sequences.restore(_PROMPT, state) is None
    sequences.use_adapter("notes")
    assert sequences.restore(_PROMPT, state) == 1


def test_an_unknown_name_changes_nothing(sequences: Sequences) -> None:
    sequences.use_adapter("home")
    with pytest.raises(NotFoundError, match="no adapter 'work'") as raised:
        sequences.use_adapter("work")
    assert "home, notes" in raised.value.hint
    assert sequences.adapter == "home"


def test_files_that_are_no_adapter_for_this_model(
    model: LoadedModel, tiny_qwen35: Path, tmp_path: Path
) -> None:
    whole = write_lora(tmp_path / "whole.gguf").read_bytes()
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(whole[: len(whole) // 2])
    text = tmp_path / "text.gguf"
    text.write_text("Hello")
    for path, error in (
        (tmp_path / "missing.gguf", NotFoundError),
        (tmp_path, UsageError),
        (text, InvalidDataError),
        (tiny_qwen35, InvalidDataError),
        (cut, IntegrityError),
        (write_lora(tmp_path / "llama.gguf", architecture="llama"), InvalidDataError),
        (write_lora(tmp_path / "large.gguf", base=QWEN35_0_8B), InvalidDataError),
    ):
        with pytest.raises(error):
            _open(model, {"a": path})
    with pytest.raises(UsageError, match="no name"):
        _open(model, {"": write_lora(tmp_path / "unnamed.gguf")})


def test_an_adapter_whose_fields_have_the_wrong_kind_never_reaches_native_code(
    model: LoadedModel, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.gguf"
    writer = gguf.GGUFWriter(broken, "qwen35")
    writer.add_uint32("general.type", 7)
    writer.add_tensor("a.lora_a", np.zeros((2, 2), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(InvalidDataError, match="does not describe itself"):
        _open(model, {"a": broken})


def test_an_adapter_outlives_the_context_it_was_loaded_for(
    tmp_path: Path, qwen35_chat_template: str
) -> None:
    model = LoadedModel(write_qwen35(tmp_path / "m.gguf", qwen35_chat_template, seed=5))
    file = write_lora(tmp_path / "a.gguf")
    first = _open(model, {"a": file})
    scores = _scores(first, "a")
    first.shut()
    second = _open(model, {"a": file})
    assert np.array_equal(_scores(second, "a"), scores)
    second.shut()
    model.close()
