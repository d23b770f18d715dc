"""Nodes that lie about jobs, and lines that spoil results: told clearly, and nothing breaks."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_client.cli.job_tool import all_offered
from homing_client.jobs.fetching import MAX_RESULT_BYTES
from homing_client.jobs.testing import away
from homing_core.canonical import canonical_json
from homing_core.errors import HomingError, IntegrityError, InvalidDataError, TooLongError
from homing_core.ids import new_job_id
from homing_core.jobs import JobEvent, JobResult, JobState
from homing_core.tools import Place
from homing_crypto.result_form import encode_result
from homing_crypto.testing import throwaway_identity
from support.job_world import WAIT_S, JobWorld, Phone, tool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from homing_client.jobs.node import SealedPiece, Told
    from homing_core.ids import JobId


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JobWorld:
    monkeypatch.setattr("homing_client.jobs.pauses.PAUSES_S", (0.01,))
    return JobWorld(tmp_path)


async def problem(phone: Phone, job: JobId) -> HomingError:
    """Why there is no result."""
    await phone.settled(job)
    with pytest.raises(HomingError) as caught:
        await phone.parts.desk.result(job)
    return caught.value


@pytest.mark.attack
async def test_numbers_that_skip_or_repeat_are_noticed(world: JobWorld) -> None:
    node = world.node()
    async with world.process() as phone:
        job = (await phone.start()).id
        events = node.jobs[job].events
        events.append(JobEvent(7, 1.0, JobState.RUNNING))
        async with asyncio.timeout(WAIT_S), aclosing(phone.parts.desk.watch(job, 1)) as watched:
            with pytest.raises(InvalidDataError, match="wrong numbers"):
                await anext(watched)
        assert phone.parts.book.get(job).last_seq == 1


@pytest.mark.attack
async def test_events_without_end_neither_fill_the_book_nor_hold_up_an_end(
    world: JobWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = world.node()

    async def flood(job: JobId, after: int) -> AsyncGenerator[JobEvent, None]:
        seq = after
        while not node.jobs[job].state.final:
            seq += 1
            yield JobEvent(seq, 1.0, JobState.RUNNING, note="x" * 900)
            await asyncio.sleep(0)
        yield replace(node.jobs[job].events[-1], seq=seq + 1)

    monkeypatch.setattr(node, "watch", flood)
    async with world.process() as phone:
        job = (await phone.start()).id
        seen = 0
        async with asyncio.timeout(WAIT_S), aclosing(phone.parts.desk.watch(job, 0)) as watched:
            async for event in watched:
                seen += 1
                assert len(event.note) <= 300
                if seen > 2000:
                    break
        ended = await phone.parts.desk.cancel(job)
        assert ended.state is JobState.CANCELLED
        await phone.settled(job)
    assert sum(path.stat().st_size for path in world.folder.glob("jobs.db*")) < 2 << 20


@pytest.mark.attack
async def test_a_flipped_bit_is_fetched_again(world: JobWorld) -> None:
    node = world.node()
    flips = iter([True])

    def flip(piece: SealedPiece) -> SealedPiece:
        if piece.offset and next(flips, False):
            return replace(piece, data=bytes([piece.data[0] ^ 1]) + piece.data[1:])
        return piece

    node.pieces = flip
    async with world.process() as phone:
        job = (await phone.start()).id
        node.succeed(job, "whole", files={"a.bin": b"a" * 9000})
        entry = await phone.settled(job)
        assert entry.result is not None
        assert entry.result.content == "whole"
    assert node.offsets == [0, 0]


@pytest.mark.attack
async def test_what_always_arrives_damaged_ends_with_a_clear_error(world: JobWorld) -> None:
    node = world.node()
    node.pieces = lambda piece: replace(piece, data=bytes(len(piece.data)))
    async with world.process() as phone:
        job = (await phone.start()).id
        node.succeed(job)
        error = await problem(phone, job)
        assert isinstance(error, IntegrityError)
        assert error.what.startswith("the result of summarise from den is damaged")
        assert not list((world.folder / "results").iterdir())
    assert len(node.offsets) == 3
    assert node.jobs[job].acked == []


@pytest.mark.attack
async def test_a_download_that_is_cut_goes_on_where_it_was(world: JobWorld) -> None:
    node = world.node()

    def cut(piece: SealedPiece) -> SealedPiece:
        if piece.offset >= 4096 and node.away is None and len(node.offsets) == 1:
            node.away = away()
            raise node.away
        return piece

    node.pieces = cut
    async with world.process() as phone:
        job = (await phone.start()).id
        node.succeed(job, files={"a.bin": b"a" * 20_000})
        await phone.until_error(job)
        phone.nodes.back(node)
        entry = await phone.settled(job)
        assert entry.result is not None
    assert node.offsets == [0, 4096]


@pytest.mark.attack
async def test_another_jobs_result_is_not_taken_for_this_one(world: JobWorld) -> None:
    node = world.node()
    async with world.process() as phone:
        job = (await phone.start()).id
        node.succeed(job, "not yours", of=new_job_id())
        assert isinstance(await problem(phone, job), IntegrityError)
        other = (await phone.start(folder="b")).id
        third = (await phone.start(folder="c")).id
        node.succeed(other, "mine")
        await phone.settled(other)
        node.jobs[third].sealed = node.jobs[other].sealed
        node.jobs[third].sealed_by = node.jobs[other].sealed_by
        node.event(third, JobState.SUCCEEDED)
        assert isinstance(await problem(phone, third), IntegrityError)


@pytest.mark.attack
async def test_a_result_sealed_by_a_stranger_is_refused(world: JobWorld) -> None:
    node, stranger = world.node(), throwaway_identity()
    async with world.process() as phone:
        job = (await phone.start()).id
        own, node.identity = node.identity, stranger
        node.succeed(job)
        node.identity = own
        assert "does not vouch" in (await problem(phone, job)).what


@pytest.mark.attack
async def test_a_result_that_says_to_be_huge_is_not_fetched(
    world: JobWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = world.node()
    says = node.status

    async def boast(job: JobId) -> Told:
        told = await says(job)
        return replace(told, status=replace(told.status, result_bytes=MAX_RESULT_BYTES + 1))

    monkeypatch.setattr(node, "status", boast)
    async with world.process() as phone:
        job = (await phone.start()).id
        node.succeed(job)
        assert isinstance(await problem(phone, job), TooLongError)
    assert node.offsets == []


@pytest.mark.attack
async def test_a_result_longer_than_was_said_fills_no_disk(world: JobWorld) -> None:
    node = world.node()
    node.pieces = lambda piece: replace(piece, data=piece.data * 50)
    async with world.process() as phone:
        job = (await phone.start()).id
        node.succeed(job)
        assert isinstance(await problem(phone, job), IntegrityError)
        assert not list(world.folder.rglob("job-*"))


@pytest.mark.attack
async def test_a_node_that_never_ends_a_job_but_says_it_has_is_not_asked_in_a_circle(
    world: JobWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = world.node()

    async def nothing(job: JobId, after: int) -> AsyncGenerator[JobEvent, None]:
        for event in node.jobs[job].events[max(after, 99) :]:
            yield event

    monkeypatch.setattr(node, "watch", nothing)
    async with world.process() as phone:
        job = (await phone.start()).id
        assert "stopped telling" in await phone.until_error(job)
        opened = phone.nodes.opened
        await asyncio.sleep(0)
        assert phone.nodes.opened - opened <= 1


@pytest.mark.attack
async def test_a_peer_cannot_make_itself_home_or_its_words_trusted(world: JobWorld) -> None:
    """What the phone's own record says of a node counts, not what the node claims of its tools."""
    world.node(replace(tool(), place=Place.HOME, node="ab" * 32), name="friend", place=Place.PEER)
    async with world.process() as phone:
        ((spec, name),) = all_offered(await phone.parts.desk.tools())
        assert (name, spec.place, spec.node) == (
            "friend",
            Place.PEER,
            phone.nodes.nodes[0].known.id,
        )
        assert spec.output_trust.value == "untrusted"


@pytest.mark.attack
async def test_file_names_with_paths_are_refused_whole(
    world: JobWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node seals what an honest one never would; the phone writes nothing of it."""
    monkeypatch.setattr("homing_crypto.results.encode_result", _encoded_without_checks)
    node = world.node()
    async with world.process() as phone:
        for number, name in enumerate(("../../evil", "/etc/evil", "a\\b", "-rf", "nul")):
            job = (await phone.start(folder=str(number))).id
            node.succeed(job, files={name: b"evil"})
            error = await problem(phone, job)
            assert "plain file name" in error.what
    assert not (world.folder.parent / "evil").exists()
    assert not [path for path in (world.folder / "results").rglob("*") if path.is_file()]


def _encoded_without_checks(result: JobResult) -> bytes:
    honest = encode_result(
        replace(
            result,
            files=tuple(replace(file, name=f"f{n}") for n, file in enumerate(result.files)),
        )
    )
    form = json.loads(honest)
    for file, listed in zip(result.files, form["files"], strict=True):
        listed["name"] = file.name
    return canonical_json(form)
