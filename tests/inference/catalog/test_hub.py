from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import (
    HomingError,
    IntegrityError,
    InvalidDataError,
    NotFoundError,
    OverloadedError,
    RefusedError,
    UnavailableError,
)
from homing_inference.catalog.download import Retry
from homing_inference.catalog.fake_depot import FakeDepot, Fault
from homing_inference.catalog.hub import HubSource, ListedFile, choose_file
from homing_inference.catalog.models import HubFile, ModelEntry
from homing_inference.catalog.progress import silent
from homing_inference.catalog.store import Store
from homing_inference.catalog.testing import RecordedProgress, gguf_bytes
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

REPO = "owner/tiny-GGUF"
NAME = "tiny-Q4_K_M.gguf"
ENTRY = ModelEntry("tiny", "Q4_K_M", "Tiny", "none", HubFile(REPO, "*q4_k_m.gguf"))
CONTENT = gguf_bytes(1 << 20)
QUICK = Retry(attempts=3, first_delay=0.01, longest_delay=0.01)


def source(depot: FakeDepot) -> HubSource:
    return HubSource(depot.hub_endpoint, retry=QUICK, timeout=5)


async def fetched(depot: FakeDepot, store: Store) -> bytes:
    stored = await source(depot).fetch(ENTRY, store, silent)
    return stored.path.read_bytes()


async def test_fetches_what_the_listing_means_and_says_how_far_it_is(
    depot: FakeDepot, store: Store
) -> None:
    depot.add_hub_file(REPO, "mmproj-q4_k_m.gguf", b"a projector")
    depot.add_hub_file(REPO, "tiny-extra-long-Q4_K_M.gguf", b"another")
    depot.add_hub_file(REPO, NAME, CONTENT)
    seen = RecordedProgress()
    stored = await source(depot).fetch(ENTRY, store, seen)
    assert stored.path.read_bytes() == CONTENT
    assert stored.sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert stored.origin.startswith(f"{REPO}@")
    moved = seen.stage("fetching tiny:q4_k_m")
    assert moved[-1] == (len(CONTENT), len(CONTENT))
    assert moved == sorted(moved)


async def test_a_cut_connection_is_continued_within_one_fetch(
    depot: FakeDepot, store: Store
) -> None:
    path = depot.add_hub_file(REPO, NAME, CONTENT)
    depot.misbehave(path, Fault(cut_after=1_000_000), Fault(cut_after=500_000))
    assert await fetched(depot, store) == CONTENT
    starts = [request.range for request in depot.requests(path)]
    assert starts[0] == ""
    assert starts[1].startswith("bytes=")
    assert len(starts) == 3


async def test_a_fetch_that_gave_up_is_continued_by_the_next(
    depot: FakeDepot, store: Store
) -> None:
    path = depot.add_hub_file(REPO, NAME, CONTENT)
    depot.misbehave(path, Fault(cut_after=2_000_000), *[Fault(status=503)] * 3)
    with pytest.raises(UnavailableError) as caught:
        await fetched(depot, store)
    assert "continues where it stopped" in caught.value.hint
    have = store.partial(ENTRY).size
    assert have > 0
    assert not store.path(ENTRY).exists()
    assert await fetched(depot, store) == CONTENT
    assert depot.requests(path)[-1].range == f"bytes={have}-"


async def test_a_cancelled_fetch_is_continued_by_the_next(depot: FakeDepot, store: Store) -> None:
    path = depot.add_hub_file(REPO, NAME, CONTENT)
    depot.misbehave(path, Fault(stall_after=1 << 20))
    arrived = asyncio.Event()

    def progress(done: int, _total: int, label: str, /) -> None:
        if label.startswith("fetching") and done:
            arrived.set()

    task = asyncio.create_task(source(depot).fetch(ENTRY, store, progress))
    async with asyncio.timeout(10):
        await arrived.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    have = store.partial(ENTRY).size
    assert have > 0
    assert await fetched(depot, store) == CONTENT
    assert depot.requests(path)[-1].range == f"bytes={have}-"


@pytest.mark.parametrize(
    "fault", [Fault(ignore_range=True), Fault(wrong_range=True), Fault(status=416)]
)
async def test_a_server_that_cannot_continue_begins_again(
    depot: FakeDepot, store: Store, fault: Fault
) -> None:
    path = depot.add_hub_file(REPO, NAME, CONTENT)
    depot.misbehave(path, Fault(cut_after=1_500_000), fault)
    assert await fetched(depot, store) == CONTENT


async def test_a_slow_server_is_a_failed_try_not_a_hang(depot: FakeDepot, store: Store) -> None:
    path = depot.add_hub_file(REPO, NAME, CONTENT)
    depot.misbehave(path, *[Fault(stall_after=0)] * 2)
    hub = HubSource(depot.hub_endpoint, retry=Retry(2, 0.01, 0.01), timeout=0.2)
    async with asyncio.timeout(20):
        with pytest.raises(UnavailableError, match="broke off"):
            await hub.fetch(ENTRY, store, silent)


@pytest.mark.attack
@pytest.mark.parametrize(
    "fault",
    [
        Fault(body=CONTENT[:-1] + b"x"),
        Fault(body=CONTENT + b"more", claimed_length=len(CONTENT) + 4),
        Fault(body=b"x" * len(CONTENT)),
    ],
    ids=["one byte changed", "longer than announced", "something else"],
)
async def test_wrong_bytes_are_never_kept(depot: FakeDepot, store: Store, fault: Fault) -> None:
    path = depot.add_hub_file(REPO, NAME, CONTENT)
    depot.misbehave(path, fault)
    with pytest.raises(IntegrityError) as caught:
        await fetched(depot, store)
    assert "ry again" in caught.value.hint
    assert not store.path(ENTRY).exists()
    assert store.partial(ENTRY).size == 0
    assert await fetched(depot, store) == CONTENT


async def test_a_server_that_lies_about_the_length_is_not_believed(
    depot: FakeDepot, store: Store
) -> None:
    path = depot.add_hub_file(REPO, NAME, CONTENT)
    depot.misbehave(path, Fault(claimed_length=1000), Fault(claimed_length=10**10))
    assert await fetched(depot, store) == CONTENT


async def test_a_new_file_on_the_hub_drops_the_old_part(depot: FakeDepot, store: Store) -> None:
    partial = store.partial(ENTRY)
    partial.resume("the hash of last month")
    with partial.append() as stream:
        stream.write(b"old bytes")
    path = depot.add_hub_file(REPO, NAME, CONTENT)
    assert await fetched(depot, store) == CONTENT
    assert depot.requests(path)[0].range == ""


@pytest.mark.attack
async def test_the_token_does_not_follow_to_another_host(
    depot: FakeDepot, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    path = depot.add_hub_file(REPO, NAME, CONTENT, cdn=True)
    assert await fetched(depot, store) == CONTENT
    assert depot.requests(f"/api/models/{REPO}")[0].authorization == "Bearer hf_secret"
    assert depot.requests(path)[0].authorization == ""


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        (Fault(status=401, error_code="RepoNotFound"), NotFoundError, "no repository"),
        (Fault(status=403, error_code="GatedRepo"), RefusedError, "licence"),
        (Fault(status=500), UnavailableError, "cannot be reached"),
        (Fault(status=403), UnavailableError, "cannot be reached"),
        (Fault(body=b"<html>sign in</html>"), InvalidDataError, "cannot be read"),
        (Fault(body=b"[]"), InvalidDataError, "cannot be read"),
        (Fault(body=b'{"id": "a/b", "siblings": []}'), InvalidDataError, "without a commit"),
    ],
)
async def test_what_the_listing_may_answer(
    depot: FakeDepot, store: Store, fault: Fault, kind: type[HomingError], said: str
) -> None:
    depot.add_hub_file(REPO, NAME, CONTENT)
    depot.misbehave(f"/api/models/{REPO}", fault)
    with pytest.raises(kind, match=said) as caught:
        await fetched(depot, store)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "kind"), [(404, NotFoundError), (401, RefusedError), (403, RefusedError)]
)
async def test_what_the_file_may_answer(
    depot: FakeDepot, store: Store, status: int, kind: type[HomingError]
) -> None:
    path = depot.add_hub_file(REPO, NAME, CONTENT)
    depot.misbehave(path, Fault(status=status))
    with pytest.raises(kind):
        await fetched(depot, store)


async def test_a_repository_without_the_file_says_what_it_holds(
    depot: FakeDepot, store: Store
) -> None:
    depot.add_hub_file(REPO, "tiny-Q8_0.gguf", CONTENT)
    with pytest.raises(NotFoundError, match=r"it holds: tiny-Q8_0\.gguf"):
        await fetched(depot, store)


async def test_no_server_at_all(store: Store) -> None:
    with FakeDepot() as gone:
        endpoint = gone.hub_endpoint
    with pytest.raises(UnavailableError, match="cannot be reached"):
        await HubSource(endpoint, retry=QUICK).fetch(ENTRY, store, silent)


async def test_no_room_is_said_before_anything_is_fetched(depot: FakeDepot, tmp_path: Path) -> None:
    path = depot.add_hub_file(REPO, NAME, CONTENT)
    with pytest.raises(OverloadedError, match="bytes free"):
        await fetched(depot, Store(tmp_path, free_bytes=lambda _: 1000))
    assert depot.requests(path) == []


async def test_nothing_is_written_to_the_terminal(
    depot: FakeDepot, store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    path = depot.add_hub_file(REPO, NAME, CONTENT)
    depot.misbehave(path, Fault(cut_after=1000))
    await fetched(depot, store)
    assert capfd.readouterr() == ("", "")


def outcome(files: list[ListedFile]) -> str:
    """What a person would be told, whichever way it goes."""
    try:
        chosen = choose_file(files, "*", "a/b")
    except HomingError as error:
        return str(error)
    assert chosen.size > 0
    assert len(chosen.sha256) == 64
    return chosen.sha256


@given(
    st.lists(
        st.builds(ListedFile, st.text(max_size=30), st.integers(), st.text(max_size=70)),
        max_size=8,
    )
)
def test_any_listing_gives_a_file_or_a_clear_error(files: list[ListedFile]) -> None:
    assert outcome(files).isprintable()
