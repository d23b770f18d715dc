"""What a call of a server's tool brings, and what it takes to stop one."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import mcp_types as types
import pytest
from homing_agent.mcp.content import to_output
from homing_agent.mcp.status import ServerState
from homing_agent.mcp.words import ServerWords
from homing_agent.tool import MemoryNotebook
from homing_core.errors import UnavailableError
from homing_core.jobs import ResultFile
from homing_crypto.result_form import check_files
from support.mcp_servers import killed_parent
from support.mcp_servers.rig import QUICK, a_context, running, scripted

if TYPE_CHECKING:
    from pathlib import Path

    from homing_core.jobs import JobProgress


def gone(pid: int) -> bool:
    """Whether a process ends within ten seconds."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 10)[0])
    finally:
        os.close(descriptor)


class Watch:
    """Who watches a call."""

    def __init__(self) -> None:
        self.seen: list[JobProgress] = []
        self.context = replace(a_context(), report=self._report)
        self._heard = asyncio.Event()

    async def heard(self) -> None:
        async with asyncio.timeout(10):
            await self._heard.wait()

    def _report(self, progress: JobProgress) -> None:
        self.seen.append(progress)
        self._heard.set()


async def test_progress_is_told_cleaned(tmp_path: Path) -> None:
    watch = Watch()
    async with running(tmp_path, scripted("progress")) as rig:
        await rig.ready("progress")
        await rig.call("progress", watch.context)
    seen = watch.seen
    assert [progress.done for progress in seen] == [1, 2, 0, 3]
    assert {progress.total for progress in seen} == {3}
    assert {progress.note for progress in seen} == {"on[2J it"}


@pytest.mark.attack
def test_two_files_of_one_name_are_two_files(tmp_path: Path) -> None:
    """None costs the other, or the text: what the call did has happened."""
    blocks: list[types.ContentBlock] = [
        types.EmbeddedResource(
            type="resource",
            resource=types.BlobResourceContents(
                uri=f"file:///{place}", blob="eA==", mime_type="application/x-$odd"
            ),
        )
        for place in ("a/report.pdf", "b/Report.pdf", "c/nul", "d/%2e%2e")
    ]
    result = types.CallToolResult(content=blocks)
    output = to_output(result, ServerWords(), tmp_path, "s")
    assert [file.name for file in output.files] == [
        "report.pdf",
        "Report 2.pdf",
        "file nul.bin",
        "file-4.bin",
    ]
    assert "kept as Report 2.pdf]" in output.content
    check_files(tuple(ResultFile(file.name, file.media_type, 1) for file in output.files))


async def test_text_images_and_blobs_become_text_and_files(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    words = {"files": ServerWords(files_kib=2)}
    async with running(tmp_path, scripted("files"), words=words) as rig:
        await rig.ready("files")
        output = await rig.call("files", replace(a_context(), folder=folder))
        without = await rig.call("files")
    assert [(f.name, f.media_type, f.path.read_bytes()) for f in output.files] == [
        ("image-1.png", "image/png", b"hello"),
        ("evil.sh", "text/x-sh", b"hi"),
    ]
    assert all(f.path.parent == folder for f in output.files)
    assert output.content.splitlines() == [
        "a[31mb",
        "[one image of the type image/png of 5 bytes, kept as image-1.png]",
        "[one image of the type image/png, which cannot be read]",
        "[one image of 6,000 bytes, left out: 2 KiB of files are kept of one answer]",
        "[one file of the type text/x-sh of 2 bytes, kept as evil.sh]",
        "[a link to alink: file:///x]",
        '{"n": 1}',
    ]
    assert not without.files
    assert "cannot be kept here" in without.content


async def test_a_tool_that_says_it_failed_is_an_error(tmp_path: Path) -> None:
    async with running(tmp_path, scripted("failing")) as rig:
        await rig.ready("failing")
        output = await rig.call("failing")
    assert output.is_error
    assert output.content == "no such file"


@pytest.mark.attack
async def test_a_server_sees_no_variable_and_no_descriptor_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOMING_UNLOCK_PASSPHRASE", "secret")
    monkeypatch.setenv("SOME_TOKEN", "secret")
    monkeypatch.setenv("PASSED_ON", "yes")
    words = {"environment": ServerWords(environment=("PASSED_ON",))}
    inheritable = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(inheritable, True)  # noqa: FBT003  # its only form
    try:
        async with running(tmp_path, scripted("environment", OWN="1"), words=words) as rig:
            await rig.ready("environment")
            seen = json.loads((await rig.call("environment")).content)
    finally:
        os.close(inheritable)
    assert "secret" not in seen["env"].values()
    assert seen["env"]["PASSED_ON"] == "yes"
    assert seen["env"]["OWN"] == "1"
    assert seen["env"]["HOME"] == os.environ["HOME"]
    assert set(seen["fds"]) <= {0, 1, 2, 3}  # the last is its own look at the list
    folder = tmp_path / "mcp" / "environment"
    assert seen["cwd"] == str(folder)
    assert folder.stat().st_mode & 0o077 == 0
    assert seen["group"]


async def test_cancelling_tells_the_server_which_call(tmp_path: Path) -> None:
    state = tmp_path / "state"
    watch = Watch()
    async with running(tmp_path, scripted("cancelled", STATE=str(state))) as rig:
        await rig.ready("cancelled")
        call = asyncio.create_task(rig.call("cancelled", watch.context))
        await watch.heard()
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call
        # The server has answered a ping since, so it has read all that came before.
        told, started = state.read_text().split()
        assert told == started
        assert rig.status("cancelled").state is ServerState.READY


async def test_a_server_that_is_busy_with_another_call_is_not_ended(tmp_path: Path) -> None:
    state = tmp_path / "state"
    watch = Watch()
    async with running(tmp_path, scripted("one_at_a_time", STATE=str(state))) as rig:
        await rig.ready("one_at_a_time")
        wanted = asyncio.create_task(rig.call("one_at_a_time", watch.context))
        await watch.heard()
        unwanted = asyncio.create_task(rig.call("one_at_a_time"))
        await asyncio.wait({unwanted}, timeout=0.05)
        unwanted.cancel()
        # Longer than a ping may take: nothing tells the one call from the other from outside.
        await asyncio.wait({unwanted}, timeout=QUICK.cancel * 2)
        assert rig.status("one_at_a_time").state is ServerState.READY
        state.touch()
        assert (await wanted).content == "done"
        await asyncio.wait({unwanted}, timeout=10)
        assert unwanted.cancelled()


async def test_a_server_can_be_ended_with_a_cancelled_call(tmp_path: Path) -> None:
    state = tmp_path / "state"
    watch = Watch()
    words = {"cancelled": ServerWords(end_on_cancel=True)}
    async with running(tmp_path, scripted("cancelled", STATE=str(state)), words=words) as rig:
        await rig.ready("cancelled")
        call = asyncio.create_task(rig.call("cancelled", watch.context))
        await watch.heard()
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call
        assert "was cancelled" in await rig.failed("cancelled")


async def test_a_task_is_begun_watched_and_fetched(tmp_path: Path) -> None:
    state = tmp_path / "state"
    watch = Watch()
    context = replace(watch.context, notebook=MemoryNotebook())
    async with running(tmp_path, scripted("task", STATE=str(state))) as rig:
        await rig.ready("task")
        assert (await rig.call("task", context)).content == "result of task-1"
        assert [progress.note for progress in watch.seen] == ["step 1", "step 2", "step 3"]
        # A job that is taken up again asks for the task that it began, and begins no other.
        assert (await rig.call("task", context)).content == "result of task-1"
        assert state.read_text() == "1"


async def test_a_cancelled_task_is_cancelled_at_the_server(tmp_path: Path) -> None:
    state = tmp_path / "state"
    watch = Watch()
    async with running(tmp_path, scripted("task_endless", STATE=str(state))) as rig:
        await rig.ready("task_endless")
        call = asyncio.create_task(rig.call("task_endless", watch.context))
        await watch.heard()
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call
        assert state.read_text() == "cancelled task-1"


@pytest.mark.attack
async def test_a_stubborn_server_and_what_it_started_are_gone_after_close(tmp_path: Path) -> None:
    state = tmp_path / "pids"
    async with running(tmp_path, scripted("stubborn", STATE=str(state))) as rig:
        await rig.ready("stubborn")
    assert all(gone(int(pid)) for pid in state.read_text().split())


@pytest.mark.attack
async def test_a_killed_host_leaves_no_server_behind(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, killed_parent.__file__, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    async with asyncio.timeout(20):
        while line := await process.stdout.readline():
            if line == b"up\n":
                break
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    process.send_signal(signal.SIGKILL)
    await process.wait()
    assert len(pids) == 2
    assert all([await asyncio.to_thread(gone, pid) for pid in pids])


@pytest.mark.attack
async def test_a_call_that_waited_for_its_server_is_not_made_if_others_may_make_it_by_now(
    tmp_path: Path,
) -> None:
    def late() -> None:
        msg = "another may have it"
        raise UnavailableError(msg)

    async with running(tmp_path, scripted("fine")) as rig:
        await rig.ready("fine")
        tool = rig.host.find("fine", "echo")
        assert tool is not None
        around = replace(a_context(), may_act=late)
        with pytest.raises(UnavailableError, match="another may have it"):
            await tool.run({"text": "x"}, around)
