"""What a job asks a person: a step that waits for consent, an effect that nobody knows of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.ids import parse_approval_id, parse_job_id, parse_request_id
from homing_core.jobs import PendingApproval, Settlement
from homing_core.labels import clean_label

from homing_proto.codec import limits
from homing_proto.codec.fields import (
    EnumTable,
    encoder,
    max_chars,
    max_items,
    optional_device,
    positive,
    readable_line,
    readable_name,
    refuse,
)
from homing_proto.codec.tools import (
    decode_tool_call,
    decode_tool_spec,
    encode_tool_call,
    encode_tool_spec,
)
from homing_proto.v1 import job_pb2 as wire

if TYPE_CHECKING:
    from collections.abc import Collection

SETTLEMENTS = EnumTable(
    "settlement",
    {
        Settlement.HAPPENED: wire.SETTLEMENT_HAPPENED,
        Settlement.RUN_AGAIN: wire.SETTLEMENT_RUN_AGAIN,
        Settlement.GIVE_UP: wire.SETTLEMENT_GIVE_UP,
    },
)
"""A settlement that is not said, or unknown here, is refused: each of them has consequences."""


@encoder
def encode_pending_approval(value: PendingApproval) -> wire.PendingApproval:
    """A step that waits for a person. Its arguments are sent exactly: they are what is signed."""
    return wire.PendingApproval(
        id=value.id,
        job_id=value.job_id,
        request_id=value.request_id,
        step=value.step,
        tool=encode_tool_spec(value.tool),
        call=encode_tool_call(value.call),
        expires_at=value.expires_at,
        reason=readable_line(value.reason),
        preview=readable_line(value.preview),
        device=value.device,
        device_name=readable_name(value.device_name),
    )


def decode_pending_approval(message: wire.PendingApproval) -> PendingApproval:
    """Raises `InvalidDataError`, also where the call names another tool than is shown."""
    tool, call = decode_tool_spec(message.tool), decode_tool_call(message.call)
    if call.name != tool.name:
        refuse("the call that waits names another tool than the one that is shown")
    if message.expires_at < 0:
        refuse("the question's expiry is negative")
    return PendingApproval(
        id=parse_approval_id(message.id),
        job_id=parse_job_id(message.job_id),
        request_id=parse_request_id(message.request_id),
        step=positive(message.step, "question's step"),
        tool=tool,
        call=call,
        reason=max_chars(message.reason, limits.MAX_LINE_CHARS, "reason of a question"),
        preview=max_chars(message.preview, limits.MAX_LINE_CHARS, "preview of a call"),
        expires_at=message.expires_at,
        device=optional_device(message.device),
        device_name=clean_label(message.device_name, fallback=""),
    )


def decode_pending_approvals(
    messages: Collection[wire.PendingApproval],
) -> tuple[PendingApproval, ...]:
    """Everything that waits; raises `InvalidDataError`."""
    max_items(messages, limits.MAX_JOBS, "questions")
    return tuple(decode_pending_approval(message) for message in messages)


def encode_settlement(value: Settlement) -> wire.Settlement:
    """What a person says of an effect that nobody knows of."""
    return SETTLEMENTS.encode(value)


def decode_settlement(number: int) -> Settlement:
    """Raises `InvalidDataError` for one that is not said or not known."""
    return SETTLEMENTS.decode(number)
