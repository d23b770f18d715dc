"""The one door to jobs: what it lets in, shows and hands out."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_agent.tool import ToolOutput
from homing_core.access import DeviceRole, Limits
from homing_core.errors import (
    ConflictError,
    HomingError,
    InvalidDataError,
    NotFoundError,
    OverloadedError,
    RefusedError,
    UnavailableError,
)
from homing_core.ids import new_job_id
from homing_core.jobs import JobProgress, JobState
from homing_core.tools import EffectClass
from homing_node.jobs.store import JobKey
from homing_node.jobs.testing import MemoryJobStore
from support.job_house import Mortal, ScriptedTool, house, job, opened, tool_spec

if TYPE_CHECKING:
    from pathlib import Path

    from homing_agent.tool import ToolContext
    from homing_core.canonical import JsonObject

WRITE = tool_spec("change", EffectClass.WRITE)


async def test_handing_in_again_is_harmless_even_when_the_tool_has_gone(tmp_path: Path) -> None:
    tool = ScriptedTool(WRITE)
    async with house(tmp_path, tool) as home:
        phone = home.person()
        spec = job(tool)
        await home.submit(phone, spec, phone.consents(spec))
        await home.submit(phone, spec, phone.consents(spec))  # signed anew
        await home.ended(phone, spec.id)
        tool.away = "its server has gone"
        again = await home.parts.desk.submit(phone.device, spec, None)
        other = replace(spec, call=replace(spec.call, arguments={"what": "that"}))
        tool.away = None
        with pytest.raises(ConflictError):
            await home.submit(phone, other, phone.consents(other))
    assert again.state is JobState.SUCCEEDED
    assert tool.runs == 1


async def test_what_does_not_fit_is_refused_before_anything_is_kept(tmp_path: Path) -> None:
    tool, change = ScriptedTool(tool_spec()), ScriptedTool(WRITE)
    async with house(tmp_path, tool, change) as home:
        phone, stranger = home.person(), home.person(limits=Limits(tools=("none",)))
        spec, other = job(tool), job(change)
        mute = replace(phone.device, hpke_public_key=b"")
        wrong = replace(spec, call=replace(spec.call, arguments={"what": 3}))
        for device, asked, approval, error in (
            (phone.device, wrong, None, InvalidDataError),
            (phone.device, replace(spec, tool=replace(spec.tool, name="x")), None, HomingError),
            (stranger.device, spec, None, NotFoundError),
            (mute, spec, None, RefusedError),
            (phone.device, other, None, RefusedError),
            (phone.device, other, phone.consents(job(change)), RefusedError),
            (phone.device, other, stranger.consents(other), RefusedError),
        ):
            with pytest.raises(error):
                await home.parts.desk.submit(device, asked, approval)
        tool.away = "there is no printer"
        with pytest.raises(RefusedError, match="no printer"):
            await home.parts.desk.submit(phone.device, spec, None)
        assert await home.parts.desk.rows(10) == ()
    assert home.access.refusals == 5


async def test_a_device_has_as_many_jobs_as_it_may(tmp_path: Path) -> None:
    tool = ScriptedTool(tool_spec())
    async with house(tmp_path, tool, start=False) as home:
        guest = home.person(DeviceRole.GUEST, limits=Limits(jobs=2))
        other = home.person(DeviceRole.GUEST, limits=Limits(jobs=2))
        first = await home.submit(guest, job(tool))
        await home.submit(guest, job(tool))
        with pytest.raises(OverloadedError, match="2"):
            await home.submit(guest, job(tool))
        await home.submit(other, job(tool))
        await home.parts.desk.cancel(guest.device, first.id)
        await home.submit(guest, job(tool))
        assert len(await home.parts.desk.list(guest.device, 10, None)) == 3


@pytest.mark.attack
async def test_jobs_of_others_do_not_exist(tmp_path: Path) -> None:
    tool = ScriptedTool(tool_spec())
    async with house(tmp_path, tool) as home:
        phone, other = home.person(), home.person()
        spec = await home.submit(phone, job(tool))
        await home.ended(phone, spec.id)
        desk, device = home.parts.desk, other.device
        for call in (
            desk.status(device, spec.id),
            desk.cancel(device, spec.id),
            desk.ack(device, spec.id, "0" * 64),
            anext(desk.watch(device, spec.id, 0)),
            anext(desk.download(device, spec.id, 0)),
        ):
            with pytest.raises(NotFoundError):
                await call
        assert await desk.list(device, 10, None) == ()


async def test_a_watcher_is_told_at_once_and_may_come_back_after_any_number(
    tmp_path: Path,
) -> None:
    steps = [asyncio.Event() for _ in range(2)]

    async def does(_: JsonObject, context: ToolContext) -> ToolOutput:
        for number, step in enumerate(steps):
            await step.wait()
            context.report(JobProgress(number + 1, 2, "pages"))
            await asyncio.sleep(0.02)
        return ToolOutput("read")

    tool = ScriptedTool(tool_spec(), does)
    async with house(tmp_path, tool) as home, asyncio.timeout(10):
        phone = home.person()
        spec = await home.submit(phone, job(tool))
        async with contextlib.aclosing(home.parts.desk.watch(phone.device, spec.id, 0)) as seen:
            first = [await anext(seen), await anext(seen)]
            steps[0].set()
            first.append(await anext(seen))
        steps[1].set()
        watching = home.parts.desk.watch(phone.device, spec.id, first[-1].seq)
        rest = [event async for event in watching]
        with pytest.raises(InvalidDataError):
            await anext(home.parts.desk.watch(phone.device, spec.id, 99))
    numbers = [event.seq for event in (*first, *rest)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert first[-1].progress == JobProgress(1, 2, "pages")
    assert rest[-1].state is JobState.SUCCEEDED


async def test_a_result_comes_in_pieces_from_any_offset_and_goes_when_it_has_arrived(
    tmp_path: Path,
) -> None:
    async def does(_: JsonObject, __: ToolContext) -> ToolOutput:
        return ToolOutput("x" * 200_000)

    tool = ScriptedTool(tool_spec(), does)
    async with house(tmp_path, tool) as home:
        phone, desk = home.person(), home.parts.desk
        spec = await home.submit(phone, job(tool))
        await home.ended(phone, spec.id)
        pieces = [piece async for piece in desk.download(phone.device, spec.id, 0)]
        whole = b"".join(piece.data for piece in pieces)
        rest = [piece.data async for piece in desk.download(phone.device, spec.id, 70_000)]
        assert b"".join(rest) == whole[70_000:]
        assert max(len(piece.data) for piece in pieces) <= 64 << 10
        assert {piece.total_bytes for piece in pieces} == {len(whole)}
        result, _ = opened(whole, phone.identity, home.node, spec.id)
        row = await home.parts.records.call(home.store.get, JobKey(phone.device.owner, spec.id))
        with pytest.raises(ConflictError):
            await desk.ack(phone.device, spec.id, "0" * 64)
        for _ in range(2):
            await desk.ack(phone.device, spec.id, row.result_sha256)
        with pytest.raises(NotFoundError):
            await anext(desk.download(phone.device, spec.id, 0))
    assert len(result.content) == 200_000


async def test_a_queued_job_is_cancelled_at_once(tmp_path: Path) -> None:
    tool = ScriptedTool(tool_spec())
    async with house(tmp_path, tool, start=False) as home:
        phone = home.person()
        spec = await home.submit(phone, job(tool))
        status = await home.parts.desk.cancel(phone.device, spec.id)
        await home.parts.start()
        fine = await home.submit(phone, job(tool))
        await home.ended(phone, fine.id)
    assert status.state is JobState.CANCELLED
    assert tool.runs == 1


@pytest.mark.attack
async def test_a_revoked_accounts_tools_are_stopped_and_all_of_it_goes(tmp_path: Path) -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def does(_: JsonObject, __: ToolContext) -> ToolOutput:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return ToolOutput("never")

    tool = ScriptedTool(tool_spec(), does)
    async with house(tmp_path, tool) as home, asyncio.timeout(10):
        phone = home.person()
        spec = await home.submit(phone, job(tool))
        waiting = await home.submit(phone, job(tool, priority=-1))
        await begun.wait()
        await home.parts.desk.end_account(phone.device.owner)
        assert stopped.is_set()
        for gone in (spec, waiting):
            with pytest.raises(NotFoundError):
                await home.parts.desk.status(phone.device, gone.id)
    assert tool.runs <= 2


async def test_a_store_that_does_not_answer_is_said(tmp_path: Path) -> None:
    tool = ScriptedTool(tool_spec())
    mortal = Mortal(MemoryJobStore())
    async with house(tmp_path, tool, store=mortal.kept) as home:
        phone = home.person()
        mortal.dead = True
        with pytest.raises(UnavailableError):
            await home.submit(phone, job(tool))
        mortal.dead = False
        spec = await home.submit(phone, job(tool))
        assert (await home.ended(phone, spec.id))[-1].state is JobState.SUCCEEDED


async def test_unknown_things_are_not_found(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        phone = home.person()
        with pytest.raises(NotFoundError):
            await home.parts.desk.status(phone.device, new_job_id())
        assert await home.parts.desk.pending(phone.device) == ()
