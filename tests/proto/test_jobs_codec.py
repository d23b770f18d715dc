"""What a job's forms on the wire refuse, and what they leave out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from homing_core.errors import InvalidDataError
from homing_core.ids import new_approval_id, new_job_id, new_request_id, new_tool_call_id
from homing_core.jobs import JobState, JobStatus, PendingApproval, Settlement
from homing_core.tools import ToolCall, ToolSpec
from homing_proto.codec import job_questions, jobs, limits
from homing_proto.codec.keys import MAX_CERTIFICATE_BYTES
from homing_proto.v1 import job_pb2

TOOL = ToolSpec("wipe", "Wipes a disk.", {"type": "object"})
STATUS = JobStatus(new_job_id(), "wipe", JobState.QUEUED, 1.0, 1)


def waiting(call: ToolCall | None = None, device_name: str = "") -> PendingApproval:
    """A question."""
    return PendingApproval(
        id=new_approval_id(),
        job_id=new_job_id(),
        request_id=new_request_id(),
        step=1,
        tool=TOOL,
        call=call or ToolCall(new_tool_call_id(), "wipe", {"disk": "a"}),
        reason="it changes this computer",
        preview="wipes disk a",
        expires_at=9,
        device_name=device_name,
    )


@pytest.mark.parametrize("number", [0, 4, -1, 1 << 30])
def test_a_settlement_that_is_not_said_is_refused(number: int) -> None:
    with pytest.raises(InvalidDataError, match="settlement"):
        job_questions.decode_settlement(number)


def test_each_settlement_comes_back() -> None:
    for said in Settlement:
        assert job_questions.decode_settlement(job_questions.encode_settlement(said)) is said


def test_a_question_that_shows_one_tool_and_calls_another_is_refused() -> None:
    other = ToolCall(new_tool_call_id(), "read", {})
    with pytest.raises(InvalidDataError, match="another tool"):
        job_questions.decode_pending_approval(
            job_questions.encode_pending_approval(waiting(call=other))
        )


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("id", ""),
        ("job_id", "job-1"),
        ("request_id", ""),
        ("step", 0),
        ("expires_at", -1),
        ("device", "somebody"),
        ("reason", "x" * (limits.MAX_LINE_CHARS + 1)),
        ("preview", "x" * (limits.MAX_LINE_CHARS + 1)),
    ],
)
def test_a_question_with_a_wrong_part_is_refused(part: str, value: object) -> None:
    message = job_questions.encode_pending_approval(waiting())
    setattr(message, part, value)
    with pytest.raises(InvalidDataError):
        job_questions.decode_pending_approval(message)


def test_a_question_whose_arguments_are_no_object_is_refused() -> None:
    message = job_questions.encode_pending_approval(waiting())
    message.call.arguments_json = "[]"
    with pytest.raises(InvalidDataError):
        job_questions.decode_pending_approval(message)


def test_a_question_says_no_more_of_a_device_than_one_clean_line() -> None:
    hostile = waiting(device_name="\x1b[31mMum\u202e\n" + "x" * 200)
    back = job_questions.decode_pending_approval(job_questions.encode_pending_approval(hostile))
    assert back.device_name.isprintable()
    assert len(back.device_name) <= 64


def test_a_question_is_sent_with_its_whole_arguments() -> None:
    whole = waiting(call=ToolCall(new_tool_call_id(), "wipe", {"text": "x" * 200_000}))
    back = job_questions.decode_pending_approval(job_questions.encode_pending_approval(whole))
    assert back.call.argument_hash == whole.call.argument_hash


def test_a_status_names_who_sealed_the_result_with_its_certificate() -> None:
    sealed = replace(STATUS, result_bytes=7, sealed_by="0a" * 32)
    message = jobs.encode_job_status(sealed, b"certificate")
    assert jobs.decode_job_status(message) == sealed
    assert jobs.decode_sealer_certificate(message) == b"certificate"
    assert jobs.decode_sealer_certificate(jobs.encode_job_status(STATUS)) == b""


def test_a_sealer_that_is_no_device_and_a_huge_certificate_are_refused() -> None:
    message = jobs.encode_job_status(STATUS, b"x" * (MAX_CERTIFICATE_BYTES + 1))
    with pytest.raises(InvalidDataError, match="certificate"):
        jobs.decode_sealer_certificate(message)
    with pytest.raises(InvalidDataError, match="device"):
        jobs.decode_job_status(jobs.encode_job_status(replace(STATUS, sealed_by="me")))


def test_more_jobs_or_questions_than_one_answer_may_have_are_refused() -> None:
    with pytest.raises(InvalidDataError, match="jobs"):
        jobs.decode_job_statuses([job_pb2.JobStatus()] * (limits.MAX_JOBS + 1))
    with pytest.raises(InvalidDataError, match="questions"):
        job_questions.decode_pending_approvals([job_pb2.PendingApproval()] * (limits.MAX_JOBS + 1))
