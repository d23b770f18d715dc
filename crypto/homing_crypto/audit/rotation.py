"""How the record follows a node's change of key: the old key signs for the new one's certificate.

signature = ECDSA P-256 with SHA-256 over context ‖ length-prefixed (old, new), each the
            SHA-256 of a certificate
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final

from homing_core.errors import HomingError, IntegrityError

from homing_crypto.audit.chain import prefixed
from homing_crypto.certificates import check_certificate
from homing_crypto.keys import verify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.canonical import JsonValue

    from homing_crypto.certificates import CheckedCertificate
    from homing_crypto.identity import DeviceIdentity

_CONTEXT: Final = b"homing audit key change v1\x00"
CERTIFICATE: Final = "certificate"
"""Key of the detail under which STARTED says, in hex, the hash of the certificate it runs with."""


def node_key_changed(old: DeviceIdentity, new: CheckedCertificate) -> dict[str, JsonValue]:
    """The detail of the entry KEY_ROTATED for the node's own key, signed over by the old one."""
    signature = old.sign(_message(old.certificate, new))
    return {
        "of": "node",
        "old_certificate": _encode(old.certificate.der),
        "new_certificate": new.sha256.hex(),
        "signature": _encode(signature),
    }


def is_node_key_change(facts: Mapping[str, JsonValue]) -> bool:
    """Whether an entry KEY_ROTATED is about the node's own key and not a device's."""
    return facts.get("of") == "node"


def follow_key(facts: Mapping[str, JsonValue], signer: str) -> str:
    """Check a change of the node's key.

    Args:
        facts: the entry's detail.
        signer: hash of the certificate that was the node's before, hex; empty if it is not known.

    Returns:
        Hash of the certificate that is the node's from here on, hex.

    Raises:
        IntegrityError: the old key did not sign for the new one.
    """
    try:
        old = check_certificate(_decode(facts["old_certificate"]))
        new = str(facts["new_certificate"])
        message = _CONTEXT + prefixed((old.sha256, bytes.fromhex(new)))
        verify(old.public_key, _decode(facts["signature"]), message, "the node's new key")
    except (KeyError, ValueError, HomingError) as error:
        raise _unvouched() from error
    if signer and old.sha256.hex() != signer:
        raise _unvouched()
    return new


def _unvouched() -> IntegrityError:
    msg = "the old key of the node did not sign for the new one"
    return IntegrityError(msg, "Whoever did this had no right to the old key.")


def _message(old: CheckedCertificate, new: CheckedCertificate) -> bytes:
    return _CONTEXT + prefixed((old.sha256, new.sha256))


def _encode(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _decode(value: JsonValue) -> bytes:
    try:
        return base64.b64decode(str(value), validate=True)
    except binascii.Error as error:
        raise ValueError from error
