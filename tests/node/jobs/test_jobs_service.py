"""Jobs on the wire, in front of a fake that a test moves by hand."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_core.access import DeviceRole, Scope
from homing_core.approvals import Verdict
from homing_core.errors import (
    ConflictError,
    InvalidDataError,
    NotFoundError,
    OverloadedError,
    RefusedError,
    UnpairedError,
)
from homing_core.ids import new_approval_id, new_job_id
from homing_core.jobs import JobProgress, JobState, PendingApproval, Settlement
from homing_core.testing import FakeClock
from homing_core.tools import EffectClass
from homing_crypto.credentials import client_channel, server_credentials
from homing_crypto.guard import Guard, Refusal
from homing_crypto.live_calls import LiveCalls
from homing_crypto.rpc_guard import RpcGuard
from homing_crypto.testing import MemoryTrustStore, paired_device, throwaway_identity
from homing_crypto.transport import SERVER_OPTIONS
from homing_node.jobs.fake_desk import FakeJobs
from homing_node.jobs.store import JobKey
from homing_node.rpc.jobs_service import MOST_WATCHES, PIECE_BYTES, add_jobs_service
from homing_node.rpc.rules import JOBS_RULES
from homing_node.rpc.servers import MAIN_REQUESTS
from homing_proto.codec.jobs import decode_sealer_certificate
from homing_proto.v1 import job_pb2 as wire
from support.home_tools import noise, spec
from support.jobs_wire import JobsClient, answer_to, consent, job_for
from support.node_rig import DEADLINE_S, within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from homing_core.jobs import JobSpec
    from homing_crypto.identity import DeviceIdentity

ECHO = spec("echo", EffectClass.READ)
COUNT = spec("count", EffectClass.WRITE)


@dataclass
class Wire:
    """The service on a guarded server of its own."""

    jobs: FakeJobs
    store: MemoryTrustStore
    calls: LiveCalls
    refusals: list[Refusal]
    certificates: dict[str, bytes]
    node: DeviceIdentity = field(default_factory=throwaway_identity)
    port: int = 0
    stack: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)

    async def phone(
        self, role: DeviceRole = DeviceRole.MEMBER, scopes: frozenset[Scope] | None = None
    ) -> JobsClient:
        identity = throwaway_identity()
        self.store.add(paired_device(identity, role, scopes))
        return await self.dial(identity)

    async def dial(self, identity: DeviceIdentity) -> JobsClient:
        channel = client_channel(f"127.0.0.1:{self.port}", identity, self.node.certificate)
        return JobsClient(identity, await self.stack.enter_async_context(channel))

    async def submitted(self, phone: JobsClient) -> tuple[JobSpec, JobKey]:
        job = job_for(ECHO)
        await phone.submit(job)
        return job, JobKey(phone.identity.device_id, job.id)


@pytest.fixture
async def there() -> AsyncIterator[Wire]:
    clock = FakeClock()
    made = Wire(FakeJobs(), MemoryTrustStore(clock), LiveCalls(), [], {})
    guard = Guard(JOBS_RULES, made.store, clock)
    server = grpc.aio.server(
        interceptors=[RpcGuard(guard.authorize, made.calls, requests=MAIN_REQUESTS)],
        options=SERVER_OPTIONS,
    )
    add_jobs_service(
        made.jobs, made.refusals.append, lambda device: made.certificates.get(device, b"")
    )(server)
    credentials = server_credentials(made.node, made.store.roots_pem)
    made.port = server.add_secure_port("127.0.0.1:0", credentials)
    await server.start()
    async with made.stack:
        yield made
    await server.stop(0)


def question_of(phone: JobsClient, job: JobSpec) -> PendingApproval:
    return PendingApproval(
        id=new_approval_id(),
        job_id=job.id,
        request_id=job.request_id,
        step=2,
        tool=COUNT,
        call=replace(job.call, name=COUNT.name),
        reason="it changes this computer",
        preview="adds a line",
        expires_at=2_000_000_000,
        device=phone.identity.device_id,
        device_name="phone",
    )


async def how_it_ends(
    call: grpc.aio.UnaryStreamCall[wire.WatchJobRequest, wire.WatchJobResponse],
) -> grpc.StatusCode:
    """The status of a stream, after what it still gives."""
    with contextlib.suppress(grpc.aio.AioRpcError):
        while await within(call.read()) is not grpc.aio.EOF:
            pass
    return await within(call.code())


async def test_a_job_is_handed_in_once_however_often_it_is_sent(there: Wire) -> None:
    phone = await there.phone()
    job = job_for(ECHO)
    first = await phone.submit(job)
    assert (first.id, first.tool_name, first.state) == (job.id, "echo", JobState.QUEUED)
    assert await phone.submit(job) == first
    assert await phone.jobs() == (first,)
    other = replace(job, call=replace(job.call, arguments={"text": "else"}))
    with pytest.raises(ConflictError):
        await phone.submit(other)


async def test_consent_travels_with_it(there: Wire) -> None:
    phone = await there.phone()
    job = job_for(COUNT)
    await phone.submit(job, consent(phone.identity, job))
    assert there.jobs.said == [Verdict.ALLOW]


async def test_arguments_may_be_as_large_as_the_wire_takes(there: Wire) -> None:
    phone = await there.phone()
    assert (await phone.submit(job_for(ECHO, "x" * 250_000))).state is JobState.QUEUED
    with pytest.raises(InvalidDataError):
        await phone.submit(job_for(ECHO, "x" * 270_000))


async def test_jobs_come_in_pages_newest_first(there: Wire) -> None:
    phone = await there.phone()
    jobs = [(await phone.submit(job_for(ECHO))).id for _ in range(5)]
    page = await phone.jobs(2)
    assert [one.id for one in page] == jobs[:2:-1]
    assert [one.id for one in await phone.jobs(before=page[-1].id)] == jobs[2::-1]


async def test_a_watch_gives_what_is_behind_a_number_then_what_comes_until_the_job_ends(
    there: Wire,
) -> None:
    phone = await there.phone()
    job, key = await there.submitted(phone)
    await there.jobs.move(key, JobState.RUNNING)
    watching = asyncio.create_task(phone.watch(job.id, after=1))
    open_call = phone.watching(job.id)
    assert isinstance(await within(open_call.read()), wire.WatchJobResponse)  # it is being watched
    await there.jobs.move(key, JobState.RUNNING, JobProgress(1, 2, "files"))
    await there.jobs.move(key, JobState.SUCCEEDED, note="two files")
    async with asyncio.timeout(DEADLINE_S):
        events = await watching
    assert [(one.seq, one.state) for one in events] == [
        (2, JobState.RUNNING),
        (3, JobState.RUNNING),
        (4, JobState.SUCCEEDED),
    ]
    assert events[1].progress == JobProgress(1, 2, "files")
    assert await how_it_ends(open_call) is grpc.StatusCode.OK
    assert await phone.watch(job.id, after=4) == []


async def test_watches_leave_room_for_other_calls(there: Wire) -> None:
    phone, other = await there.phone(), await there.phone()
    job, key = await there.submitted(phone)
    open_calls = [phone.watching(job.id) for _ in range(MOST_WATCHES)]
    for call in open_calls:
        await within(call.read())
    with pytest.raises(OverloadedError):
        await phone.watch(job.id)
    theirs, _ = await there.submitted(other)
    assert isinstance(await within(other.watching(theirs.id).read()), wire.WatchJobResponse)
    open_calls[0].cancel()
    async with asyncio.timeout(DEADLINE_S):
        while there.calls.count() > MOST_WATCHES:  # the end of a call takes its way to the node
            await phone.status(job.id)
    await there.jobs.move(key, JobState.CANCELLED)
    assert [event.state for event in await phone.watch(job.id, after=1)] == [JobState.CANCELLED]


async def test_a_revocation_ends_an_open_watch(there: Wire) -> None:
    phone = await there.phone()
    job, key = await there.submitted(phone)
    call = phone.watching(job.id)
    await within(call.read())
    there.store.revoke(phone.identity.device_id)
    await there.calls.end_calls(phone.identity.device_id)
    assert await how_it_ends(call) is grpc.StatusCode.PERMISSION_DENIED
    with pytest.raises(UnpairedError):
        await phone.status(job.id)
    await there.jobs.move(key, JobState.SUCCEEDED)  # nobody listens: nothing breaks


async def test_a_forgotten_job_ends_its_watch(there: Wire) -> None:
    phone = await there.phone()
    job, key = await there.submitted(phone)
    call = phone.watching(job.id)
    await within(call.read())
    await there.jobs.end_account(key.account)
    assert await how_it_ends(call) is grpc.StatusCode.NOT_FOUND


async def test_a_result_comes_in_small_pieces_from_any_offset(there: Wire) -> None:
    phone = await there.phone()
    job, key = await there.submitted(phone)
    whole = noise(250_001)
    await there.jobs.move(key, JobState.SUCCEEDED, result=whole)
    assert (await phone.status(job.id)).result_bytes == len(whole)
    pieces = await phone.pieces(job.id)
    assert max(len(piece.data) for piece in pieces) <= PIECE_BYTES
    assert {piece.total_bytes for piece in pieces} == {len(whole)}
    at = 0
    for piece in pieces:
        assert piece.offset_bytes == at
        at += len(piece.data)
    assert b"".join(piece.data for piece in pieces) == whole
    assert await phone.download(job.id, 123_457) == whole[123_457:]
    assert await phone.download(job.id, len(whole) + 7) == b""
    await phone.ack(job.id, "0a" * 32)
    with pytest.raises(NotFoundError):
        await phone.download(job.id)


async def test_the_certificate_of_another_daemon_that_sealed_it_comes_along(there: Wire) -> None:
    phone = await there.phone()
    job, key = await there.submitted(phone)
    await there.jobs.move(key, JobState.SUCCEEDED, result=b"sealed")
    here = await phone.stub.GetJob(wire.GetJobRequest(id=job.id), timeout=DEADLINE_S)
    assert decode_sealer_certificate(here.status) == b""
    there.certificates[key.account] = b"another daemon's"
    answer = await phone.stub.GetJob(wire.GetJobRequest(id=job.id), timeout=DEADLINE_S)
    assert decode_sealer_certificate(answer.status) == b"another daemon's"


async def test_a_person_answers_settles_and_cancels(there: Wire) -> None:
    phone = await there.phone()
    job, key = await there.submitted(phone)
    question = question_of(phone, job)
    there.jobs.questions.append(question)
    await there.jobs.move(key, JobState.WAITING_APPROVAL)
    assert await phone.pending() == (question,)
    answered = await phone.answer(answer_to(phone.identity, question, Verdict.DENY))
    assert answered.state is JobState.FAILED
    await there.jobs.move(key, JobState.UNKNOWN_EFFECT)
    assert (await phone.settle(job.id, Settlement.RUN_AGAIN)).state is JobState.QUEUED
    assert (await phone.cancel(job.id)).state is JobState.CANCELLED
    assert there.jobs.said == [Verdict.DENY, Settlement.RUN_AGAIN]


async def test_more_questions_than_an_answer_holds_come_later(there: Wire) -> None:
    phone = await there.phone()
    job, key = await there.submitted(phone)
    question = question_of(phone, job)
    large = replace(question.call, arguments={"text": "x" * 250_000})
    there.jobs.questions += [
        replace(question, id=new_approval_id(), call=large, step=step) for step in range(1, 41)
    ]
    first = await phone.pending()
    assert 1 < len(first) < 40
    assert [one.step for one in first] == list(range(1, len(first) + 1))
    await phone.answer(answer_to(phone.identity, first[0]))
    assert (await phone.pending())[0].step == 2
    assert key.account == first[0].device


async def test_a_device_without_the_scope_has_no_jobs_but_an_owner_may_answer(there: Wire) -> None:
    guest = await there.phone(DeviceRole.GUEST)
    for call in (guest.jobs(), guest.pending(), guest.submit(job_for(ECHO))):
        with pytest.raises(RefusedError):
            await call
    owner = await there.phone(DeviceRole.OWNER, frozenset({Scope.DEVICES}))
    assert await owner.pending() == ()
    with pytest.raises(RefusedError):
        await owner.jobs()
    job = job_for(COUNT)
    with pytest.raises(NotFoundError):
        await owner.answer(answer_to(owner.identity, question_of(owner, job)))


async def test_what_the_rules_for_jobs_refuse_is_noted(there: Wire) -> None:
    phone = await there.phone()

    async def refuse(*_: object) -> None:
        msg = "not that"
        raise RefusedError(msg)

    there.jobs.answer = refuse  # type: ignore[method-assign,assignment]  # the desk's refusal
    question = question_of(phone, job_for(COUNT))
    with pytest.raises(RefusedError, match="not that"):
        await phone.answer(answer_to(phone.identity, question))
    (noted,) = there.refusals
    assert noted.method == "/homing_proto.v1.JobsService/AnswerApproval"
    assert noted.device == phone.identity.device_id


@pytest.mark.attack
async def test_ids_and_values_that_are_none_are_refused_and_said_nothing_of(there: Wire) -> None:
    phone = await there.phone()
    stub = phone.stub
    evil = "job-\x1b[31mEVIL"
    calls = (
        stub.GetJob(wire.GetJobRequest(id=evil), timeout=DEADLINE_S),
        stub.ListJobs(wire.ListJobsRequest(before_id=evil), timeout=DEADLINE_S),
        stub.CancelJob(wire.CancelJobRequest(id=evil), timeout=DEADLINE_S),
        stub.SettleJob(wire.SettleJobRequest(id=new_job_id()), timeout=DEADLINE_S),
        stub.AckResult(wire.AckResultRequest(id=new_job_id(), sha256=evil), timeout=DEADLINE_S),
        stub.AnswerApproval(wire.AnswerApprovalRequest(), timeout=DEADLINE_S),
        stub.SubmitJob(wire.SubmitJobRequest(), timeout=DEADLINE_S),
        stub.WatchJob(wire.WatchJobRequest(id=evil), timeout=DEADLINE_S),
        stub.DownloadResult(wire.DownloadResultRequest(id=evil), timeout=DEADLINE_S),
    )
    for call in calls:
        assert await within(call.code()) is grpc.StatusCode.INVALID_ARGUMENT
        assert "EVIL" not in await call.details()
