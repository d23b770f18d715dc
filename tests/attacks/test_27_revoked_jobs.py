"""Attack 27: a device that was revoked goes on through the jobs that it has left behind.

Expected: its tools are really stopped, what waited never runs, whoever watches is told, no result
can be fetched, even if the device is paired again; whatever key of it submitted them, on whoever's
word it was let in, and also if the node was killed between the revocation and the end of its jobs.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_agent.runtime.paths import program_paths
from homing_core.access import DeviceRole
from homing_core.clock import SystemClock
from homing_core.errors import HomingError, NotFoundError
from homing_core.jobs import JobState
from homing_core.tools import EffectClass
from homing_crypto.audit.records import CONSOLE
from homing_crypto.credentials import client_channel
from homing_crypto.devices import Rewrite
from homing_crypto.identity import DeviceIdentity
from homing_crypto.testing import paired_device, throwaway_identity
from homing_crypto.truststore import TRUST_STORE_FILE, SqliteTrustStore
from homing_node.jobs.section import JobsSection
from homing_node.rpc.jobs_control_client import JobsControl
from support.home_tools import EchoTool, SlowTool, spec
from support.jobs_home import JobsHome, jobs_home, progressed, set_soon, until
from support.jobs_wire import JobsClient, job_for
from support.node_rig import LOOPBACK, within

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from pathlib import Path

ONE_AT_A_TIME = replace(LOOPBACK, jobs=JobsSection(at_once=1))
HELD, ECHO = spec("held", EffectClass.READ), spec("echo", EffectClass.READ)


class Left:
    """A node on which a device has left a running job, a waiting one and a result."""

    def __init__(self, home: JobsHome, slow: SlowTool, echo: EchoTool) -> None:
        self.home, self.slow, self.echo = home, slow, echo

    async def leave(self, phone: JobsClient) -> None:
        self.done, self.running, self.waiting = (
            job_for(tool.spec, text)
            for tool, text in ((self.echo, "done"), (self.slow, "runs"), (self.echo, "waits"))
        )
        await phone.submit(self.done)
        assert (await until(phone, self.done.id, JobState.SUCCEEDED)).result_bytes > 0
        await phone.submit(self.running)
        await set_soon(self.slow.started)
        await phone.submit(self.waiting)
        self.watch = phone.watching(self.running.id)
        await within(self.watch.read())

    async def all_of_it_ended(self, after: JobsClient) -> None:
        """What has to hold; `after` is somebody else, whose job needs the only place."""
        await set_soon(self.slow.cancelled)
        with contextlib.suppress(grpc.aio.AioRpcError):
            while await within(self.watch.read()) is not grpc.aio.EOF:
                pass
        assert await self.watch.code() is grpc.StatusCode.PERMISSION_DENIED
        job = job_for(self.echo.spec, "another's")
        await after.submit(job)
        await until(after, job.id, JobState.SUCCEEDED)
        assert [run["text"] for run in self.echo.runs] == ["done", "another's"]

    async def nothing_is_left(self, phone: JobsClient) -> None:
        """Neither for it, whatever it asks, nor on the node."""
        for call in (
            phone.jobs(),
            phone.status(self.done.id),
            phone.watch(self.running.id),
            phone.download(self.done.id),
            phone.cancel(self.waiting.id),
        ):
            with pytest.raises(HomingError):
                await call


@pytest.fixture
async def left(tmp_path: Path) -> AsyncIterator[Left]:
    slow, echo = SlowTool(), EchoTool()
    async with jobs_home(tmp_path, slow, echo, config=ONE_AT_A_TIME) as home:
        yield Left(home, slow, echo)


@pytest.mark.attack(27)
async def test_the_tool_stops_what_waits_never_runs_and_the_watcher_is_told(left: Left) -> None:
    guest, owner = await left.home.device(), await left.home.device(DeviceRole.OWNER)
    await left.leave(guest)
    await left.home.rig.running.desk.revoke(guest.identity.device_id, CONSOLE)
    await left.all_of_it_ended(owner)
    await left.nothing_is_left(guest)


@pytest.mark.attack(27)
async def test_paired_again_it_finds_nothing_of_before(left: Left) -> None:
    guest, owner = await left.home.device(), await left.home.device(DeviceRole.OWNER)
    await left.leave(guest)
    running = left.home.rig.running
    await running.desk.revoke(guest.identity.device_id, CONSOLE)
    await left.all_of_it_ended(owner)
    entry = running.store.get(guest.identity.device_id)
    await running.desk.admit(replace(entry, revoked_at=0.0), CONSOLE)
    again = await left.home.rig.dial(guest.identity)
    back = JobsClient(again.identity, again.channel)
    assert await back.jobs() == ()
    for call in (back.status(left.done.id), back.download(left.done.id)):
        with pytest.raises(NotFoundError):
            await call


@pytest.mark.attack(27)
async def test_jobs_of_a_second_key_of_the_account_end_too(left: Left) -> None:
    first = await left.home.device()
    second = await left.home.device(account=first.identity.device_id)
    owner = await left.home.device(DeviceRole.OWNER)
    await left.leave(second)
    assert {job.id for job in await first.jobs()} == {job.id for job in await second.jobs()}
    await left.home.rig.running.desk.revoke(first.identity.device_id, CONSOLE)
    await left.all_of_it_ended(owner)
    await left.nothing_is_left(second)


@pytest.mark.attack(27)
async def test_jobs_of_a_device_end_with_the_home_that_vouched_for_it(left: Left) -> None:
    home, owner = throwaway_identity(), await left.home.device(DeviceRole.OWNER)
    store = left.home.rig.running.store
    store.add(paired_device(home, DeviceRole.PEER, name="Bo's home"))
    guest = await introduced(left.home, home)
    await left.leave(guest)
    await left.home.rig.running.desk.revoke(home.device_id, CONSOLE)
    await left.all_of_it_ended(owner)
    await left.nothing_is_left(guest)


async def introduced(home: JobsHome, by: DeviceIdentity) -> JobsClient:
    """A device that is here on another home's word, for an hour."""
    guest = await home.device(introduced_by=by.device_id)
    store = home.rig.running.store
    lease = int(SystemClock().now()) + 3600

    def lend(known: object) -> Rewrite:
        del known
        return Rewrite(put=(replace(store.get(guest.identity.device_id), lease_expires_at=lease),))

    store.rewrite(lend)
    return guest


@contextlib.asynccontextmanager
async def daemon(folder: Path) -> AsyncGenerator[tuple[asyncio.subprocess.Process, int]]:
    """A node as a process of its own, and its port; killed at the end."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "support.jobs_daemon", folder),
        cwd="tests",
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        yield process, int(await within(process.stdout.readline()))
    finally:
        if process.returncode is None:
            process.kill()
        await within(process.communicate())


@pytest.mark.attack(27)
async def test_a_revocation_before_a_kill_is_finished_by_the_next_start(tmp_path: Path) -> None:
    guest, owner = throwaway_identity(), throwaway_identity()
    node = tmp_path / "node"
    node.mkdir(mode=0o700)
    clock = SystemClock()
    identity = DeviceIdentity.load_or_create(node, clock)
    store = SqliteTrustStore(node / TRUST_STORE_FILE, clock)
    for one in (guest, owner):
        store.add(paired_device(one, DeviceRole.OWNER))
    async with daemon(tmp_path) as (process, port):
        async with client_channel(f"127.0.0.1:{port}", guest, identity.certificate) as channel:
            phone = JobsClient(guest, channel)
            done, running = job_for(ECHO, "done"), job_for(HELD, "runs")
            for job in (done, running):
                await phone.submit(job)
            await until(phone, done.id, JobState.SUCCEEDED)
            await progressed(phone, running.id)
        process.kill()
        await within(process.wait())
    store.revoke(guest.device_id)  # and killed before anything else was done
    store.close()
    async with daemon(tmp_path) as (_, port):
        async with client_channel(f"127.0.0.1:{port}", owner, identity.certificate) as channel:
            phone = JobsClient(owner, channel)
            job = job_for(ECHO, "another's")
            await phone.submit(job)
            await until(phone, job.id, JobState.SUCCEEDED)
        paths = program_paths("homing-node", "node", node, environ={})
        async with JobsControl.connect(paths) as console:
            assert [view.id for view in await console.list(10)] == [job.id]
    assert (tmp_path / "started").read_text("utf-8").splitlines() == ["runs"]
