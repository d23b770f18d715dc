"""What is said in a pairing by short code, and what both sides confirm of it.

    phone ── CodeStart ──────▶ node    keys, name, nonce, SPAKE2 message
    phone ◀─ CodeReply ─────── node    the same of the node, and the role on offer
    phone ── confirmation ───▶ node    first: a wrong one is a guess and tells its sender nothing
    phone ◀─ Recognition ───── node    the node knows the code too; a person is being asked
    phone ── may I come in ──▶ node    only now may the node store the phone
    phone ◀─ Entry ─────────── node    role, scopes, addresses

A confirmation is HMAC-SHA-256 (RFC 2104) over the list of all that was said in the first two
messages, written as in `homing_crypto.pairing.proof`. The certificates are those that each side
knows by itself: the node its own, the phone the one that its TLS connection saw. A relay with a
certificate of its own, and anybody who changes a field, therefore fails.

The phone writes down that the node was recognised before it asks to come in. So whatever is killed
when, either both sides have each other or neither has; and a phone that lost the last answer can
fetch it from the node's main port, whose key it then knows.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homing_crypto.pairing.proof import joined, utf8

if TYPE_CHECKING:
    from homing_core.access import DeviceRole, Scope

    from homing_crypto.pairing.code_keys import CodeKeys

CODE_VERSION = 1

_PHONE_LABEL = b"homing pairing code v1: phone"
_NODE_LABEL = b"homing pairing code v1: node"
_ENTRY_LABEL = b"homing pairing code v1: entry"


@dataclass(frozen=True, slots=True)
class CodeStart:
    """What a phone sends first; the values of the wire's `StartCodeRequest`.

    Attributes:
        attempt_id: chosen by the phone (`homing_crypto.pairing.code_client.new_attempt_id`).
        certificate_der: the phone's certificate.
        hpke_public_key: the phone's HPKE key, raw.
        hpke_signature: the device key's word for it.
        name: what the phone calls itself.
        nonce: 32 random bytes.
        message: SPAKE2's.
        version: of this protocol.
    """

    attempt_id: str
    certificate_der: bytes = field(repr=False)
    hpke_public_key: bytes = field(repr=False)
    hpke_signature: bytes = field(repr=False)
    name: str
    nonce: bytes = field(repr=False)
    message: bytes = field(repr=False)
    version: int = CODE_VERSION


@dataclass(frozen=True, slots=True)
class CodeReply:
    """What the node sends back; the values of the wire's `StartCodeResponse`.

    Attributes:
        certificate_der: the node's certificate.
        hpke_public_key: the node's HPKE key, raw.
        hpke_signature: the node key's word for it.
        name: what the node calls itself.
        role: what the phone would be to it.
        nonce: 32 random bytes.
        message: SPAKE2's.
    """

    certificate_der: bytes = field(repr=False)
    hpke_public_key: bytes = field(repr=False)
    hpke_signature: bytes = field(repr=False)
    name: str
    role: DeviceRole
    nonce: bytes = field(repr=False)
    message: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Recognition:
    """The node's confirmation; the values of the wire's `ConfirmCodeResponse`.

    Attributes:
        addresses: of the node's main port, `host:port`, best first.
        confirmation: see `node_confirmation`.
    """

    addresses: tuple[str, ...]
    confirmation: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Entry:
    """The phone was let in; the values of the wire's `AwaitEntryResponse`.

    Attributes:
        role: what it is now; a device that was paired before keeps its role.
        scopes: what it may do.
        addresses: as in `Recognition`.
        confirmation: see `entry_confirmation`.
    """

    role: DeviceRole
    scopes: frozenset[Scope]
    addresses: tuple[str, ...]
    confirmation: bytes = field(default=b"", repr=False)


def transcript(start: CodeStart, reply: CodeReply, node_certificate: bytes) -> bytes:
    """Everything that was said, in one form.

    Args:
        start: the phone's half.
        reply: the node's half; its own word about its certificate does not count.
        node_certificate: the one that the phone's TLS connection saw, or the node's own, DER.

    Raises:
        InvalidDataError: a name has no UTF-8 form.
    """
    return joined(
        [
            utf8(str(start.version)),
            utf8(start.attempt_id),
            utf8(reply.role.value),
            start.certificate_der,
            node_certificate,
            start.hpke_public_key,
            reply.hpke_public_key,
            start.hpke_signature,
            reply.hpke_signature,
            start.nonce,
            reply.nonce,
            utf8(start.name),
            utf8(reply.name),
            start.message,
            reply.message,
        ]
    )


def phone_confirmation(keys: CodeKeys, said: bytes) -> bytes:
    """The phone knows the code, over this transcript."""
    return hmac.digest(keys.phone, joined([_PHONE_LABEL, said]), "sha256")


def node_confirmation(keys: CodeKeys, said: bytes, recognition: Recognition) -> bytes:
    """The node knows it too, and is reached at these addresses.

    Raises:
        InvalidDataError: an address has no UTF-8 form.
    """
    addresses = joined(map(utf8, recognition.addresses))
    return hmac.digest(keys.node, joined([_NODE_LABEL, said, addresses]), "sha256")


def entry_confirmation(keys: CodeKeys, said: bytes, entry: Entry) -> bytes:
    """The node lets the phone in, as this; all but the entry's own confirmation counts.

    Raises:
        InvalidDataError: an address has no UTF-8 form.
    """
    fields = [
        _ENTRY_LABEL,
        said,
        utf8(entry.role.value),
        joined(sorted(utf8(scope.value) for scope in entry.scopes)),
        joined(map(utf8, entry.addresses)),
    ]
    return hmac.digest(keys.entry, joined(fields), "sha256")
