"""`homing-node jobs`, against the local service in front of a fake that a test moves by hand."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest
from homing_agent.runtime.localsocket import add_local_port
from homing_agent.runtime.paths import prepare_data_dir, program_paths
from homing_core.access import DeviceRole
from homing_core.approvals import Verdict
from homing_core.errors import NotFoundError
from homing_core.ids import JobId, new_approval_id, new_request_id
from homing_core.jobs import JobProgress, JobState, PendingApproval, Settlement
from homing_core.testing import FakeClock
from homing_core.tools import EffectClass
from homing_crypto.rpc_guard import RpcGuard
from homing_crypto.testing import MemoryTrustStore, paired_device, throwaway_identity
from homing_node.cli import run
from homing_node.jobs.console import JobConsole
from homing_node.jobs.fake_desk import FakeJobs
from homing_node.jobs.store import JobKey
from homing_node.rpc.jobs_control import add_jobs_control
from support.commands import Finished
from support.home_tools import CountTool, spec
from support.jobs_home import jobs_home, until
from support.jobs_wire import consent, job_for
from support.node_process import environment, finished
from support.phone_process import on_terminal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from homing_crypto.devices import PairedDevice

COUNT = spec("count", EffectClass.WRITE)


@dataclass
class Desk:
    """A daemon's jobs, and its console."""

    folder: Path
    jobs: FakeJobs
    store: MemoryTrustStore
    capsys: pytest.CaptureFixture[str]

    def phone(self, name: str = "Mum's phone") -> PairedDevice:
        device = paired_device(throwaway_identity(), DeviceRole.GUEST, name=name)
        return self.store.add(device)

    async def job(self, device: PairedDevice, digits: str, text: str = "hi") -> JobKey:
        """A job whose id begins like this."""
        job = replace(job_for(COUNT, text), id=JobId(f"job-{digits.ljust(32, '0')}"))
        await self.jobs.submit(device, job, None)
        return JobKey(device.owner, job.id)

    def ask(self, device: PairedDevice, key: JobKey, **arguments: str) -> PendingApproval:
        """A question of a job."""
        job = job_for(COUNT, **arguments)
        question = PendingApproval(
            id=new_approval_id(),
            job_id=key.id,
            request_id=new_request_id(),
            step=1,
            tool=COUNT,
            call=job.call,
            reason="it changes this computer",
            preview="adds a line",
            expires_at=2_000_000_000,
            device=device.owner,
            device_name=device.name,
        )
        self.jobs.questions.append(question)
        return question

    async def command(self, *words: str) -> Finished:
        """`homing-node jobs`, in a thread of this process."""
        arguments = ["jobs", *words, "--data-dir", str(self.folder)]
        self.capsys.readouterr()
        status = await asyncio.to_thread(run, arguments)
        said = self.capsys.readouterr()
        return Finished(status, said.out, said.err)

    async def objects(self, *words: str) -> list[dict[str, Any]]:
        done = await self.command(*words, "--json")
        assert done.status == 0, done.err
        return [json.loads(line) for line in done.out.splitlines()]


@pytest.fixture
async def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> AsyncIterator[Desk]:
    made = Desk(tmp_path / "node", FakeJobs(), MemoryTrustStore(FakeClock()), capsys)
    paths = program_paths("homing-node", "node", made.folder, environ={})
    prepare_data_dir(paths)
    server = grpc.aio.server(interceptors=[RpcGuard(None)])
    add_jobs_control(JobConsole(made.jobs, made.store))(server)
    add_local_port(server, paths)
    await server.start()
    yield made
    await server.stop(0)


async def test_it_lists_whose_jobs_run_and_how_far_they_are(desk: Desk) -> None:
    assert "No jobs" in (await desk.command()).out
    mum = desk.phone()
    key = await desk.job(mum, "3f9a0c")
    await desk.jobs.move(key, JobState.RUNNING, JobProgress(9, 20, "files"))
    await desk.job(desk.phone("tablet"), "81d2e4")
    out = (await desk.command()).out
    assert "Mum's phone" in out
    assert "45%, 9 of 20 files" in out
    assert out.index("81d2e4") < out.index("3f9a0c"), "newest first"
    (newest,) = await desk.objects("list", "--limit", "1")
    assert newest["device"]["name"] == "tablet"
    assert newest["tool"] == {"server": "scripted", "name": "count"}
    assert newest["state"] == "queued"
    assert "arguments" not in newest


async def test_on_a_narrow_screen_nothing_is_cut(desk: Desk) -> None:
    key = await desk.job(desk.phone(), "3f9a0c")
    await desk.jobs.move(key, JobState.RUNNING, JobProgress(9, 20, "files"))
    env = environment(desk.folder.parent, COLUMNS="40")
    done = await finished("jobs", "--data-dir", desk.folder, env=env)
    assert done.status == 0, done.err
    first, second = done.out.splitlines()
    assert first == "3f9a0c  count: runs"
    assert "Mum's phone" in second
    assert "45%, 9 of 20 files" in second


async def test_it_shows_a_job_with_its_record(desk: Desk) -> None:
    key = await desk.job(desk.phone(), "3f9a0c")
    await desk.jobs.move(key, JobState.RUNNING, JobProgress(1, 2, "halves"), note="begun")
    await desk.jobs.move(key, JobState.SUCCEEDED, note="two halves", result=b"x" * 1234)
    out = (await desk.command("show", "3f9a")).out
    for words in (key.id, "Mum's phone", "begun", "two halves", "1,234 bytes, sealed"):
        assert words in out
    (shown,) = await desk.objects("show", "job-3f9a0c")
    assert [event["seq"] for event in shown["events"]] == [1, 2, 3]
    assert shown["events"][1]["progress"]["total"] == 2


async def test_it_ends_a_job(desk: Desk) -> None:
    await desk.job(desk.phone(), "3f9a0c")
    done = await desk.command("cancel", "3f9a0c")
    assert done.out.splitlines() == ["Cancelled: 3f9a0c, count.", "Where it stands: cancelled."]
    (again,) = await desk.objects("cancel", "3f9a0c")
    assert (again["event"], again["state"]) == ("cancelled", "cancelled")


async def test_what_waits_is_shown_with_all_of_its_arguments(desk: Desk) -> None:
    mum = desk.phone()
    key = await desk.job(mum, "3f9a0c")
    question = desk.ask(mum, key, text="a\u202eb\x1b[2J[red]x" + "y" * 3000, other="last words")
    await desk.jobs.move(key, JobState.WAITING_APPROVAL)
    assert "homing-node jobs approvals" in (await desk.command()).out
    out = (await desk.command("approvals")).out
    for words in (
        f"scripted.count for Mum's phone, {mum.owner[:8]}",
        "adds a line",
        "it changes this computer",
        "write",
        "[red]x" + "y" * 3000,
        "last words",
        "a\\u202eb",
        f"homing-node jobs approve --data-dir {desk.folder} {question.id[5:11]}",
    ):
        assert words in out
    assert "\x1b" not in out
    (shown,) = await desk.objects("approvals")
    assert shown["arguments"] == dict(question.call.arguments)
    assert shown["device"] == {"id": mum.owner, "name": "Mum's phone"}


async def test_a_person_says_yes_and_no(desk: Desk) -> None:
    mum = desk.phone()
    first, second = await desk.job(mum, "3f9a0c"), await desk.job(mum, "81d2e4")
    question, other = desk.ask(mum, first), desk.ask(mum, second)
    (answered,) = await desk.objects("approve", question.id[:12], "--yes")
    assert (answered["event"], answered["job"]) == ("approved", first.id)
    (answered,) = await desk.objects("deny", other.id[5:11])
    assert (answered["event"], answered["job"]) == ("denied", second.id)
    assert desk.jobs.said == [Verdict.ALLOW, Verdict.DENY]
    assert (await desk.command("approvals")).out == "Nothing waits for a person.\n"
    late = await desk.command("approve", other.id, "--yes")
    assert late.status == 1
    assert "no question" in late.err


@pytest.mark.attack
async def test_a_yes_is_for_what_was_shown_and_nothing_that_a_guest_numbers(desk: Desk) -> None:
    """A guest gives a job the digits of a question that the owner is about to answer."""
    guest = desk.phone("guest")
    shown = desk.ask(guest, await desk.job(guest, "3f9a0c"), text="old cat pictures")
    digits = shown.id[5:11]
    desk.jobs.questions.remove(shown)
    later = await desk.job(guest, digits)
    desk.ask(guest, later, text="/srv/family, everything")
    for name in (digits, later.id, later.id[:10]):
        done = await desk.command("approve", name, "--yes")
        assert done.status in {1, 2}, name
    with pytest.raises(NotFoundError):
        await JobConsole(desk.jobs, desk.store).answer(shown.id, allow=True)
    assert desk.jobs.said == []


@pytest.mark.attack
async def test_nothing_is_approved_before_it_was_shown_and_agreed_to(desk: Desk) -> None:
    guest = desk.phone("guest")
    key = await desk.job(guest, "3f9a0c")
    question = desk.ask(guest, key, text="/srv/family\u202e", more="x" * 2000)
    for words in ((), ("--json",)):
        done = await desk.command("approve", question.id[:11], *words)
        assert done.status == 2
        assert "--yes" in done.err
    tests = str(Path(__file__).parents[1])
    env = environment(desk.folder.parent, COLUMNS="80", PYTHONPATH=tests, TERM="xterm")
    command = [sys.executable, "-m", "homing_node", "jobs", "approve", question.id[5:11]]
    command += ["--data-dir", str(desk.folder)]
    async with on_terminal(command, env, desk.folder.parent) as screen:
        for part in (
            "scripted.count for guest",
            "it changes this computer",
            "/srv/family",
            "xxxxx",
        ):
            await screen.expect(part)
        await screen.expect("Allow exactly this")
        screen.type("n\n")
        assert await screen.end() == 1
    assert desk.jobs.said == []
    done = await desk.command("approve", question.id, "--yes")
    assert done.status == 0
    assert "/srv/family\\u202e" in done.err
    assert desk.jobs.said == [Verdict.ALLOW]


async def test_a_person_settles_what_nobody_knows(desk: Desk) -> None:
    key = await desk.job(desk.phone(), "3f9a0c")
    await desk.jobs.move(key, JobState.UNKNOWN_EFFECT)
    assert "jobs settle ID --happened" in (await desk.command()).out
    for word in ("--happened", "--run-again", "--give-up"):
        (settled,) = await desk.objects("settle", "3f9a0c", word)
        assert settled["event"] == "settled"
    assert desk.jobs.said == [Settlement.HAPPENED, Settlement.RUN_AGAIN, Settlement.GIVE_UP]
    for words in ((), ("--happened", "--give-up")):
        done = await desk.command("settle", "3f9a0c", *words)
        assert done.status == 2
        assert "one of --happened, --run-again and --give-up" in done.err


async def test_an_id_that_names_nothing_several_or_is_none(desk: Desk) -> None:
    mum, tablet = desk.phone(), desk.phone("tablet")
    await desk.job(mum, "3f9a0c")
    await desk.job(tablet, "3f9a0c")
    several = await desk.command("show", "3f9a0c")
    assert several.status == 1
    assert "DEVICE/ID" in several.err
    (shown,) = await desk.objects("show", f"{tablet.owner[:8]}/3f9a0c")
    assert shown["device"]["name"] == "tablet"
    assert (await desk.command("show", "0000")).status == 1
    for wrong in ("3f", "nothing", "appr-3f9a0c", "../3f9a"):
        done = await desk.command("show", wrong)
        assert done.status == 2, wrong


async def test_against_a_whole_node_a_person_lets_a_guests_call_happen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    count = CountTool(tmp_path / "counted")
    async with jobs_home(tmp_path, count) as home:
        folder = str(home.rig.paths.data_dir)

        async def objects(*words: str) -> list[dict[str, Any]]:
            capsys.readouterr()
            arguments = [*words, "--json", "--data-dir", folder]
            assert await asyncio.to_thread(run, arguments) == 0
            lines = capsys.readouterr().out.splitlines()
            return [json.loads(line) for line in lines if line.startswith("{")]

        guest = await home.device(name="Ann's phone")
        job = job_for(count.spec, "one more line")
        await guest.submit(job, consent(guest.identity, job))
        (question,) = await objects("jobs", "approvals")
        assert question["device"]["name"] == "Ann's phone"
        assert question["arguments"] == {"text": "one more line"}
        (use,) = await objects("devices", "usage", guest.identity.device_id)
        assert use["jobs"] == 1
        await objects("jobs", "approve", question["approval_id"], "--yes")
        assert (await until(guest, job.id, JobState.SUCCEEDED)).result_bytes > 0
        assert count.lines == ["one more line"]
        (shown,) = await objects("jobs", "show", job.id)
        assert shown["state"] == "succeeded"
        assert "one more line" not in json.dumps(shown)
        (use,) = await objects("devices", "usage", guest.identity.device_id)
        assert use["jobs"] == 0


async def test_without_a_daemon_it_says_how_to_start_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "nobody")
    status = await asyncio.to_thread(run, ["jobs", "--data-dir", folder])
    assert status == 1
    assert "homing-node run" in capsys.readouterr().err
