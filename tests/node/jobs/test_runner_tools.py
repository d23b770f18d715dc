"""Tools that misbehave end their own job, and nothing else."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest
from homing_agent.tool import OutputFile, ToolOutput
from homing_core.errors import HomingError, NotFoundError
from homing_core.jobs import JobProgress, JobState
from homing_core.provenance import Trust
from homing_core.tools import EffectClass
from homing_node.jobs import attempt
from homing_node.jobs.outputs import result_of
from homing_node.jobs.section import JobsSection
from support.job_house import ScriptedTool, house, job, tool_spec

if TYPE_CHECKING:
    from pathlib import Path

    from homing_agent.tool import ToolContext
    from homing_core.canonical import JsonObject
    from homing_core.jobs import JobEvent, JobResult
    from homing_node.jobs.store import JobRow
    from support.job_house import Run


async def outcome(
    folder: Path, does: Run, result_mib: int = 256, *, others: bool = True
) -> tuple[list[JobEvent], JobResult]:
    """What becomes of a job whose tool does this, while another's goes well."""
    tool, other = ScriptedTool(tool_spec(), does), ScriptedTool(tool_spec("other"))
    async with house(folder, tool, other, section=JobsSection(result_mib=result_mib)) as home:
        phone = home.person()
        spec = await home.submit(phone, job(tool))
        fine = await home.submit(phone, job(other)) if others else None
        events = await home.ended(phone, spec.id)
        if fine is not None:
            assert (await home.ended(phone, fine.id))[-1].state is JobState.SUCCEEDED
        result, _ = await home.result(phone, spec.id)
    return events, result


@pytest.mark.parametrize(
    "raised",
    [KeyError("a secret"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), OSError()],
    ids=lambda error: type(error).__name__,
)
async def test_whatever_a_tool_raises_its_job_fails(tmp_path: Path, raised: BaseException) -> None:
    async def does(_: JsonObject, __: ToolContext) -> ToolOutput:
        raise raised

    events, result = await outcome(tmp_path, does)
    assert events[-1].state is JobState.FAILED
    assert result.is_error
    assert "secret" not in result.content + events[-1].note


@pytest.mark.parametrize(
    "given",
    [
        None,
        "text",
        ToolOutput(cast("Any", 3)),
        ToolOutput("x", trust=cast("Any", "trusted")),
        ToolOutput("x", files=cast("Any", [1])),
    ],
    ids=repr,
)
async def test_what_is_no_result_is_none(tmp_path: Path, given: object) -> None:
    async def does(_: JsonObject, __: ToolContext) -> ToolOutput:
        return cast("ToolOutput", given)

    events, result = await outcome(tmp_path, does)
    assert events[-1].state is JobState.FAILED
    assert "no result" in result.content


async def test_a_file_of_others_is_not_taken_into_a_result(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine")

    async def does(_: JsonObject, context: ToolContext) -> ToolOutput:
        assert context.folder is not None
        link = context.folder / "link"
        link.symlink_to(secret)
        path = link if context.call_id < "call-8" else secret
        return ToolOutput("x", files=(OutputFile(path, "a.txt"),))

    for number in range(4):  # by chance, both ways
        events, result = await outcome(tmp_path / str(number), does)
        assert events[-1].state is JobState.SUCCEEDED
        assert not result.files
        assert (
            result.content == "x\nleft out: a.txt: a file of the result is none of the tool's own"
        )
    assert secret.read_text() == "mine"


async def test_files_are_part_of_a_result(tmp_path: Path) -> None:
    async def does(_: JsonObject, context: ToolContext) -> ToolOutput:
        assert context.folder is not None
        for name in ("one", "two"):
            (context.folder / name).write_text(f"the {name}")
        files = tuple(
            OutputFile(context.folder / name, f"{name}.txt", "text/plain")
            for name in ("one", "two")
        )
        return ToolOutput("made", files=files, trust=Trust.TRUSTED)

    tool = ScriptedTool(tool_spec(), does)
    async with house(tmp_path, tool) as home:
        phone = home.person()
        spec = await home.submit(phone, job(tool))
        await home.ended(phone, spec.id)
        result, data = await home.result(phone, spec.id)
        status = await home.parts.desk.status(phone.device, spec.id)
    assert [file.name for file in result.files] == ["one.txt", "two.txt"]
    assert data == b"the onethe two"
    assert result.trust is Trust.TRUSTED
    assert status.summary.endswith("2 files made")
    assert not list((tmp_path / "jobs-work").iterdir())


@pytest.mark.attack
async def test_a_file_that_cannot_be_sent_costs_that_file_only(tmp_path: Path) -> None:
    async def does(_: JsonObject, context: ToolContext) -> ToolOutput:
        assert context.folder is not None
        names = ("12:30.mp4", ".nfo", "Report.pdf", "report.pdf", "gone.txt", "big.bin", "end.txt")
        for number, name in enumerate(names):
            (context.folder / str(number)).write_bytes(name.encode())
        (context.folder / "4").unlink()
        with (context.folder / "5").open("wb") as file:
            file.truncate(2 << 20)
        files = (
            OutputFile(context.folder / str(number), name, "x/$" if number else "video/mp4")
            for number, name in enumerate(names)
        )
        return ToolOutput("the work is done \ud800", say="Done.", files=tuple(files))

    tool = ScriptedTool(tool_spec(effect=EffectClass.WRITE), does)
    async with house(tmp_path, tool, section=JobsSection(result_mib=1)) as home:
        phone = home.person()
        spec = job(tool)
        await home.submit(phone, spec, phone.consents(spec))
        events = await home.ended(phone, spec.id)
        result, data = await home.result(phone, spec.id)
    assert events[-1].state is JobState.SUCCEEDED
    assert [(file.name, file.media_type) for file in result.files] == [
        ("12_30.mp4", "video/mp4"),
        ("nfo", ""),
        ("Report.pdf", ""),
        ("report 2.pdf", ""),
        ("end.txt", ""),
    ]
    assert data == b"12:30.mp4.nfoReport.pdfreport.pdfend.txt"
    assert result.content == (
        "the work is done ?\n"
        "left out: gone.txt: a file of the result is not there\n"
        "left out: big.bin: with it the result would be larger than this node keeps"
    )
    assert result.say.startswith("Done.\nleft out: gone.txt")


@pytest.mark.attack
@pytest.mark.parametrize("left", ["", "longer than it was"], ids=["gone", "changed"])
async def test_a_file_that_is_lost_before_it_is_sealed_costs_no_text(
    tmp_path: Path, left: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def losing(  # noqa: PLR0913  # as the real one
        row: JobRow, output: object, folder: Path, *, trust: Trust, most_bytes: int, kept: Path
    ) -> tuple[JobResult, dict[str, Path]]:
        result, paths = result_of(
            row, output, folder, trust=trust, most_bytes=most_bytes, kept=kept
        )
        paths["a.txt"].unlink()
        if left:
            paths["a.txt"].write_text(left)
        return result, paths

    async def does(_: JsonObject, context: ToolContext) -> ToolOutput:
        assert context.folder is not None
        for name in ("a.txt", "b.txt"):
            (context.folder / name).write_text(name)
        files = tuple(OutputFile(context.folder / name, name) for name in ("a.txt", "b.txt"))
        return ToolOutput("written", files=files)

    monkeypatch.setattr(attempt, "result_of", losing)
    events, result = await outcome(tmp_path, does, others=False)
    assert events[-1].state is JobState.SUCCEEDED
    assert result.content == "written\nleft out: a.txt: it is not on this node any more"
    assert [file.name for file in result.files] == ["b.txt"]


async def test_what_cannot_be_sent_at_all_ends_as_failed(tmp_path: Path) -> None:
    async def does(_: JsonObject, __: ToolContext) -> ToolOutput:
        return ToolOutput("x" * (17 << 20), is_error=True)

    events, result = await outcome(tmp_path, does)
    assert events[-1].state is JobState.FAILED
    assert "cannot be sent" in result.content


async def test_of_a_killed_nodes_jobs_only_files_of_results_are_left(tmp_path: Path) -> None:
    tool, hung = ScriptedTool(tool_spec()), asyncio.Event()

    async def does(_: JsonObject, context: ToolContext) -> ToolOutput:
        assert context.folder is not None
        (context.folder.parent / "homing-abc").mkdir()
        (context.folder.parent / "files").mkdir()
        hung.set()
        await asyncio.Event().wait()
        raise AssertionError

    tool.does = does
    async with house(tmp_path, tool) as home:
        phone = home.person()
        await home.submit(phone, job(tool))
        async with asyncio.timeout(20):
            await hung.wait()
        (folder,) = home.parts.folder.iterdir()
        assert {one.name for one in folder.iterdir()} == {"work", "files", "homing-abc"}
        await home.parts.stop()
        hung.clear()
        tidied: list[set[str]] = []
        begin = home.parts.scheduler.start

        def looking() -> None:
            tidied.append({one.name for one in folder.iterdir()})
            begin()

        home.parts.scheduler.start = looking  # type: ignore[method-assign]
        await home.parts.start()
        assert tidied == [{"files"}]


async def test_a_result_that_is_too_large_is_refused(tmp_path: Path) -> None:
    async def does(_: JsonObject, __: ToolContext) -> ToolOutput:
        return ToolOutput("x" * (1 << 20) + "y")

    events, result = await outcome(tmp_path, does, result_mib=1)
    assert events[-1].state is JobState.FAILED
    assert "larger" in result.content


async def test_a_flood_of_progress_is_thinned_and_its_last_word_kept(tmp_path: Path) -> None:
    async def does(_: JsonObject, context: ToolContext) -> ToolOutput:
        for number in range(5_000):
            context.report(JobProgress(number, 5_000, "files", f"\x1b[31mfile {number}"))
            if number % 500 == 0:
                await asyncio.sleep(0)
        context.report(JobProgress(float("nan"), 1))
        context.report(cast("Any", JobProgress(cast("Any", "x"), 1)))
        return ToolOutput("read")

    events, _ = await outcome(tmp_path, does)
    told = [event.progress for event in events if event.progress is not None]
    assert 1 <= len(told) <= 5
    assert told[-1].done == 4_999
    assert "\x1b" not in told[-1].note
    assert events[-1].note.endswith("4999 files")


async def test_progress_may_come_from_other_threads(tmp_path: Path) -> None:
    async def does(_: JsonObject, context: ToolContext) -> ToolOutput:
        await asyncio.to_thread(context.report, JobProgress(1, 2, "pages"))
        await asyncio.sleep(0.05)
        return ToolOutput("read")

    events, _ = await outcome(tmp_path, does)
    assert any(event.progress == JobProgress(1, 2, "pages") for event in events)


async def test_a_tool_that_never_ends_is_really_stopped(tmp_path: Path) -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def does(_: JsonObject, __: ToolContext) -> ToolOutput:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return ToolOutput("never")

    tool = ScriptedTool(tool_spec(), does)
    async with house(tmp_path, tool) as home:
        phone = home.person()
        spec = await home.submit(phone, job(tool))
        await begun.wait()
        await home.parts.desk.cancel(phone.device, spec.id)
        events = await home.ended(phone, spec.id)
        assert stopped.is_set()
        again = await home.parts.desk.cancel(phone.device, spec.id)
    assert events[-1].state is JobState.CANCELLED
    assert again.state is JobState.CANCELLED


async def test_a_tool_that_ignores_being_stopped_holds_nothing_up(
    tmp_path: Path,
) -> None:
    begun, release = asyncio.Event(), asyncio.Event()
    noted: asyncio.Future[HomingError] = asyncio.get_running_loop().create_future()

    async def does(_: JsonObject, context: ToolContext) -> ToolOutput:
        begun.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        try:
            await context.notebook.put("late", value=True)
        except HomingError as error:
            noted.set_result(error)
        return ToolOutput("late")

    tool, other = ScriptedTool(tool_spec(), does), ScriptedTool(tool_spec("other"))
    async with house(tmp_path, tool, other, section=JobsSection(at_once=1), stop_s=0.1) as home:
        phone = home.person()
        spec = await home.submit(phone, job(tool))
        await begun.wait()
        next_one = await home.submit(phone, job(other))
        await home.parts.desk.cancel(phone.device, spec.id)
        assert (await home.ended(phone, spec.id))[-1].state is JobState.CANCELLED
        assert (await home.ended(phone, next_one.id))[-1].state is JobState.SUCCEEDED
        release.set()
        async with asyncio.timeout(10):
            assert "over" in str(await noted)


async def test_a_tool_that_has_changed_or_gone_runs_no_more(tmp_path: Path) -> None:
    tool = ScriptedTool(tool_spec())
    async with house(tmp_path, tool, start=False) as home:
        phone = home.person()
        spec = await home.submit(phone, job(tool))
        tool.spec = tool_spec(description="Does something else.")
        await home.parts.start()
        events = await home.ended(phone, spec.id)
        result, _ = await home.result(phone, spec.id)
        with pytest.raises(NotFoundError, match="changed"):
            await home.submit(phone, job(ScriptedTool(tool_spec())))
    assert events[-1].state is JobState.FAILED
    assert "has changed" in result.content
    assert tool.runs == 0


async def test_a_tool_whose_server_is_still_coming_up_is_waited_for(tmp_path: Path) -> None:
    tool = ScriptedTool(tool_spec())
    async with house(tmp_path, tool, start=False) as home:
        phone = home.person()
        spec = await home.submit(phone, job(tool))
        tool.away = "its server is starting"
        await home.parts.start()
        running = await home.until(phone, spec.id, JobState.RUNNING)
        tool.away = None
        events = await home.ended(phone, spec.id)
    assert running[-1].state is JobState.RUNNING
    assert events[-1].state is JobState.SUCCEEDED


async def test_an_effect_that_failed_is_not_tried_again(tmp_path: Path) -> None:
    async def does(_: JsonObject, __: ToolContext) -> ToolOutput:
        msg = "there is no such lamp"
        raise NotFoundError(msg)

    tool = ScriptedTool(tool_spec(effect=EffectClass.WRITE), does)
    async with house(tmp_path, tool) as home:
        phone = home.person()
        spec = job(tool)
        await home.submit(phone, spec, phone.consents(spec))
        events = await home.ended(phone, spec.id)
        result, _ = await home.result(phone, spec.id)
    assert events[-1].state is JobState.FAILED
    assert result.content == "there is no such lamp"
    assert tool.runs == 1
