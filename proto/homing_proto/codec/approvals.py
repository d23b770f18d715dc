"""Approval statements and their signatures."""

from __future__ import annotations

from homing_core.approvals import ApprovalStatement, SignedApproval, Verdict
from homing_core.ids import parse_approval_id, parse_device_id, parse_request_id

from homing_proto.codec import limits
from homing_proto.codec.fields import EnumTable, encoder, positive, refuse, sha256_hex
from homing_proto.v1 import tool_pb2 as wire

VERDICTS = EnumTable(
    "verdict",
    {Verdict.ALLOW: wire.VERDICT_ALLOW, Verdict.DENY: wire.VERDICT_DENY},
    strictest=Verdict.DENY,
)


def encode_verdict(value: Verdict) -> wire.Verdict:
    """Yes or no."""
    return VERDICTS.encode(value)


def decode_verdict(number: int) -> Verdict:
    """Yes or no; what is not said is a no."""
    return VERDICTS.decode(number)


@encoder
def encode_approval_statement(value: ApprovalStatement) -> wire.ApprovalStatement:
    """What is signed. The signature covers `value.to_bytes()`, not this message."""
    return wire.ApprovalStatement(
        id=value.id,
        request_id=value.request_id,
        step=value.step,
        tool_hash=value.tool_hash,
        argument_hash=value.argument_hash,
        verdict=VERDICTS.encode(value.verdict),
        device=value.device,
        expires_at=value.expires_at,
    )


def decode_approval_statement(message: wire.ApprovalStatement) -> ApprovalStatement:
    """Raises `InvalidDataError`."""
    if message.expires_at < 0:
        refuse("the approval's expiry is negative")
    return ApprovalStatement(
        id=parse_approval_id(message.id),
        request_id=parse_request_id(message.request_id),
        step=positive(message.step, "approval's step"),
        tool_hash=sha256_hex(message.tool_hash, "tool hash"),
        argument_hash=sha256_hex(message.argument_hash, "argument hash"),
        verdict=VERDICTS.decode(message.verdict),
        device=parse_device_id(message.device),
        expires_at=message.expires_at,
    )


@encoder
def encode_signed_approval(value: SignedApproval) -> wire.SignedApproval:
    """A statement with its signature."""
    return wire.SignedApproval(
        statement=encode_approval_statement(value.statement), signature=value.signature
    )


def decode_signed_approval(message: wire.SignedApproval) -> SignedApproval:
    """Raises `InvalidDataError`. The signature is not verified here (see `homing_crypto`)."""
    if not 0 < len(message.signature) <= limits.MAX_SIGNATURE_BYTES:
        refuse(f"the approval's signature is not 1 to {limits.MAX_SIGNATURE_BYTES} bytes long")
    return SignedApproval(
        statement=decode_approval_statement(message.statement), signature=message.signature
    )
