"""Jobs on the phone's local socket: the fake and the wire keep the same contract."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest
from google.protobuf.message import DecodeError
from homing_agent.runtime.localsocket import open_local_channel
from homing_agent.runtime.paths import program_paths
from homing_client.cli.job_tool import all_offered
from homing_client.jobs.ports import NodeTools, PhoneJob, Shown, Waiting
from homing_client.rpc import phone_jobs_codec as codec
from homing_client.rpc.phone_jobs_calls import PhoneJobsCalls
from homing_client.testing import FAKE_NODE, FakePhoneJobs
from homing_core.approvals import Verdict
from homing_core.errors import (
    ConflictError,
    InvalidDataError,
    NotFoundError,
    RefusedError,
    UnavailableError,
    UsageError,
)
from homing_core.ids import new_approval_id, new_job_id, new_request_id
from homing_core.jobs import JobProgress, JobResult, JobState, ResultFile, Settlement
from homing_core.labels import clean_label
from homing_core.provenance import Sensitivity, Trust
from homing_core.tools import EffectClass, Place, ToolSpec
from homing_proto.v1 import common_pb2, phone_jobs_pb2_grpc
from homing_proto.v1 import phone_jobs_pb2 as wire
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import strategies as values
from support.codecs import Codec
from support.phone_desk import phone_desk
from support.wire_strategies import MARK, arbitrary, damaged

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from homing_client.jobs.ports import PhoneJobs
    from homing_core.ids import RequestId

COUNT = ToolSpec("count", "Counts.", {"type": "object"}, effect=EffectClass.READ, server="recipes")
WRITE = ToolSpec("write", "Writes.", {"type": "object"}, effect=EffectClass.WRITE, server="recipes")
DEADLINE_S = 20.0

World: TypeAlias = "tuple[PhoneJobs, FakePhoneJobs]"


@pytest.fixture(params=["itself", "over the socket"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    """The phone's jobs, and the hand that plays the node."""
    fake = FakePhoneJobs(COUNT, WRITE)
    if request.param == "itself":
        yield fake, fake
        return
    paths = program_paths("homing", "phone", tmp_path / "phone", environ={})
    async with phone_desk(paths, fake), open_local_channel(paths, "homing serve") as channel:
        yield PhoneJobsCalls(channel), fake


async def start(jobs: PhoneJobs, tool: str = "count", request: RequestId | None = None) -> PhoneJob:
    return await jobs.start(
        tool,
        {"to": 3, "words": ["a", "ü\n"]},
        node="",
        sensitivity=Sensitivity.HOME_ONLY,
        request_id=request or new_request_id(),
        allowed=True,
    )


async def test_a_started_job_is_listed_as_it_is(world: World) -> None:
    jobs, node = world
    request = new_request_id()
    job = await start(jobs, request=request)
    assert (job.tool.name, job.node, job.node_name) == ("count", FAKE_NODE, "attic")
    assert job.arguments == {"to": 3, "words": ["a", "ü\n"]}
    assert job.request_id == request
    assert (await start(jobs, request=request)).id == job.id
    assert await jobs.list(refresh=True) == (job,)
    node.say(job.id, progress=JobProgress(1, 3, "steps", "first"))
    node.trouble(job.id, UnavailableError("attic is away", "Switch it on."))
    later = await start(jobs, "recipes.count")
    newest, known = await jobs.list(refresh=False)
    assert newest.id == later.id
    assert (known.state, known.progress) == (
        JobState.RUNNING,
        JobProgress(1, 3, "steps", "first"),
    )
    assert str(known.error) == "attic is away. Switch it on."


def test_why_a_node_offers_nothing_comes_with_it_and_tools_of_one_node_come_together() -> None:
    closed = NodeTools(FAKE_NODE, "attic", error=UnavailableError("attic is away", "Switch it on."))
    (message,) = codec.encode_node_tools(closed)
    error = codec.decode_node_tools(message).error
    assert isinstance(error, UnavailableError)
    assert str(error) == "attic is away. Switch it on."
    several = NodeTools(FAKE_NODE, "attic", (WRITE, replace(WRITE, name="again")))
    found = map(codec.decode_node_tools, codec.encode_node_tools(several))
    assert codec.joined(found) == (several,)


async def test_home_tools_come_with_their_node(world: World) -> None:
    jobs, _ = world
    found = {tool.name: (tool, node) for tool, node in all_offered(await jobs.tools())}
    assert set(found) == {"count", "write"}
    tool, node = found["write"]
    assert (tool.effect, tool.place, tool.node, node) == (
        EffectClass.WRITE,
        Place.HOME,
        FAKE_NODE,
        "attic",
    )
    assert tool.schema_hash == WRITE.schema_hash


async def test_a_tool_that_changes_something_needs_a_word(world: World) -> None:
    jobs, _ = world
    with pytest.raises(RefusedError):
        await jobs.start(
            "write",
            {},
            node="attic",
            sensitivity=Sensitivity.HOME_ONLY,
            request_id=new_request_id(),
            allowed=False,
        )
    assert await jobs.list(refresh=False) == ()


async def test_a_tool_that_is_not_the_one_that_was_shown_is_not_started(world: World) -> None:
    jobs, _ = world
    with pytest.raises(ConflictError):
        await jobs.start(
            "write",
            {},
            node="attic",
            sensitivity=Sensitivity.HOME_ONLY,
            request_id=new_request_id(),
            allowed=True,
            schema_hash="0a" * 32,
        )
    assert await jobs.list(refresh=False) == ()


async def test_a_job_is_watched_from_any_number_to_its_end(world: World) -> None:
    jobs, node = world
    job = (await start(jobs)).id
    node.say(job, progress=JobProgress(1, 3))
    seen: list[tuple[int, JobState]] = []
    async with (
        asyncio.timeout(DEADLINE_S),
        contextlib.aclosing(jobs.watch(job[:9], 1)) as events,
    ):
        async for event in events:
            seen.append((event.seq, event.state))
            if event.seq == 2:
                node.end(job, "done")
    assert seen == [(2, JobState.RUNNING), (3, JobState.SUCCEEDED)]


async def test_leaving_a_job_stops_nothing(world: World) -> None:
    jobs, node = world
    job = (await start(jobs)).id
    async with (
        asyncio.timeout(DEADLINE_S),
        contextlib.aclosing(jobs.watch(job, 0)) as events,
    ):
        async for _ in events:
            break
    node.say(job)
    (known,) = await jobs.list(refresh=False)
    assert known.state is JobState.RUNNING


async def test_a_large_result_arrives_whole(world: World) -> None:
    jobs, node = world
    job = (await start(jobs)).id
    text = "ü" * (3 * codec.PIECE_CHARS + 7)
    node.end(job, text, say=text[:-1], files={"a.bin": b"\0\1", "b.txt": b"hello"})
    found = await jobs.result(job)
    assert (found.content, found.say) == (text, text[:-1])
    assert found.files == (ResultFile("a.bin", "", 2), ResultFile("b.txt", "", 5))


async def test_there_is_no_result_before_the_end(world: World) -> None:
    jobs, _ = world
    job = (await start(jobs)).id
    with pytest.raises(NotFoundError):
        await jobs.result(job)


async def test_files_go_where_a_person_says_and_replace_nothing(
    world: World, tmp_path: Path
) -> None:
    jobs, node = world
    job = (await start(jobs)).id
    node.end(job, "", files={"a.bin": b"\0\1"})
    folder = tmp_path / "chosen"
    folder.mkdir()
    assert await jobs.save_files(job, folder, replace=False) == (folder / "a.bin",)
    (folder / "a.bin").write_bytes(b"mine")
    with pytest.raises(ConflictError):
        await jobs.save_files(job, folder, replace=False)
    assert (folder / "a.bin").read_bytes() == b"mine"
    await jobs.save_files(job, folder, replace=True)
    assert (folder / "a.bin").read_bytes() == b"\0\1"


@pytest.mark.parametrize("verdict", Verdict)
async def test_a_question_is_answered_once(world: World, verdict: Verdict) -> None:
    jobs, node = world
    job = (await start(jobs, "write")).id
    asked = node.question(job, preview="writes 1 file")
    (waiting,) = await jobs.waiting()
    assert (waiting.node, waiting.node_name) == (FAKE_NODE, "attic")
    assert (waiting.approval.id, waiting.approval.preview) == (asked, "writes 1 file")
    answered = await jobs.answer(waiting.shown, verdict)
    assert answered is not None
    assert answered.state is (JobState.RUNNING if verdict is Verdict.ALLOW else JobState.FAILED)
    assert await jobs.waiting() == ()
    with pytest.raises(NotFoundError):
        await jobs.answer(waiting.shown, verdict)


async def test_anothers_job_is_not_shown_with_the_answer(world: World) -> None:
    jobs, node = world
    node.question((await start(jobs, "write")).id, device_name="Bob's phone")
    (waiting,) = await jobs.waiting()
    assert await jobs.answer(waiting.shown, Verdict.ALLOW) is None


@pytest.mark.attack
async def test_another_step_than_was_shown_is_not_answered(world: World) -> None:
    jobs, node = world
    node.question((await start(jobs, "write")).id)
    (waiting,) = await jobs.waiting()
    for other in (
        replace(waiting.shown, argument_hash="0a" * 32),
        replace(waiting.shown, tool_hash="0a" * 32),
        replace(waiting.shown, step=2),
    ):
        with pytest.raises(ConflictError):
            await jobs.answer(other, Verdict.ALLOW)
    assert await jobs.waiting() == (waiting,)


@pytest.mark.parametrize("said", Settlement)
async def test_what_nobody_knows_is_settled(world: World, said: Settlement) -> None:
    jobs, node = world
    job = (await start(jobs)).id
    with pytest.raises(ConflictError):
        await jobs.settle(job, said)
    node.say(job, JobState.UNKNOWN_EFFECT)
    assert (await jobs.settle(job, said)).state is not JobState.UNKNOWN_EFFECT


async def test_a_job_is_ended_and_forgotten(world: World) -> None:
    jobs, _ = world
    job = (await start(jobs)).id
    with pytest.raises(ConflictError):
        await jobs.forget(job)
    assert (await jobs.cancel(job)).state is JobState.CANCELLED
    assert (await jobs.cancel(job)).state is JobState.CANCELLED
    await jobs.forget(job)
    assert await jobs.list(refresh=False) == ()


async def test_what_is_not_there_is_named_in_our_words(world: World) -> None:
    jobs, _ = world
    for call in (jobs.cancel("job-00"), jobs.result("job-00"), jobs.forget("job-00")):
        with pytest.raises(NotFoundError, match="no such job"):
            await call
    nothing = Shown(
        FAKE_NODE, new_approval_id(), new_job_id(), new_request_id(), 1, "0a" * 32, "0a" * 32
    )
    with pytest.raises(NotFoundError):
        await jobs.answer(nothing, Verdict.DENY)


async def test_hostile_messages_are_refused_in_our_words(tmp_path: Path) -> None:
    paths = program_paths("homing", "phone", tmp_path / "phone", environ={})
    fake = FakePhoneJobs(COUNT)
    async with phone_desk(paths, fake), open_local_channel(paths, "homing serve") as channel:
        calls = PhoneJobsCalls(channel)
        with pytest.raises(UsageError, match="too long"):
            await calls.cancel("x" * 300)
        stub = phone_jobs_pb2_grpc.PhoneJobsServiceStub(channel)
        good = wire.StartPhoneJobRequest(
            tool="count",
            arguments_json="{}",
            request_id=new_request_id(),
            sensitivity=common_pb2.SENSITIVITY_HOME_ONLY,
        )
        for field, value in (
            ("arguments_json", "[]"),
            ("arguments_json", MARK),
            ("request_id", MARK),
            ("schema_hash", MARK),
            ("tool", "x" * 300),
        ):
            bad = wire.StartPhoneJobRequest()
            bad.CopyFrom(good)
            setattr(bad, field, value)
            with pytest.raises(Exception) as caught:  # noqa: PT011  # gRPC's; its words matter
                await stub.StartPhoneJob(bad)
            assert MARK not in str(caught.value)
        for folder in ("", "relative", "/a\0b", "/" + "x" * 5000):
            with pytest.raises(InvalidDataError):
                await calls.save_files("job-00", Path(folder), replace=False)
        assert await fake.list(refresh=False) == ()


_finite = st.floats(0, 1e12)
_labels = values.lines.map(lambda text: clean_label(text, fallback=""))
_ids = st.text("0123456789abcdef", min_size=64, max_size=64)
phone_jobs: st.SearchStrategy[PhoneJob] = st.builds(
    PhoneJob,
    id=values.job_ids,
    request_id=values.request_ids,
    node=_ids,
    node_name=_labels,
    place=values.places,
    tool=values.tool_specs,
    arguments=values.json_objects,
    submitted=st.booleans(),
    state=values.job_states,
    last_seq=st.integers(0, (1 << 64) - 1),
    progress=st.none() | values.job_progress,
    asked_at=_finite,
    ended_at=_finite,
    delivered=st.booleans(),
    note=_labels,
)
waitings: st.SearchStrategy[Waiting] = st.builds(
    Waiting,
    node=_ids,
    node_name=_labels.filter(bool),
    approval=values.pending_approvals(),
)
results: st.SearchStrategy[JobResult] = st.builds(
    JobResult,
    job_id=values.job_ids,
    content=st.just(""),
    is_error=st.booleans(),
    trust=st.sampled_from(Trust),
    sensitivity=values.sensitivities,
    source=_labels,
    files=st.lists(
        st.builds(
            ResultFile,
            name=_labels.filter(bool),
            media_type=_labels,
            size_bytes=st.integers(0, (1 << 64) - 1),
        ),
        max_size=3,
    ).map(tuple),
)
home_tools = st.builds(
    NodeTools,
    node=_ids,
    node_name=_labels.filter(bool),
    tools=st.lists(values.tool_specs, max_size=1).map(tuple),
)
CODECS = [
    Codec("job", phone_jobs, wire.PhoneJob, codec.encode_phone_job, codec.decode_phone_job),
    Codec(
        "waiting",
        waitings,
        wire.ListWaitingApprovalsResponse,
        codec.encode_waiting,
        codec.decode_waiting,
    ),
    Codec(
        "result", results, wire.PhoneJobResult, codec.encode_result_head, codec.decode_result_head
    ),
    Codec(
        "tool",
        home_tools,
        wire.ListHomeToolsResponse,
        lambda one: codec.encode_node_tools(one)[0],
        codec.decode_node_tools,
    ),
]
_EVERY = pytest.mark.parametrize("one", CODECS, ids=[one.name for one in CODECS])
_SETTINGS = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def decodes_or_refuses(one: Codec, message: object) -> None:
    refusal = None
    try:
        one.decode(message)
    except InvalidDataError as error:
        refusal = error
    assert refusal is None or (MARK not in str(refusal) and "\n" not in str(refusal))


@_EVERY
@_SETTINGS
@given(data=st.data())
def test_a_value_comes_back_equal_through_bytes(one: Codec, data: st.DataObject) -> None:
    value = data.draw(one.value)
    message = one.wire()
    message.ParseFromString(one.encode(value).SerializeToString())
    assert one.decode(message) == value


@_EVERY
@_SETTINGS
@given(data=st.data())
def test_any_message_is_decoded_or_refused_cleanly(one: Codec, data: st.DataObject) -> None:
    decodes_or_refuses(one, data.draw(arbitrary(one.wire)))


@_EVERY
@_SETTINGS
@given(data=st.data())
def test_damaged_bytes_are_decoded_or_refused_cleanly(one: Codec, data: st.DataObject) -> None:
    message = one.wire()
    with contextlib.suppress(DecodeError):
        message.ParseFromString(data.draw(damaged(one.value.map(one.encode))))
    decodes_or_refuses(one, message)


@pytest.mark.parametrize(
    "pieces",
    [
        [],
        [wire.FetchPhoneJobResultResponse()],
        [wire.FetchPhoneJobResultResponse(content="text first")],
        [wire.FetchPhoneJobResultResponse(say="text first")],
        [wire.FetchPhoneJobResultResponse(result=wire.PhoneJobResult(job_id="job-" + "0a" * 16))]
        * 2,
    ],
    ids=["nothing", "empty", "content first", "say first", "two heads"],
)
def test_a_result_in_disorder_is_refused(pieces: list[wire.FetchPhoneJobResultResponse]) -> None:
    reader = codec.ResultReader()

    def read() -> JobResult:
        for piece in pieces:
            reader.feed(piece)
        return reader.end()

    with pytest.raises(InvalidDataError):
        read()


def test_a_result_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "MAX_RESULT_CHARS", 10)
    reader = codec.ResultReader()
    head = wire.PhoneJobResult(job_id="job-" + "0a" * 16)
    reader.feed(wire.FetchPhoneJobResultResponse(result=head))
    with pytest.raises(InvalidDataError, match="too long"):
        reader.feed(wire.FetchPhoneJobResultResponse(content="x" * 21))


def test_a_damaged_note_cannot_pose_as_something_else() -> None:
    message = wire.PhoneJob(
        id="job-" + "0a" * 16,
        request_id="req-" + "0a" * 16,
        node="ab" * 32,
        node_name="attic\x1b[2K\nfake",
        note="ok\x1b[2K\u202efake",
        arguments_json="{}",
    )
    message.tool.name, message.tool.parameters_json = "count", "{}"
    back = codec.decode_phone_job(message)
    assert (back.node_name, back.note) == ("attic[2K fake", "ok[2Kfake")
