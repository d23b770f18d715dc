"""A daemon that stood still does nothing more for a job that another may have by now."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

import pytest
from homing_agent.tool import ToolOutput
from homing_core.clock import SystemClock, boot_time
from homing_core.jobs import JobState
from homing_core.tools import EffectClass
from homing_crypto.testing import MemoryTrustStore, throwaway_identity
from homing_node.jobs import lease
from homing_node.jobs.consenting import JobConsent
from homing_node.jobs.offering import OfferedTool
from homing_node.jobs.section import JobsSection
from homing_node.jobs.sql_store import SqlJobStore
from homing_node.jobs.store import JobKey, LostJobError
from homing_node.jobs.testing import MemoryJobStore
from support.job_house import Mortal, ScriptedTool, house, job, tool_spec
from support.job_rows import put

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from homing_agent.tool import ToolContext
    from homing_core.canonical import JsonObject
    from homing_node.jobs.store import JobStore
    from support.postgres import PostgresServer

SHARED = JobsSection(database="postgresql://shared", lease_seconds=5.0)
"""Makes a daemon believe that others have its store, which is then given."""


class StandsStill(Mortal):
    """A store during one of whose calls its daemon stands still for a while, once."""

    def __init__(self, store: JobStore, patch: pytest.MonkeyPatch, during: str) -> None:
        super().__init__(store)
        self._during = during
        self.late_s = 0.0
        patch.setattr(lease, "boot_time", lambda: boot_time() + self.late_s)

    def fails(self, name: str) -> bool:
        if name == self._during:
            self._during, self.late_s = "", 60.0
        return self.dead


async def looked_at_again(store: StandsStill, key: JobKey, until: Callable[[], bool]) -> None:
    """Wait until an attempt was left, then let the daemon know the time again."""
    async with asyncio.timeout(10):
        while not until():  # noqa: ASYNC110  # the store is another's, and sets no event
            await asyncio.sleep(0.01)
    assert store.kept.get(key).attempt == 1
    store.late_s = 0.0


@pytest.mark.attack
async def test_a_pause_before_the_effect_was_recorded_leaves_it_to_whoever_has_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = ScriptedTool(tool_spec(effect=EffectClass.SEND))
    store = StandsStill(MemoryJobStore(), monkeypatch, "effects")
    async with house(tmp_path, send, store=store.kept, section=SHARED) as home:
        person = home.person()
        spec = job(send)
        await home.submit(person, spec, person.consents(spec))
        key = JobKey(person.device.owner, spec.id)
        await looked_at_again(
            store, key, lambda: bool(store.late_s) and not home.parts.scheduler.runs(key)
        )
        assert send.runs == 0
        assert home.store.effects(key) == ()
        await home.parts.scheduler.beat()  # nobody else took it
        await home.ended(person, spec.id)
        assert home.store.get(key).state is JobState.SUCCEEDED
        assert send.runs == 1


@pytest.mark.attack
async def test_a_pause_before_the_tool_is_called_leaves_it_uncalled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = ScriptedTool(tool_spec(effect=EffectClass.SEND))
    store = StandsStill(MemoryJobStore(), monkeypatch, "begin_effect")
    async with house(tmp_path, send, store=store.kept, section=SHARED) as home:
        person = home.person()
        spec = job(send)
        await home.submit(person, spec, person.consents(spec))
        key = JobKey(person.device.owner, spec.id)
        await looked_at_again(
            store, key, lambda: bool(store.late_s) and not home.parts.scheduler.runs(key)
        )
        await home.parts.scheduler.beat()
        await home.until(person, spec.id, JobState.UNKNOWN_EFFECT)
        assert send.runs == 0


async def test_a_daemon_that_shares_its_jobs_with_nobody_may_sleep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float] = []

    async def does(_: JsonObject, context: ToolContext) -> ToolOutput:
        seen.append(context.silence_s)
        return ToolOutput("sent")

    send = ScriptedTool(tool_spec(effect=EffectClass.SEND), does)
    store = StandsStill(MemoryJobStore(), monkeypatch, "begin_effect")
    async with house(tmp_path, send, store=store.kept) as home:
        person = home.person()
        spec = job(send)
        await home.submit(person, spec, person.consents(spec))
        await home.ended(person, spec.id)
        row = home.store.get(JobKey(person.device.owner, spec.id))
        assert (row.state, send.runs, seen) == (JobState.SUCCEEDED, 1, [0.0])


@pytest.mark.attack
async def test_a_tool_within_a_tool_is_not_called_after_a_pause(tmp_path: Path) -> None:
    inner = ScriptedTool(tool_spec("inner"))

    def may_act() -> None:
        msg = "late"
        raise LostJobError(msg)

    async def does(_: JsonObject, context: ToolContext) -> ToolOutput:
        offered = next(tool for tool in context.offered if tool.spec.name == "inner")
        assert isinstance(offered, OfferedTool)
        assert isinstance(context.consent, JobConsent)
        late = OfferedTool(inner, context.consent, may_act)
        with pytest.raises(LostJobError):
            await late.run({}, context)
        await offered.run({}, context)
        return ToolOutput("done")

    outer = ScriptedTool(tool_spec("outer"), does)
    async with house(tmp_path, outer, inner) as home:
        person = home.person()
        spec = await home.submit(person, job(outer))
        await home.ended(person, spec.id)
        assert home.store.get(JobKey(person.device.owner, spec.id)).state is JobState.SUCCEEDED
        assert inner.runs == 1


@pytest.mark.attack
async def test_whoever_settles_is_told_which_daemon_is_silent_and_may_still_do_it(
    tmp_path: Path,
) -> None:
    begun, kept = asyncio.Event(), MemoryJobStore()
    store, section = Mortal(kept), JobsSection(database="postgresql://shared", lease_seconds=1.0)
    trust, node = MemoryTrustStore(), throwaway_identity()

    async def hangs(_: JsonObject, __: ToolContext) -> ToolOutput:
        begun.set()
        await asyncio.get_running_loop().create_future()
        return ToolOutput("never")

    def send() -> ScriptedTool:
        return ScriptedTool(tool_spec(effect=EffectClass.SEND), hangs)

    given = {"section": section, "trust": trust, "node": node}
    async with house(tmp_path / "a", send(), store=store.kept, **given) as silent:  # type: ignore[arg-type]  # named
        person = silent.person()
        spec = job(silent.tools[0])
        await silent.submit(person, spec, person.consents(spec))
        async with asyncio.timeout(10):
            await begun.wait()
        runner = kept.get(JobKey(person.device.owner, spec.id)).runner
        store.dead = True
        async with house(tmp_path / "b", send(), store=Mortal(kept).kept, **given) as other:  # type: ignore[arg-type]  # named
            found = await other.until(person, spec.id, JobState.UNKNOWN_EFFECT)
            assert f"daemon {runner[:12]} had this job and is silent since 20" in found[-1].note
            assert found[-1].note.endswith("if it was only paused, it may still do it")
            assert other.tools[0].runs == 0


class Ahead(SystemClock):
    """A clock that somebody set wrong."""

    def now(self) -> float:
        return super().now() + 3600


@pytest.mark.attack
async def test_a_daemon_whose_clock_is_ahead_takes_no_job_from_one_that_is_well(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    url = postgres.new_database()
    section = JobsSection(database=url, lease_seconds=60.0)
    with contextlib.closing(SqlJobStore(url)) as store:
        assert abs(store.time(0.0) - time.time()) < 60
        key = put(store).key
        claimed = store.claim(key, "run-well", store.time(0.0), 60.0, attempt=0)
        assert claimed is not None
        async with house(
            tmp_path, store=SqlJobStore(url), section=section, clock=Ahead(), start=False
        ) as ahead:
            await ahead.parts.scheduler.beat()
            assert store.lost(store.time(0.0)) == ()
            assert store.get(key) == claimed


def test_a_store_without_a_clock_of_its_own_takes_the_daemons(store: JobStore) -> None:
    own = time.time()
    assert abs(store.time(own) - own) < 60
