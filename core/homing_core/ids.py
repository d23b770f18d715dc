"""Identifiers. Each is made by whoever asks, and journalled before it is sent.

An id is a kind, a hyphen and 128 random bits in hex: `gen-6f1c…`. The kind makes logs readable and
stops one id from being used as another. A device id is not random: it is the SHA-256 of the
device's public key (see `homing_crypto`).
"""

from __future__ import annotations

import re
import secrets
from typing import NewType

from homing_core.errors import InvalidDataError

RequestId = NewType("RequestId", str)
GenerationId = NewType("GenerationId", str)
ConversationId = NewType("ConversationId", str)
JobId = NewType("JobId", str)
ToolCallId = NewType("ToolCallId", str)
ApprovalId = NewType("ApprovalId", str)
DeviceId = NewType("DeviceId", str)
"""64 lower-case hex digits: SHA-256 of the device's SubjectPublicKeyInfo (DER)."""

_RANDOM_BYTES = 16
_HEX_ID = re.compile(r"[0-9a-f]{32}")
_DEVICE_ID = re.compile(r"[0-9a-f]{64}")


def _new(kind: str) -> str:
    return f"{kind}-{secrets.token_hex(_RANDOM_BYTES)}"


def _parse(kind: str, text: str) -> str:
    head, hyphen, tail = text.partition("-")
    if head != kind or not hyphen or not _HEX_ID.fullmatch(tail):
        # The text may be hostile, so it is not repeated in the message.
        msg = f"that is not a {kind} id"
        raise InvalidDataError(msg, f"It looks like {kind}- and 32 hex digits.")
    return text


def new_request_id() -> RequestId:
    """A fresh request id (`req-…`)."""
    return RequestId(_new("req"))


def new_generation_id() -> GenerationId:
    """A fresh generation id (`gen-…`)."""
    return GenerationId(_new("gen"))


def new_conversation_id() -> ConversationId:
    """A fresh conversation id (`conv-…`)."""
    return ConversationId(_new("conv"))


def new_job_id() -> JobId:
    """A fresh job id (`job-…`)."""
    return JobId(_new("job"))


def new_tool_call_id() -> ToolCallId:
    """A fresh tool call id (`call-…`)."""
    return ToolCallId(_new("call"))


def new_approval_id() -> ApprovalId:
    """A fresh approval id (`appr-…`)."""
    return ApprovalId(_new("appr"))


def parse_request_id(text: str) -> RequestId:
    """Check a request id from outside; raises `InvalidDataError`."""
    return RequestId(_parse("req", text))


def parse_generation_id(text: str) -> GenerationId:
    """Check a generation id from outside; raises `InvalidDataError`."""
    return GenerationId(_parse("gen", text))


def parse_conversation_id(text: str) -> ConversationId:
    """Check a conversation id from outside; raises `InvalidDataError`."""
    return ConversationId(_parse("conv", text))


def parse_job_id(text: str) -> JobId:
    """Check a job id from outside; raises `InvalidDataError`."""
    return JobId(_parse("job", text))


def parse_tool_call_id(text: str) -> ToolCallId:
    """Check a tool call id from outside; raises `InvalidDataError`."""
    return ToolCallId(_parse("call", text))


def parse_approval_id(text: str) -> ApprovalId:
    """Check an approval id from outside; raises `InvalidDataError`."""
    return ApprovalId(_parse("appr", text))


def parse_device_id(text: str) -> DeviceId:
    """Check a device id from outside; raises `InvalidDataError`."""
    if not _DEVICE_ID.fullmatch(text):
        msg = "that is not a device id"
        raise InvalidDataError(msg, "It is 64 lower-case hex digits.")
    return DeviceId(text)
