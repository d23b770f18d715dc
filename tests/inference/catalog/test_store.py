from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from pathlib import Path

import pytest
from homing_core.errors import ConfigError, IntegrityError, OverloadedError
from homing_inference.catalog.models import CATALOG, HubFile, ModelEntry
from homing_inference.catalog.partial import Partial
from homing_inference.catalog.progress import silent
from homing_inference.catalog.sidecar import read_sidecar
from homing_inference.catalog.store import SPACE_MARGIN, Store, StoredModel, default_models_dir
from homing_inference.catalog.testing import RecordedProgress, gguf_bytes
from hypothesis import given
from hypothesis import strategies as st

CONTENT = gguf_bytes(4096)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PINNED = ModelEntry(
    "tiny", "F32", "Tiny", "none", HubFile("a/b", "*"), size=len(CONTENT), sha256=SHA256
)
UNPINNED = ModelEntry("loose", "F32", "Loose", "none", HubFile("a/b", "*"))


async def put(
    store: Store, entry: ModelEntry, content: bytes = CONTENT, sha256: str = ""
) -> StoredModel:
    partial = store.partial(entry)
    partial.resume("a test")
    with partial.append() as stream:
        stream.write(content)
    return await store.adopt(entry, partial, "a test", silent, sha256=sha256)


async def test_a_whole_file_gets_its_name_and_leaves_nothing_behind(tmp_path: Path) -> None:
    store = Store(tmp_path)
    stored = await put(store, PINNED)
    assert stored.path.read_bytes() == CONTENT
    assert stored.sha256 == SHA256
    assert list(store.incoming.iterdir()) == []
    assert [model.entry for model in store.installed((PINNED, UNPINNED))] == [PINNED]


async def test_an_unchanged_file_is_not_hashed_again(tmp_path: Path) -> None:
    store, seen = Store(tmp_path), RecordedProgress()
    await put(store, PINNED)
    stored = await store.verified(PINNED, seen)
    assert stored is not None
    assert stored.origin == "a test"
    assert seen.labels == []


async def test_a_touched_file_is_hashed_again_and_stays(tmp_path: Path) -> None:
    store, seen = Store(tmp_path), RecordedProgress()
    stored = await put(store, PINNED)
    os.utime(stored.path, ns=(1, 1))
    assert store.installed((PINNED,)) == ()
    assert await store.verified(PINNED, seen) is not None
    assert seen.labels == ["checking tiny:f32"]
    assert len(store.installed((PINNED,))) == 1


@pytest.mark.parametrize("entry", [PINNED, UNPINNED])
@pytest.mark.parametrize(
    "damage",
    [CONTENT[:-1], CONTENT[:100], b"", b"<html>", CONTENT[:-1] + b"x"],
    ids=["a byte short", "cut in the header", "empty", "a web page", "one byte changed"],
)
async def test_a_damaged_file_is_moved_aside_and_never_used(
    tmp_path: Path, entry: ModelEntry, damage: bytes
) -> None:
    store = Store(tmp_path)
    stored = await put(store, entry)
    stored.path.write_bytes(damage)
    with pytest.raises(IntegrityError) as caught:
        await store.verified(entry)
    aside = stored.path.with_name(stored.path.name + ".damaged")
    assert aside.read_bytes() == damage
    assert str(aside) in caught.value.what
    assert "again" in caught.value.hint
    assert await store.verified(entry) is None


@pytest.mark.parametrize(
    "arrived", [CONTENT[:-1], b"", gguf_bytes(4096, filler=1)], ids=["short", "empty", "another"]
)
async def test_what_is_wrong_on_arrival_gets_no_name(tmp_path: Path, arrived: bytes) -> None:
    store = Store(tmp_path)
    with pytest.raises(IntegrityError) as caught:
        await put(store, UNPINNED, arrived, sha256=SHA256)
    assert "a test" in caught.value.what
    assert not store.path(UNPINNED).exists()
    assert list(store.incoming.iterdir()) == []


async def test_a_file_that_came_without_a_sidecar_is_checked_against_the_catalog(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path)
    store.path(PINNED).write_bytes(CONTENT)
    stored = await store.verified(PINNED)
    assert stored is not None
    assert stored.sha256 == SHA256


@given(
    st.one_of(
        st.binary(max_size=200),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=5),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
        ).map(lambda value: json.dumps(value).encode()),
        st.fixed_dictionaries(
            {
                "format": st.just(1),
                "sha256": st.text(max_size=64) | st.integers(),
                "size": st.integers() | st.text(),
                "mtime_ns": st.none() | st.booleans(),
                "quantization": st.text(),
                "origin": st.text(),
            }
        ).map(lambda value: json.dumps(value).encode()),
    )
)
def test_a_damaged_sidecar_counts_as_none(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes
) -> None:
    path = tmp_path_factory.mktemp("sidecar") / "model.gguf.json"
    path.write_bytes(noise)
    assert read_sidecar(path) is None


@given(st.binary(max_size=200), st.booleans())
def test_a_damaged_state_of_a_part_starts_it_anew(
    tmp_path_factory: pytest.TempPathFactory,
    noise: bytes,
    by_steps: bool,  # noqa: FBT001  # hypothesis passes by name
) -> None:
    path = tmp_path_factory.mktemp("part") / "model.part"
    path.write_bytes(b"old")
    path.with_name("model.part.json").write_bytes(noise)
    assert Partial(path).resume("whole", by_steps=by_steps) == 0
    assert not path.exists()


def test_a_part_goes_on_only_for_the_same_whole(tmp_path: Path) -> None:
    part = Partial(tmp_path / "model.part")
    part.resume("one")
    with part.append() as stream:
        stream.write(b"12345")
    assert Partial(part.path).resume("one") == 5
    assert Partial(part.path).resume("another") == 0


def test_an_unconfirmed_step_is_cut_off(tmp_path: Path) -> None:
    part = Partial(tmp_path / "model.part")
    part.resume("one", by_steps=True)
    with part.append() as stream:
        stream.write(b"first")
    part.mark(1)
    with part.append() as stream:
        stream.write(b"sec")
    again = Partial(part.path)
    assert again.resume("one", by_steps=True) == 5
    assert again.steps == 1
    assert part.path.read_bytes() == b"first"


def test_too_little_room_names_both_numbers(tmp_path: Path) -> None:
    store = Store(tmp_path, free_bytes=lambda _: 1_000_000)
    with pytest.raises(OverloadedError) as caught:
        store.require_space(500_000_000, "Fetching tiny:f32")
    assert f"{500_000_000 + SPACE_MARGIN:,}" in caught.value.what
    assert "1,000,000" in caught.value.what
    assert "HOMING_MODELS_DIR" in caught.value.hint


def test_a_folder_that_cannot_be_made_is_a_plain_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ConfigError, match="cannot be used"):
        Store(tmp_path / "file").require_space(1, "Fetching")


async def test_two_fetchers_of_one_model_take_turns(tmp_path: Path) -> None:
    """The second is another process, which says when it waits and when it is in."""
    store = Store(tmp_path)
    program = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from homing_inference.catalog.models import CATALOG\n"
        "from homing_inference.catalog.store import Store\n"
        "def say(done, total, label): print(label, flush=True)\n"
        "async def main():\n"
        "    async with Store(Path(sys.argv[1])).locked(CATALOG[0], say): print('in', flush=True)\n"
        "asyncio.run(main())\n"
    )
    async with asyncio.timeout(30):
        async with store.locked(CATALOG[0], silent):
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", program, str(tmp_path), stdout=asyncio.subprocess.PIPE
            )
            assert process.stdout is not None
            assert b"waiting for another process" in await process.stdout.readline()
        assert await process.stdout.readline() == b"in\n"
        assert await process.wait() == 0


async def test_removing_frees_everything(tmp_path: Path) -> None:
    store = Store(tmp_path)
    await put(store, PINNED)
    assert store.remove(PINNED) == len(CONTENT)
    assert store.installed((PINNED,)) == ()
    assert [names for _, _, names in os.walk(tmp_path) if names] == []


def test_the_folder_is_the_environments_or_the_users_cache() -> None:
    assert default_models_dir({"HOMING_MODELS_DIR": "/srv/models"}) == Path("/srv/models")
    assert default_models_dir({}).parts[-2:] == ("homing", "models")
