"""Jobs: what is asked, how far it is, and its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.ids import parse_approval_id, parse_job_id, parse_request_id
from homing_core.jobs import (
    JobEvent,
    JobProgress,
    JobSpec,
    JobState,
    JobStatus,
)

from homing_proto.codec import limits
from homing_proto.codec.common import SENSITIVITIES
from homing_proto.codec.fields import (
    EnumTable,
    encoder,
    max_chars,
    max_items,
    not_negative,
    optional_device,
    positive,
    readable_line,
    readable_name,
    refuse,
)
from homing_proto.codec.json_text import decode_json, encode_json
from homing_proto.codec.keys import MAX_CERTIFICATE_BYTES
from homing_proto.codec.tools import (
    decode_tool_call,
    decode_tool_id,
    decode_tool_name,
    encode_tool_call,
    encode_tool_id,
)
from homing_proto.v1 import job_pb2 as wire

if TYPE_CHECKING:
    from collections.abc import Collection

JOB_STATES = EnumTable(
    "job's state",
    {
        JobState.QUEUED: wire.JOB_STATE_QUEUED,
        JobState.RUNNING: wire.JOB_STATE_RUNNING,
        JobState.WAITING_APPROVAL: wire.JOB_STATE_WAITING_APPROVAL,
        JobState.UNKNOWN_EFFECT: wire.JOB_STATE_UNKNOWN_EFFECT,
        JobState.SUCCEEDED: wire.JOB_STATE_SUCCEEDED,
        JobState.FAILED: wire.JOB_STATE_FAILED,
        JobState.CANCELLED: wire.JOB_STATE_CANCELLED,
    },
    strictest=JobState.UNKNOWN_EFFECT,
)


@encoder
def encode_job_spec(value: JobSpec) -> wire.JobSpec:
    """What is asked of a node."""
    return wire.JobSpec(
        id=value.id,
        request_id=value.request_id,
        tool=encode_tool_id(value.tool),
        call=encode_tool_call(value.call),
        sensitivity=SENSITIVITIES.encode(value.sensitivity),
        priority=value.priority,
    )


def decode_job_spec(message: wire.JobSpec) -> JobSpec:
    """Raises `InvalidDataError`, also where the call names another tool than the job."""
    tool = decode_tool_id(message.tool)
    call = decode_tool_call(message.call)
    if call.name != tool.name:
        refuse("the job's call names another tool than the job")
    return JobSpec(
        id=parse_job_id(message.id),
        request_id=parse_request_id(message.request_id),
        tool=tool,
        call=call,
        sensitivity=SENSITIVITIES.decode(message.sensitivity),
        priority=message.priority,
    )


@encoder
def encode_job_progress(value: JobProgress) -> wire.JobProgress:
    """How far a job is."""
    return wire.JobProgress(
        done=value.done,
        total=value.total,
        unit=readable_name(value.unit),
        note=readable_line(value.note),
    )


def decode_job_progress(message: wire.JobProgress) -> JobProgress:
    """Raises `InvalidDataError`."""
    return JobProgress(
        done=not_negative(message.done, "count of finished units"),
        total=not_negative(message.total, "count of all units"),
        unit=max_chars(message.unit, limits.MAX_NAME_CHARS, "unit"),
        note=max_chars(message.note, limits.MAX_LINE_CHARS, "progress note"),
    )


@encoder
def encode_job_event(value: JobEvent) -> wire.JobEvent:
    """One numbered entry of a job's record."""
    return wire.JobEvent(
        seq=value.seq,
        at=value.at,
        state=JOB_STATES.encode(value.state),
        progress=None if value.progress is None else encode_job_progress(value.progress),
        approval_id=value.approval_id or "",
        note=readable_line(value.note),
    )


def decode_job_event(message: wire.JobEvent) -> JobEvent:
    """Raises `InvalidDataError`."""
    return JobEvent(
        seq=positive(message.seq, "job event's number"),
        at=not_negative(message.at, "job event's time"),
        state=JOB_STATES.decode(message.state),
        progress=decode_job_progress(message.progress) if message.HasField("progress") else None,
        approval_id=parse_approval_id(message.approval_id) if message.approval_id else None,
        note=max_chars(message.note, limits.MAX_LINE_CHARS, "job event's note"),
    )


@encoder
def encode_job_status(value: JobStatus, sealer_certificate: bytes = b"") -> wire.JobStatus:
    """A job as its owner sees it.

    Args:
        value: the job.
        sealer_certificate: DER of the daemon that sealed its result, if that is another one.
    """
    return wire.JobStatus(
        id=value.id,
        tool_name=value.tool_name,
        state=JOB_STATES.encode(value.state),
        submitted_at=value.submitted_at,
        last_seq=value.last_seq,
        progress=None if value.progress is None else encode_job_progress(value.progress),
        summary=readable_line(value.summary),
        detail_json="" if value.detail is None else encode_json(value.detail),
        result_bytes=value.result_bytes,
        sealed_by=value.sealed_by,
        sealer_certificate=sealer_certificate,
    )


def decode_job_status(message: wire.JobStatus) -> JobStatus:
    """Raises `InvalidDataError`."""
    return JobStatus(
        id=parse_job_id(message.id),
        tool_name=decode_tool_name(message.tool_name),
        state=JOB_STATES.decode(message.state),
        submitted_at=not_negative(message.submitted_at, "job's time"),
        last_seq=message.last_seq,
        progress=decode_job_progress(message.progress) if message.HasField("progress") else None,
        summary=max_chars(message.summary, limits.MAX_LINE_CHARS, "job's summary"),
        detail=decode_json(message.detail_json, "job's detail") if message.detail_json else None,
        result_bytes=message.result_bytes,
        sealed_by=optional_device(message.sealed_by),
    )


def decode_job_statuses(messages: Collection[wire.JobStatus]) -> tuple[JobStatus, ...]:
    """Several jobs; raises `InvalidDataError`."""
    max_items(messages, limits.MAX_JOBS, "jobs")
    return tuple(decode_job_status(message) for message in messages)


def decode_sealer_certificate(message: wire.JobStatus) -> bytes:
    """The certificate (DER) that came with a status; empty if the sender itself sealed it.

    Nothing of it is verified here. Raises `InvalidDataError` if it is too large to be one.
    """
    if len(message.sealer_certificate) > MAX_CERTIFICATE_BYTES:
        refuse(f"the sealer's certificate is longer than {MAX_CERTIFICATE_BYTES} bytes")
    return message.sealer_certificate
