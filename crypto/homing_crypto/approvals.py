"""Sign and verify approvals: a person's yes or no to one exact step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.approvals import ApprovalStatement, SignedApproval
from homing_core.errors import InvalidDataError, RefusedError

from homing_crypto.keys import verify

if TYPE_CHECKING:
    from homing_crypto.certificates import CheckedCertificate
    from homing_crypto.identity import DeviceIdentity

MOST_APPROVAL_S = 24 * 60 * 60
"""No approval holds for longer than a day, in seconds."""


def sign_approval(identity: DeviceIdentity, statement: ApprovalStatement) -> SignedApproval:
    """Sign a statement with the key of the device that it names.

    Raises:
        RefusedError: the statement names another device.
        InvalidDataError: the statement has no byte form.
    """
    if statement.device != identity.device_id:
        msg = "an approval is signed by the device on which the person answered"
        raise RefusedError(msg, "Answer on that device.")
    return SignedApproval(statement, identity.sign(_bytes(statement)))


def verify_approval(
    signed: SignedApproval, certificate: CheckedCertificate, now: float
) -> ApprovalStatement:
    """Check who signed an approval, and that it still holds.

    What it approves is for the caller to compare: request, step, tool hash and argument hash have
    to be those of the step at hand, and the verdict may be no.

    Args:
        signed: the approval, from outside.
        certificate: of the device that is expected to have signed it.
        now: wall time here, seconds since the epoch.

    Returns:
        The statement.

    Raises:
        RefusedError: it names another device, has expired, or ends later than any can, as where a
            clock was set back.
        IntegrityError: it was altered, or another key signed it.
        InvalidDataError: the statement has no byte form.
    """
    statement = verify_signer(signed, certificate)
    if statement.expires_at - now > MOST_APPROVAL_S:
        msg = "this approval ends later than any can: one of both clocks is wrong"
        raise RefusedError(msg, "Set the clock, and ask the person again.")
    if now >= statement.expires_at:
        msg = "this approval has expired"
        raise RefusedError(msg, "Ask the person again.")
    return statement


def verify_signer(signed: SignedApproval, certificate: CheckedCertificate) -> ApprovalStatement:
    """The same for an approval that held when it was taken in, however long ago that was.

    Args:
        signed: the approval.
        certificate: of the device that is expected to have signed it.

    Returns:
        The statement.

    Raises:
        RefusedError: it names another device.
        IntegrityError: it was altered, or another key signed it.
        InvalidDataError: the statement has no byte form.
    """
    statement = signed.statement
    if statement.device != certificate.device_id:
        msg = "this approval is another device's"
        raise RefusedError(msg, "Ask the person again.")
    verify(certificate.public_key, signed.signature, _bytes(statement), "the approval")
    return statement


def _bytes(statement: ApprovalStatement) -> bytes:
    try:
        return statement.to_bytes()
    except ValueError as error:  # NaN and the like
        msg = "the approval is malformed"
        raise InvalidDataError(msg, "Ask the person again.") from error
