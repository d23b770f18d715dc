"""What two keys of one device say about each other when the second replaces the first. Pure.

A device that rotates its key makes a statement, and both keys sign it: the old one, because only it
may name a successor, and the new one, because nobody may claim a key that is not theirs. A
statement is a context string and a list of fields, each with its length in front (4 bytes,
big-endian), so that no two lists share a form:

- a *rotation* is made for one node: (node id, old id, new id, SHA-256 of the new certificate,
  SHA-256 of the new HPKE key). Another node refuses it.
- a *succession* is a node's own, for all its devices: the same without the first field.

Replaying one changes nothing: it names the same new key again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homing_core.errors import IntegrityError
from homing_core.keys import KeyChange

from homing_crypto.certificates import CheckedCertificate, check_certificate
from homing_crypto.keys import verify, verify_hpke_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_core.ids import DeviceId

    from homing_crypto.identity import DeviceIdentity

_ROTATION = b"homing key rotation v1\x00"
_SUCCESSION = b"homing node succession v1\x00"


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key for which its predecessor spoke; `check_rotation` and `check_succession` make it.

    Attributes:
        certificate: of the device key.
        hpke_public_key: raw.
        hpke_signature: the device key's word for it.
    """

    certificate: CheckedCertificate
    hpke_public_key: bytes = field(repr=False)
    hpke_signature: bytes = field(repr=False)

    @property
    def id(self) -> DeviceId:
        """The new device id."""
        return self.certificate.device_id


def sign_rotation(node: DeviceId, old: DeviceIdentity, new: DeviceIdentity) -> KeyChange:
    """A device tells a node that `new` replaces `old`.

    Args:
        node: the node that this is for.
        old: the key by which the node knows the device.
        new: the one to go on with.
    """
    return _sign(_statement(_ROTATION, (node,), old.device_id, _new_key(new)), old, new)


def sign_succession(old: DeviceIdentity, new: DeviceIdentity) -> KeyChange:
    """A node tells its devices that `new` replaces `old`."""
    return _sign(_statement(_SUCCESSION, (), old.device_id, _new_key(new)), old, new)


def check_rotation(change: KeyChange, nodes: Iterable[DeviceId], old: CheckedCertificate) -> NewKey:
    """Check what a device says of its new key.

    Args:
        change: what came.
        nodes: the ids under which this node is known.
        old: the certificate of the caller, as TLS proved it.

    Raises:
        InvalidDataError: the certificate or the HPKE key is malformed.
        IntegrityError: a signature is missing or wrong, or it is for another node or device.
    """
    new = _read(change, old)
    statements = [_statement(_ROTATION, (node,), old.device_id, new) for node in nodes]
    failure = IntegrityError("the statement about the new key is for nobody here")
    for statement in statements:
        try:
            _verify(statement, change, old, new)
        except IntegrityError as error:
            failure = error
        else:
            return new
    raise failure


def check_succession(change: KeyChange, old: CheckedCertificate) -> NewKey:
    """Check what a node says of its new key.

    Args:
        change: what came.
        old: the node's certificate, as this phone has known it so far.

    Raises:
        InvalidDataError: the certificate or the HPKE key is malformed.
        IntegrityError: a signature is missing or wrong, or it is another node's.
    """
    new = _read(change, old)
    _verify(_statement(_SUCCESSION, (), old.device_id, new), change, old, new)
    return new


def _read(change: KeyChange, old: CheckedCertificate) -> NewKey:
    certificate = check_certificate(change.certificate_der)
    if certificate.device_id == old.device_id:
        msg = "the new key is the old one"
        raise IntegrityError(msg, "Rotate the key again.")
    verify_hpke_key(certificate.public_key, change.hpke_public_key, change.hpke_signature)
    return NewKey(certificate, change.hpke_public_key, change.hpke_signature)


def _new_key(identity: DeviceIdentity) -> NewKey:
    return NewKey(identity.certificate, identity.hpke.public_bytes, identity.hpke_signature)


def _sign(statement: bytes, old: DeviceIdentity, new: DeviceIdentity) -> KeyChange:
    return KeyChange(
        certificate_der=new.certificate.der,
        hpke_public_key=new.hpke.public_bytes,
        hpke_signature=new.hpke_signature,
        old_signature=old.sign(statement),
        new_signature=new.sign(statement),
    )


def _verify(statement: bytes, change: KeyChange, old: CheckedCertificate, new: NewKey) -> None:
    verify(old.public_key, change.old_signature, statement, "the new key by the old one")
    verify(new.certificate.public_key, change.new_signature, statement, "the new key by itself")


def _statement(context: bytes, first: tuple[str, ...], old: DeviceId, new: NewKey) -> bytes:
    fields = [text.encode("ascii") for text in (*first, old, new.id)]
    fields += [hashlib.sha256(new.certificate.der).digest()]
    fields += [hashlib.sha256(new.hpke_public_key).digest()]
    return context + b"".join(len(part).to_bytes(4, "big") + part for part in fields)
