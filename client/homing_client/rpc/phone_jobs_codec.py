"""The phone's jobs on the local socket: values to the wire and back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from homing_core.errors import InvalidDataError
from homing_core.ids import parse_approval_id, parse_device_id, parse_job_id, parse_request_id
from homing_core.jobs import JobResult, ResultFile
from homing_core.labels import clean_label
from homing_proto.codec import limits
from homing_proto.codec.approvals import decode_verdict, encode_verdict
from homing_proto.codec.common import (
    SENSITIVITIES,
    TRUSTS,
    decode_error,
    decode_place,
    encode_error,
    encode_place,
)
from homing_proto.codec.fields import (
    encoder,
    max_items,
    not_negative,
    positive,
    readable,
    readable_line,
    readable_name,
    refuse,
    sha256_hex,
)
from homing_proto.codec.job_questions import decode_pending_approval, encode_pending_approval
from homing_proto.codec.jobs import (
    JOB_STATES,
    decode_job_progress,
    encode_job_progress,
)
from homing_proto.codec.json_text import decode_json_object, encode_json
from homing_proto.codec.tools import decode_tool_spec, encode_tool_spec
from homing_proto.v1 import phone_jobs_pb2 as wire

from homing_client.jobs.ports import NodeTools, PhoneJob, Shown, Waiting
from homing_client.rpc.phone_codec import RESTART

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from homing_core.approvals import Verdict
    from homing_core.ids import DeviceId

PIECE_CHARS = 64 << 10
"""Characters of a result's text in one message; far below what a message may hold."""
MAX_RESULT_CHARS = 64 << 20
"""Characters of one text of a result."""
MAX_FILES = 4096
"""Files of one result."""
MAX_PATH_CHARS = 4096
"""Characters of a path, as Linux has it."""


@encoder
def encode_phone_job(value: PhoneJob) -> wire.PhoneJob:
    """A job as this phone knows it."""
    return wire.PhoneJob(
        id=value.id,
        request_id=value.request_id,
        node=value.node,
        node_name=readable_name(value.node_name),
        place=encode_place(value.place),
        tool=encode_tool_spec(value.tool),
        arguments_json=encode_json(value.arguments),
        submitted=value.submitted,
        state=JOB_STATES.encode(value.state),
        last_seq=value.last_seq,
        progress=None if value.progress is None else encode_job_progress(value.progress),
        asked_at=value.asked_at,
        ended_at=value.ended_at,
        delivered=value.delivered,
        note=readable_line(value.note),
        error=encode_error(value.error) if value.error else None,
    )


def decode_phone_job(message: wire.PhoneJob) -> PhoneJob:
    """Raises `InvalidDataError`. Names and notes are cleaned: a person reads them."""
    return PhoneJob(
        id=parse_job_id(message.id),
        request_id=parse_request_id(message.request_id),
        node=parse_device_id(message.node),
        node_name=clean_label(message.node_name, fallback=""),
        place=decode_place(message.place),
        tool=decode_tool_spec(message.tool),
        arguments=decode_json_object(message.arguments_json, "job's arguments"),
        submitted=message.submitted,
        state=JOB_STATES.decode(message.state),
        last_seq=message.last_seq,
        progress=decode_job_progress(message.progress) if message.HasField("progress") else None,
        asked_at=not_negative(message.asked_at, "job's time"),
        ended_at=not_negative(message.ended_at, "job's end"),
        delivered=message.delivered,
        note=clean_label(message.note, limits.MAX_LINE_CHARS, fallback=""),
        error=decode_error(message.error) if message.HasField("error") else None,
    )


@encoder
def encode_node_tools(value: NodeTools) -> tuple[wire.ListHomeToolsResponse, ...]:
    """What a node offers, one tool a message; one message where there is none."""
    return tuple(
        wire.ListHomeToolsResponse(
            tool=encode_tool_spec(tool) if tool else None,
            node_name=readable_name(value.node_name),
            node=value.node,
            error=encode_error(value.error) if value.error else None,
        )
        for tool in value.tools or (None,)
    )


def decode_node_tools(message: wire.ListHomeToolsResponse) -> NodeTools:
    """One message of a node, with at most one tool; raises `InvalidDataError`."""
    return NodeTools(
        parse_device_id(message.node),
        clean_label(message.node_name),
        (decode_tool_spec(message.tool),) if message.HasField("tool") else (),
        decode_error(message.error) if message.HasField("error") else None,
    )


def joined(found: Iterable[NodeTools]) -> tuple[NodeTools, ...]:
    """What was said of each node, in the order in which the nodes were named first."""
    nodes: dict[DeviceId, NodeTools] = {}
    for one in found:
        known = nodes.get(one.node)
        nodes[one.node] = replace(known, tools=known.tools + one.tools) if known else one
    return tuple(nodes.values())


@encoder
def encode_waiting(value: Waiting) -> wire.ListWaitingApprovalsResponse:
    """What a node wants to have answered."""
    return wire.ListWaitingApprovalsResponse(
        node=value.node,
        node_name=readable_name(value.node_name),
        approval=encode_pending_approval(value.approval),
    )


def decode_waiting(message: wire.ListWaitingApprovalsResponse) -> Waiting:
    """Raises `InvalidDataError`."""
    return Waiting(
        node=parse_device_id(message.node),
        node_name=clean_label(message.node_name),
        approval=decode_pending_approval(message.approval),
    )


@encoder
def encode_answer(shown: Shown, verdict: Verdict) -> wire.AnswerWaitingApprovalRequest:
    """A person's answer to what they were shown."""
    return wire.AnswerWaitingApprovalRequest(
        approval_id=shown.id,
        verdict=encode_verdict(verdict),
        node=shown.node,
        job_id=shown.job_id,
        request_id=shown.request_id,
        step=shown.step,
        tool_hash=shown.tool_hash,
        argument_hash=shown.argument_hash,
    )


def decode_answer(message: wire.AnswerWaitingApprovalRequest) -> tuple[Shown, Verdict]:
    """Raises `InvalidDataError`."""
    shown = Shown(
        node=parse_device_id(message.node),
        id=parse_approval_id(message.approval_id),
        job_id=parse_job_id(message.job_id),
        request_id=parse_request_id(message.request_id),
        step=positive(message.step, "approval's step"),
        tool_hash=sha256_hex(message.tool_hash, "tool hash"),
        argument_hash=sha256_hex(message.argument_hash, "argument hash"),
    )
    return shown, decode_verdict(message.verdict)


@encoder
def encode_result_head(value: JobResult) -> wire.PhoneJobResult:
    """A result without its texts."""
    return wire.PhoneJobResult(
        job_id=value.job_id,
        is_error=value.is_error,
        trust=TRUSTS.encode(value.trust),
        sensitivity=SENSITIVITIES.encode(value.sensitivity),
        source=readable_name(value.source),
        files=[
            wire.PhoneJobFile(
                name=readable(file.name), media_type=file.media_type, size_bytes=file.size_bytes
            )
            for file in value.files
        ],
    )


def decode_result_head(message: wire.PhoneJobResult) -> JobResult:
    """Raises `InvalidDataError`. The texts are missing yet."""
    max_items(message.files, MAX_FILES, "files")
    return JobResult(
        job_id=parse_job_id(message.job_id),
        content="",
        is_error=message.is_error,
        trust=TRUSTS.decode(message.trust),
        sensitivity=SENSITIVITIES.decode(message.sensitivity),
        source=clean_label(message.source, limits.MAX_NAME_CHARS, fallback=""),
        files=tuple(
            ResultFile(
                name=clean_label(file.name, limits.MAX_NAME_CHARS),
                media_type=clean_label(file.media_type, limits.MAX_NAME_CHARS, fallback=""),
                size_bytes=file.size_bytes,
            )
            for file in message.files
        ),
    )


def result_pieces(value: JobResult) -> Iterator[wire.FetchPhoneJobResultResponse]:
    """A result in messages: what is known of it, then its texts."""
    yield wire.FetchPhoneJobResultResponse(result=encode_result_head(value))
    for at in range(0, len(value.content), PIECE_CHARS):
        piece = readable(value.content[at : at + PIECE_CHARS])
        yield wire.FetchPhoneJobResultResponse(content=piece)
    for at in range(0, len(value.say), PIECE_CHARS):
        yield wire.FetchPhoneJobResultResponse(say=readable(value.say[at : at + PIECE_CHARS]))


class ResultReader:
    """Puts a result together from its messages."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._head: JobResult | None = None
        self._texts: dict[str, list[str]] = {"content": [], "say": []}
        self._chars = 0

    def feed(self, message: wire.FetchPhoneJobResultResponse) -> None:
        """One more; raises `InvalidDataError`."""
        kind = message.WhichOneof("kind")
        if kind == "result" and self._head is None:
            self._head = decode_result_head(message.result)
        elif kind in {"content", "say"} and self._head is not None:
            piece: str = message.content if kind == "content" else message.say
            self._chars += len(piece)
            if self._chars > 2 * MAX_RESULT_CHARS:
                refuse("the result's text is too long")
            self._texts[kind].append(piece)
        else:
            refuse("the result's pieces are out of order")

    def end(self) -> JobResult:
        """The whole; raises `InvalidDataError` if its beginning never came."""
        if self._head is None:
            refuse("there is nothing of the result")
        return replace(
            self._head, content="".join(self._texts["content"]), say="".join(self._texts["say"])
        )


def decode_saved_paths(paths: Collection[str]) -> tuple[Path, ...]:
    """Where files were put; raises `InvalidDataError`."""
    max_items(paths, MAX_FILES, "files")
    return tuple(decode_folder(path) for path in paths)


def decode_folder(text: str) -> Path:
    """An absolute path; raises `InvalidDataError`."""
    if not text.startswith("/") or "\0" in text or len(text) > MAX_PATH_CHARS:
        msg = "that is not an absolute path"
        raise InvalidDataError(msg, RESTART)
    return Path(text)
