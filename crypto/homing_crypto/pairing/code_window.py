"""A window that is open for a short code, as a value: who tried, and who knew the code."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homing_core.errors import InvalidDataError
from homing_core.labels import clean_label

from homing_crypto.certificates import check_certificate
from homing_crypto.devices import PairedDevice, scopes_for
from homing_crypto.keys import verify_hpke_key
from homing_crypto.pairing.code_keys import node_exchange
from homing_crypto.pairing.code_proof import CODE_VERSION, CodeReply, CodeStart, transcript
from homing_crypto.pairing.machine import MAX_GUESSES
from homing_crypto.pairing.proof import MAX_NAME, NONCE_BYTES

if TYPE_CHECKING:
    from homing_core.access import DeviceRole
    from homing_core.ids import DeviceId

    from homing_crypto.pairing.code_keys import CodeKeys
    from homing_crypto.pairing.machine import NodeSide

MAX_ATTEMPT_ID = 64
"""Longest id of an attempt, in characters."""


@dataclass(frozen=True, slots=True)
class Started:
    """An attempt: what both sides said, and the keys that came of it."""

    start: CodeStart
    reply: CodeReply
    device: PairedDevice
    keys: CodeKeys = field(repr=False)
    said: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """The phone's."""
        return self.start.attempt_id


@dataclass(frozen=True, slots=True)
class Claim:
    """The attempt that knew the code.

    Attributes:
        attempt: which.
        ends_at: wall time until which the person may answer.
        allowed: what the person said; None until then.
    """

    attempt: Started
    ends_at: float
    allowed: bool | None = None


@dataclass(frozen=True, slots=True)
class CodeWindow:
    """A pairing by code under way; `homing_crypto.pairing.code_machine` makes the next one.

    Attributes:
        code: the digits.
        node: what the node says of itself.
        role: for the new device.
        expires_at: wall time at the node, seconds since the epoch.
        guesses_left: wrong codes that are still allowed; 0 is burned.
        callers: who started, one entry for each start.
        unfinished: attempts that have not been confirmed, oldest first.
        refused: attempts that had a wrong code, and the guesses left after each.
        claim: the attempt that knew the code.
        paired: the device that was let in, by code or by link.
    """

    code: str = field(repr=False)
    node: NodeSide
    role: DeviceRole
    expires_at: float
    guesses_left: int = MAX_GUESSES
    callers: tuple[str, ...] = ()
    unfinished: tuple[Started, ...] = ()
    refused: tuple[tuple[str, int], ...] = ()
    claim: Claim | None = None
    paired: DeviceId | None = None


def exchange(window: CodeWindow, asked: CodeStart, now: float) -> Started:
    """Check an attempt's first message and make the node's half.

    Raises:
        InvalidDataError: the message is malformed.
        IntegrityError: the device key did not sign the HPKE key.
    """
    if asked.version != CODE_VERSION:
        msg = "the device speaks another version of pairing"
        raise InvalidDataError(msg, "Update Homing on both sides.")
    sizes = len(asked.nonce) == NONCE_BYTES and len(asked.name) <= MAX_NAME
    if not sizes or not 0 < len(asked.attempt_id) <= MAX_ATTEMPT_ID:
        msg = "the pairing request is malformed"
        raise InvalidDataError(msg, "Both sides may run different versions of Homing.")
    certificate = check_certificate(asked.certificate_der)
    verify_hpke_key(certificate.public_key, asked.hpke_public_key, asked.hpke_signature)
    node = window.node
    message, keys = node_exchange(window.code, certificate.der, node.certificate_der, asked.message)
    reply = CodeReply(
        certificate_der=node.certificate_der,
        hpke_public_key=node.hpke_public_key,
        hpke_signature=node.hpke_signature,
        name=node.name,
        role=window.role,
        nonce=secrets.token_bytes(NONCE_BYTES),
        message=message,
    )
    device = PairedDevice(
        id=certificate.device_id,
        certificate_der=certificate.der,
        hpke_public_key=asked.hpke_public_key,
        name=clean_label(asked.name, MAX_NAME),
        role=window.role,
        scopes=scopes_for(window.role),
        paired_at=now,
    )
    return Started(asked, reply, device, keys, transcript(asked, reply, node.certificate_der))
