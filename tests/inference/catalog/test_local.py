from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import IntegrityError, InvalidDataError, NotFoundError
from homing_inference.catalog.local import looks_like_path
from homing_inference.catalog.resolve import ensure
from homing_inference.catalog.store import Store
from homing_inference.catalog.testing import RecordedProgress, gguf_bytes

if TYPE_CHECKING:
    from pathlib import Path

CONTENT = gguf_bytes(256, file_type=7)


@pytest.mark.parametrize("stand_in", [True, False])
async def test_a_users_own_file_is_taken_as_it_is(
    tmp_path: Path,
    store: Store,
    stand_in: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    mine = tmp_path / "My model.gguf"
    mine.write_bytes(CONTENT)
    file = await ensure(mine, store=store, allow_stand_in=stand_in, role="phone")
    assert file.path == mine
    assert file.name == "My model"
    assert file.quantization == "Q8_0"
    assert not file.stand_in
    assert file.sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert file.size == len(CONTENT)
    with os.scandir(tmp_path) as beside:
        assert sorted(item.name for item in beside) == ["My model.gguf", "models"]


async def test_it_is_hashed_once(tmp_path: Path, store: Store) -> None:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(CONTENT)
    progress = RecordedProgress()

    async def sha256() -> str:
        file = await ensure(
            str(mine),
            store=store,
            allow_stand_in=False,
            role="phone",
            progress=progress,
        )
        return file.sha256

    first = await sha256()
    assert await sha256() == first
    assert progress.stage("checking mine.gguf") == [(len(CONTENT), len(CONTENT))]
    mine.write_bytes(gguf_bytes(512))
    assert await sha256() != first


async def test_a_models_folder_that_cannot_be_written_does_no_harm(tmp_path: Path) -> None:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(CONTENT)
    file = await ensure(mine, store=Store(mine / "x"), allow_stand_in=False, role="node")
    assert file.size == len(CONTENT)


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        (None, NotFoundError, "does not exist"),
        (b"PK\x03\x04", InvalidDataError, "not a usable GGUF file"),
        (CONTENT[:-5], IntegrityError, "truncated"),
    ],
)
async def test_what_cannot_be_used_is_said_in_one_line(
    tmp_path: Path, store: Store, content: bytes | None, kind: type[Exception], said: str
) -> None:
    mine = tmp_path / "mine.gguf"
    if content is not None:
        mine.write_bytes(content)
    with pytest.raises(kind, match=said) as caught:
        await ensure(str(mine), store=store, allow_stand_in=False, role="phone")
    assert "\n" not in str(caught.value)
    assert content is None or mine.read_bytes() == content


async def test_a_folder_is_no_model(tmp_path: Path, store: Store) -> None:
    with pytest.raises(NotFoundError, match="is a folder"):
        await ensure(tmp_path, store=store, allow_stand_in=False, role="phone")


def test_what_looks_like_a_path() -> None:
    assert looks_like_path("model.GGUF")
    assert looks_like_path("./model")
    assert looks_like_path("~/models/x.gguf")
    assert not looks_like_path("botpsy-0.8b:q4_k_m")
    assert not looks_like_path("qwen3.5-2b")
