from __future__ import annotations

import hashlib
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import (
    HomingError,
    IntegrityError,
    InvalidDataError,
    OverloadedError,
    UnavailableError,
)
from homing_inference.catalog.fake_depot import FakeDepot, Fault
from homing_inference.catalog.models import ModelEntry, WheelParts
from homing_inference.catalog.progress import silent
from homing_inference.catalog.store import Store
from homing_inference.catalog.testing import RecordedProgress, gguf_bytes, wheel_bytes
from homing_inference.catalog.wheel_file import read_pieces
from homing_inference.catalog.wheels import WheelSource
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

CONTENT = gguf_bytes(30_000)
CUT = 50_000
ENTRY = ModelEntry(
    "parts",
    "F32",
    "Parts",
    "none",
    WheelParts("homing-parts-", 2, "1.0"),
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    stand_in=True,
)


def part(number: int, content: bytes) -> bytes:
    package = f"homing_parts_{number}"
    return wheel_bytes(package, "1.0", {f"{package}/data/part{number:02}.bin": content})


@pytest.fixture
def shelved(depot: FakeDepot) -> tuple[str, str]:
    """Both parts, good, in the index; their paths."""
    return (
        depot.add_wheel("homing_parts_1", "1.0", part(1, CONTENT[:CUT])),
        depot.add_wheel("homing_parts_2", "1.0", part(2, CONTENT[CUT:])),
    )


@pytest.fixture
def source(pip_environ: dict[str, str]) -> WheelSource:
    return WheelSource(pip_environ)


@pytest.mark.usefixtures("shelved")
async def test_the_parts_make_the_file(source: WheelSource, store: Store) -> None:
    progress = RecordedProgress()
    stored = await source.fetch(ENTRY, store, progress)
    assert stored.path.read_bytes() == CONTENT
    seen = progress.stage("fetching parts:f32")
    assert seen == sorted(seen)
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert list(store.incoming.iterdir()) == []


async def test_finished_parts_are_not_fetched_again(
    depot: FakeDepot, shelved: tuple[str, str], source: WheelSource, store: Store
) -> None:
    first, second = shelved
    depot.misbehave(second, Fault(status=500))
    with pytest.raises(UnavailableError) as caught:
        await source.fetch(ENTRY, store, silent)
    assert "continues where it stopped" in caught.value.hint
    assert not store.path(ENTRY).exists()
    depot.misbehave(first, Fault(status=500))
    stored = await source.fetch(ENTRY, store, silent)
    assert stored.path.read_bytes() == CONTENT
    assert len(depot.requests(first)) == 1


async def test_a_wheel_that_is_cut_off_does_not_count(
    depot: FakeDepot, shelved: tuple[str, str], source: WheelSource, store: Store
) -> None:
    depot.misbehave(shelved[0], Fault(cut_after=100))
    with pytest.raises(HomingError):
        await source.fetch(ENTRY, store, silent)
    assert store.partial(ENTRY).size == 0
    assert (await source.fetch(ENTRY, store, silent)).path.read_bytes() == CONTENT


@pytest.mark.attack
async def test_a_wheel_with_another_hash_than_the_indexs_is_refused(
    depot: FakeDepot, source: WheelSource, store: Store
) -> None:
    depot.add_wheel("homing_parts_1", "1.0", part(1, CONTENT[:CUT]), sha256="0" * 64)
    with pytest.raises(IntegrityError, match="wrong file"):
        await source.fetch(ENTRY, store, silent)


async def test_parts_that_do_not_make_the_model_are_dropped(
    depot: FakeDepot, source: WheelSource, store: Store
) -> None:
    other = gguf_bytes(30_000, filler=1)
    depot.add_wheel("homing_parts_1", "1.0", part(1, other[:CUT]))
    depot.add_wheel("homing_parts_2", "1.0", part(2, other[CUT:]))
    with pytest.raises(IntegrityError, match="is not parts:f32"):
        await source.fetch(ENTRY, store, silent)
    assert not store.path(ENTRY).exists()
    assert store.partial(ENTRY).size == 0


async def test_an_index_without_the_part(source: WheelSource, store: Store) -> None:
    with pytest.raises(UnavailableError, match=r"has no homing-parts-1==1\.0"):
        await source.fetch(ENTRY, store, silent)


async def test_no_index_at_all(pip_environ: dict[str, str], store: Store) -> None:
    with FakeDepot() as gone:
        environ = pip_environ | {"PIP_INDEX_URL": gone.index_url, "PIP_RETRIES": "1"}
    with pytest.raises(UnavailableError, match="cannot be reached"):
        await WheelSource(environ).fetch(ENTRY, store, silent)


async def test_no_room_is_said_before_anything_is_fetched(
    depot: FakeDepot, shelved: tuple[str, str], source: WheelSource, tmp_path: Path
) -> None:
    with pytest.raises(OverloadedError, match="bytes free"):
        await source.fetch(ENTRY, Store(tmp_path, free_bytes=lambda _: 1000), silent)
    assert depot.requests(shelved[0]) == []


async def test_a_python_without_pip_is_told_so(
    source: WheelSource, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    with pytest.raises(UnavailableError, match="lacks") as caught:
        await source.fetch(ENTRY, store, silent)
    assert "ensurepip" in caught.value.hint


@pytest.mark.usefixtures("shelved")
async def test_a_folder_of_the_users_cannot_stand_in_for_pip(
    source: WheelSource,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`python -m pip` would run ./pip.py of wherever the user stands."""
    (tmp_path / "pip.py").write_text("raise SystemExit('someone else')")
    monkeypatch.chdir(tmp_path)
    assert (await source.fetch(ENTRY, store, silent)).path.read_bytes() == CONTENT


PACKAGE = "homing_parts_1"
GOOD = f"{PACKAGE}/data/part01.bin"


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"elsewhere/data/part01.bin": b"x"},
        {GOOD: b"x", f"{PACKAGE}/data/../../../etc/part02.bin": b"x"},
        {GOOD: b"x", "/etc/part02.bin": b"x"},
        {GOOD: b"x", f"{PACKAGE}/data/a\nb.bin": b"x"},
        {GOOD: b"x", f"{PACKAGE}/data/sub/part02.bin": b"x"},
        {GOOD: b"x" * 11},
        {GOOD: b"x" * 6, f"{PACKAGE}/data/part02.bin": b"x" * 5},
        {GOOD: b"x", **{f"{PACKAGE}/{number}.py": b"" for number in range(1000)}},
    ],
    ids=["none", "foreign", "dots", "absolute", "control", "nested", "big", "big sum", "many"],
)
def test_suspicious_wheels_are_refused_before_a_byte_is_read(
    tmp_path: Path, members: dict[str, bytes]
) -> None:
    wheel = tmp_path / "homing_parts_1-1.0-py3-none-any.whl"
    wheel.write_bytes(wheel_bytes(PACKAGE, "1.0", members))
    with pytest.raises(InvalidDataError) as caught:
        next(read_pieces(wheel, PACKAGE, 10))
    assert str(caught.value).isprintable()


def test_pieces_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    wheel = tmp_path / "w.whl"
    data = {f"{PACKAGE}/data/part02.bin": b"two", GOOD: b"one"}
    wheel.write_bytes(wheel_bytes(PACKAGE, "1.0", data))
    assert b"".join(read_pieces(wheel, PACKAGE, 10)) == b"onetwo"


def test_a_size_that_the_zip_lies_about_is_found(tmp_path: Path) -> None:
    wheel = tmp_path / "w.whl"
    data = wheel_bytes(PACKAGE, "1.0", {GOOD: b"x" * 5_000})
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(GOOD, b"x" * 5_000)
    data = wheel.read_bytes().replace((5_000).to_bytes(4, "little"), (9).to_bytes(4, "little"))
    wheel.write_bytes(data)
    with pytest.raises(InvalidDataError):
        b"".join(read_pieces(wheel, PACKAGE, 10))


@given(st.binary(max_size=300))
def test_noise_is_no_wheel(tmp_path_factory: pytest.TempPathFactory, noise: bytes) -> None:
    wheel = tmp_path_factory.mktemp("noise") / "w.whl"
    wheel.write_bytes(noise)
    with pytest.raises(InvalidDataError):
        list(read_pieces(wheel, PACKAGE, 1000))


WHOLE = wheel_bytes(PACKAGE, "1.0", {GOOD: b"content"})


def outcome(wheel: Path) -> str:
    """What a person would be told, whichever way it goes."""
    try:
        content = b"".join(read_pieces(wheel, PACKAGE, 1000))
    except InvalidDataError as error:
        return str(error)
    assert len(content) <= 1000
    return "read"


@given(
    st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=8)
)
def test_a_damaged_wheel_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(WHOLE)
    for at, value in changes:
        data[at] = value
    wheel = tmp_path_factory.mktemp("damaged") / "w.whl"
    wheel.write_bytes(data)
    assert outcome(wheel).isprintable()
