"""A job's progress: the numbers, how they look, and leaving a request whose job goes on."""

from __future__ import annotations

import asyncio
import contextlib
import io
import math
import signal
from typing import TYPE_CHECKING, Any

import pytest
from homing_agent.events import FinalAnswer, ToolFinished, ToolProgress, ToolStarted
from homing_agent.request import ToolStep
from homing_agent.runtime.job_words import (
    count_text,
    duration_text,
    job_beginning,
    percent,
    rate_text,
    size_text,
)
from homing_client.cli.job_progress import JobShow
from homing_client.cli.json_report import JsonReporter
from homing_client.cli.pace import Pace
from homing_client.cli.report import TextReporter
from homing_client.testing import FakePhoneJobs
from homing_core.errors import UsageError
from homing_core.generation import TextDelta
from homing_core.ids import ApprovalId, JobId, ToolCallId, new_conversation_id, new_request_id
from homing_core.jobs import JobEvent, JobProgress, JobState
from homing_core.provenance import Origin, Provenance, Sensitivity, Trust
from homing_core.tools import Place, ToolCall, ToolResult, ToolSpec
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from support import strategies as values
from support.phone_desk import phone_desk
from support.phone_process import DEADLINE_S, PhoneRig, objects

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from homing_agent.events import AgentEvent
    from homing_agent.ports import Consent
    from homing_agent.request import AskInput

JOB = JobId("job-" + "3f9a0c" + "0" * 26)
CALL = ToolCall(ToolCallId("call-" + "0a" * 16), "summarise", {"folder": "notes"})


def event(seq: int, at: float, done: float = 0, total: float = 40, **fields: Any) -> JobEvent:  # noqa: ANN401  # of any field
    state = fields.pop("state", JobState.RUNNING)
    progress = JobProgress(done, total, fields.pop("unit", "files"), fields.pop("note", ""))
    return JobEvent(seq, at, state, progress if state is JobState.RUNNING else None, **fields)


def shown(width: int, *events: JobEvent) -> list[str]:
    """The lines that a terminal of this width would show after these events."""
    console = Console(width=width, file=io.StringIO())
    show = JobShow(JOB, "summarise", "attic", lambda words: f"homing {words}", console)
    for one in events:
        show.show(one)
    picture = Console(width=width, file=io.StringIO())
    picture.print(show.picture(width))
    assert isinstance(picture.file, io.StringIO)
    return [line.rstrip() for line in picture.file.getvalue().splitlines()]


def test_a_rate_is_that_of_the_nodes_own_clock() -> None:
    pace = Pace()
    assert pace.left_s(JobProgress(0, 40)) is None
    for second in range(5):
        pace.add(100.0 + second, 3.0 * second)
    assert pace.per_second == 3.0
    assert pace.left_s(JobProgress(12, 40)) == pytest.approx(28 / 3)


def test_a_rate_forgets_what_was_long_ago() -> None:
    pace = Pace()
    pace.add(0.0, 0)
    pace.add(1000.0, 1)
    pace.add(1030.0, 31)
    pace.add(1065.0, 66)
    assert pace.per_second == pytest.approx(1.0)


def test_going_back_begins_anew() -> None:
    pace = Pace()
    pace.add(0.0, 10)
    pace.add(10.0, 20)
    pace.add(11.0, 0)
    assert pace.per_second == 0.0


_numbers = st.floats(0, allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(_numbers, _numbers), max_size=6), _numbers)
def test_no_numbers_of_a_node_break_the_view(
    points: list[tuple[float, float]], total: float
) -> None:
    events = [event(seq + 1, at, done, total) for seq, (at, done) in enumerate(points)]
    assert all(len(line) <= 40 for line in shown(40, *events, event(99, 1.0)))


@given(values.job_events)
def test_no_event_of_a_node_breaks_the_view(said: JobEvent) -> None:
    lines = shown(80, said)
    assert all(len(line) <= 80 and "\x1b" not in line for line in lines)


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (
            80,
            [
                "summarise at attic · notes/garden.md",
                "42% · 17 of 40 files · 3/s · 8 s left",
            ],
        ),
        (
            40,
            [
                "summarise at attic",
                "notes/garden.md",
                "",
                "42% · 17 of 40 files · 3/s · 8 s left",
            ],
        ),
    ],
)
def test_a_bar_with_rate_and_time_left(width: int, lines: list[str]) -> None:
    found = shown(width, event(1, 0.0, 2), event(2, 5.0, 17, note="notes/garden.md"))
    assert [line.strip("━╸╺ ") for line in found] == lines
    assert any("━" in line for line in found)


def test_what_a_person_must_do_is_said_with_the_command() -> None:
    asked = ApprovalId("appr-81d2e4" + "0" * 26)
    waits = shown(80, event(1, 0.0, state=JobState.WAITING_APPROVAL, approval_id=asked))
    assert waits == [
        "summarise at attic · waits for a yes or no",
        "answer it: homing jobs approve 81d2e4",
    ]
    waits = shown(80, event(1, 0.0, state=JobState.WAITING_APPROVAL))
    assert waits[1] == "answer it: homing jobs approvals"
    unknown = shown(80, event(1, 0.0, state=JobState.UNKNOWN_EFFECT))
    assert "homing jobs settle 3f9a0c" in unknown[1]


def test_a_pipe_gets_few_lines(capsys: pytest.CaptureFixture[str]) -> None:
    shown(
        80,
        event(1, 0.0, state=JobState.QUEUED),
        *(event(2 + second, float(second), second) for second in range(40)),
        event(50, 41.0, state=JobState.SUCCEEDED),
    )
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "summarise at attic: waits for its turn",
        "summarise at attic: 0% · 0 of 40 files",
        "summarise at attic: 37% · 15 of 40 files · 1/s · 25 s left",
        "summarise at attic: 75% · 30 of 40 files · 1/s · 10 s left",
    ]


def test_words_of_numbers() -> None:
    assert [size_text(size) for size in (0, 999, 1234567, 1e40)] == [
        "0 B",
        "999 B",
        "1.2 MB",
        "1e+28 TB",
    ]
    assert [duration_text(s) for s in (0.4, 61, 3600, 90_000, math.inf)] == [
        "0 s",
        "1 min 1 s",
        "1 h",
        "1 d 1 h",
        "1000 d",
    ]
    assert count_text(JobProgress(1e6, 4e7, "bytes")) == "1 MB of 40 MB"
    assert rate_text(0.5, "files") == "30 files/min"
    assert rate_text(0.001, "files") == "3.6 files/h"
    assert percent(JobProgress(1e300, 1e-300)) == 100


@pytest.mark.parametrize("text", ["3f9a", " JOB-3F9A ", "job-3f9a"])
def test_an_id_is_known_by_its_beginning(text: str) -> None:
    assert job_beginning(text) == "job-3f9a"


@pytest.mark.parametrize("text", ["", "job-", "zz", "3f9a\n5", "0" * 33, "\x1b[2K"])
def test_what_begins_no_id_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError):
        job_beginning(text)


def progress(said: JobEvent) -> ToolProgress:
    return ToolProgress(CALL.id, JOB, "attic", said)


def test_a_script_gets_every_event_of_a_job(capsys: pytest.CaptureFixture[str]) -> None:
    JsonReporter().show(progress(event(7, 5.0, 17, note="notes/garden.md")))
    (found,) = objects(capsys.readouterr().out)
    assert found == {
        "event": "progress",
        "job": JOB,
        "call": CALL.id,
        "node": "attic",
        "state": "running",
        "done": 17.0,
        "total": 40.0,
        "unit": "files",
        "note": "notes/garden.md",
        "approval_id": None,
        "at": 5.0,
        "seq": 7,
    }


def test_who_wants_the_answer_alone_gets_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    TextReporter(quiet=True).show(progress(event(7, 5.0, 17)))
    TextReporter().show(progress(event(7, 5.0, 17)))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == ["a job at attic: 42% · 17 of 40 files"]


class Agent:
    """Answers after a job that goes on until it is let."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.asked = 0
        self.cancelled = False

    async def ask(self, asked: AskInput, consent: Consent) -> AsyncGenerator[AgentEvent, None]:
        del consent
        self.asked += 1
        try:
            async for one in self._events(asked):
                yield one
        except asyncio.CancelledError:
            self.cancelled = True
            raise

    async def _events(self, asked: AskInput) -> AsyncIterator[AgentEvent]:
        yield ToolStarted(ToolStep(CALL, Place.HOME))
        yield progress(event(1, 0.0, 0, note="a.md"))
        yield progress(event(2, 2.0, 20, note="b.md"))
        await self.go.wait()
        yield progress(event(3, 4.0, state=JobState.SUCCEEDED))
        origin = Provenance(Origin.TOOL, Trust.UNTRUSTED)
        result = ToolResult(CALL.id, "three", is_error=False, provenance=origin)
        yield ToolFinished(ToolStep(CALL, Place.HOME, "rule", result))
        yield TextDelta("Three notes.")
        yield FinalAnswer(
            request_id=asked.request_id,
            conversation_id=new_conversation_id(),
            place=Place.HOME,
            node="attic",
            reason="it is at home",
            confidence=0.9,
            model="fake",
            stand_in=False,
            ttft_ms=1.0,
            total_ms=2.0,
            text="Three notes.",
        )


class Asking(Agent):
    """Answers after a job that waits for a person."""

    def __init__(self, jobs: FakePhoneJobs, job: JobId) -> None:
        super().__init__()
        self._node = jobs
        self._job = job
        self.verdict = JobState.QUEUED

    async def _events(self, asked: AskInput) -> AsyncIterator[AgentEvent]:
        yield ToolStarted(ToolStep(CALL, Place.HOME))
        async with contextlib.aclosing(self._node.watch(self._job, 0)) as events:
            async for said in events:
                yield ToolProgress(CALL.id, self._job, "attic", said)
                if said.state is JobState.RUNNING:
                    self._node.end(self._job, "three")
                self.verdict = said.state
        yield FinalAnswer(
            request_id=asked.request_id,
            conversation_id=new_conversation_id(),
            place=Place.HOME,
            node="attic",
            reason="it is at home",
            confidence=0.9,
            model="fake",
            stand_in=False,
            ttft_ms=1.0,
            total_ms=2.0,
            text="Done.",
        )


@pytest.mark.parametrize(
    ("keys", "status", "state"),
    [
        ("y\n", 0, JobState.SUCCEEDED),
        ("n\n", 0, JobState.FAILED),
        ("\x03", 130, JobState.WAITING_APPROVAL),
    ],
    ids=["yes", "no", "ctrl-c"],
)
async def test_a_jobs_question_is_asked_where_its_person_sits(
    rig: PhoneRig, keys: str, status: int, state: JobState
) -> None:
    node = FakePhoneJobs(ToolSpec("resize", "Makes pictures smaller.", {"type": "object"}))
    job = await node.start(
        "resize",
        {"width": 8},
        node="",
        sensitivity=Sensitivity.HOME_ONLY,
        request_id=new_request_id(),
        allowed=True,
    )
    node.question(job.id)
    async with (
        phone_desk(rig.paths, node, Asking(node, job.id)),
        rig.terminal("ask", "make them smaller") as screen,
    ):
        await screen.expect("resize at attic")
        await screen.expect("width: 8")
        await screen.expect("Allow it?")
        screen.type(keys)
        assert await screen.end() == status
        (known,) = await node.list(refresh=False)
        assert known.state is state
        assert ("not asked any more" in screen.text) is (keys == "\x03")


@pytest.fixture
async def agent(rig: PhoneRig) -> AsyncIterator[Agent]:
    made = Agent()
    async with phone_desk(rig.paths, FakePhoneJobs(), made):
        yield made


async def test_ctrl_c_leaves_the_job_and_asking_again_gets_its_answer(
    rig: PhoneRig, agent: Agent
) -> None:
    request = new_request_id()
    rig.env["COLUMNS"] = "80"
    words = ("--request-id", request, "what is", "in my notes?")
    async with rig.terminal("ask", *words) as screen:
        await screen.expect("summarise at attic")
        await screen.expect("50% · 20 of 40 files · 10/s · 2 s left")
        screen.type("\x03")
        assert await screen.end() == 130
        assert "The job goes on at attic. See it: homing jobs watch 3f9a0c" in screen.text
        again = f"homing ask --request-id {request} 'what is in my notes?'"
        assert again in screen.text.replace("\n", "")
    assert not agent.cancelled
    async with rig.started("ask", "--data-dir", rig.data_dir, "--json", *words) as asking:
        assert asking.stdout is not None
        assert await asking.stdout.readline()
        agent.go.set()
        out, _ = await asyncio.wait_for(asking.communicate(), DEADLINE_S)
    assert (asking.returncode, objects(out.decode())[-1]["text"]) == (0, "Three notes.")
    assert agent.asked == 1


async def test_a_script_leaves_by_the_same_signal(rig: PhoneRig, agent: Agent) -> None:
    request = new_request_id()
    words = ("ask", "--data-dir", rig.data_dir, "--json", "--request-id", request, "my notes?")
    async with rig.started(*words) as asking:
        assert asking.stdout is not None
        while b'"progress"' not in (line := await asking.stdout.readline()):
            assert line
        asking.send_signal(signal.SIGINT)
        out, _ = await asyncio.wait_for(asking.communicate(), DEADLINE_S)
    assert asking.returncode == 130
    assert objects(out.decode())[-1] == {
        "event": "left",
        "job": JOB,
        "node": "attic",
        "request_id": request,
    }
    assert not agent.cancelled


async def test_the_bar_makes_room_for_the_answer(rig: PhoneRig, agent: Agent) -> None:
    rig.env["COLUMNS"] = "40"
    async with rig.terminal("ask", "my notes?") as screen:
        await screen.expect("50% · 20 of 40 files")
        agent.go.set()
        assert await screen.end() == 0
        end = screen.text[screen.text.rindex("✓ summarise") :]
    assert end.splitlines()[:2] == [
        '✓ summarise(folder="notes") on home, allowed by rule',
        "Three notes.",
    ]
