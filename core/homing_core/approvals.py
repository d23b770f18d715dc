"""Approvals: a person's yes or no to one exact step, as a statement that a device signs.

The statement survives restarts and relays and fits nothing else: it names the request, the step,
the tool by hash, the arguments by hash, and when it ends. `homing_crypto` signs and verifies it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from homing_core.canonical import canonical_json

if TYPE_CHECKING:
    from homing_core.ids import ApprovalId, DeviceId, RequestId

_CONTEXT = "homing approval v1"


class Verdict(Enum):
    """What the person said."""

    ALLOW = "allow"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class ApprovalStatement:
    """What is signed.

    Attributes:
        id: chosen by whoever asked for consent.
        request_id: the request that the step belongs to.
        step: number of the step within the request, from 1.
        tool_hash: schema hash of the tool.
        argument_hash: hash of the exact arguments that were shown.
        verdict: yes or no.
        device: the device on which the person answered.
        expires_at: wall time, seconds since the epoch, by the verifier's clock.
    """

    id: ApprovalId
    request_id: RequestId
    step: int
    tool_hash: str
    argument_hash: str
    verdict: Verdict
    device: DeviceId
    expires_at: int

    def to_bytes(self) -> bytes:
        """The exact bytes that are signed: canonical JSON with a context string first."""
        return canonical_json(
            [
                _CONTEXT,
                self.id,
                self.request_id,
                self.step,
                self.tool_hash,
                self.argument_hash,
                self.verdict.value,
                self.device,
                self.expires_at,
            ]
        )


@dataclass(frozen=True, slots=True)
class SignedApproval:
    """A statement and its ECDSA P-256/SHA-256 signature (DER) by the statement's device."""

    statement: ApprovalStatement
    signature: bytes
