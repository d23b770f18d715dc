"""A device's own identity: its key, its certificate, its HPKE key; made once and kept.

All of it is one file, `identity.json`, so that a kill at any moment leaves either no identity or a
whole one. A file that cannot be read is an error, never a reason to become somebody else: the
device would silently lose every pairing.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from homing_core.errors import HomingError, IntegrityError

from homing_crypto.certificates import CheckedCertificate, check_certificate, make_certificate
from homing_crypto.keys import (
    HpkeKeyPair,
    device_id_of,
    new_device_key,
    sign,
    sign_hpke_key,
    verify_hpke_key,
)
from homing_crypto.private_files import (
    ensure_folder,
    locked_folder,
    read_private,
    remove_leftovers,
    write_private,
)
from homing_crypto.vault import FileMode

if TYPE_CHECKING:
    from pathlib import Path

    from homing_core.clock import Clock
    from homing_core.ids import DeviceId

    from homing_crypto.vault import KeyVault

IDENTITY_FILE = "identity.json"
_VERSION = 1
_MAX_FILE_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class DeviceIdentity:
    """Who this device is.

    Attributes:
        private_key: the P-256 device key; never leaves the device.
        certificate: its self-signed certificate.
        hpke: the key pair that receives sealed messages.
        hpke_signature: the device key's word for the HPKE key.
        created_at: wall time, seconds since the epoch.
    """

    private_key: ec.EllipticCurvePrivateKey = field(repr=False, compare=False)
    certificate: CheckedCertificate
    hpke: HpkeKeyPair = field(repr=False)
    hpke_signature: bytes = field(repr=False)
    created_at: float

    @property
    def device_id(self) -> DeviceId:
        """SHA-256 of the public device key, in hex."""
        return self.certificate.device_id

    @property
    def private_key_pem(self) -> bytes:
        """The device key in the form that gRPC takes (PKCS #8, unencrypted). Never log it."""
        return self.private_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    def sign(self, message: bytes) -> bytes:
        """ECDSA P-256 with SHA-256, DER. The message starts with a context string of its own."""
        return sign(self.private_key, message)

    @classmethod
    def generate(cls, clock: Clock) -> DeviceIdentity:
        """A fresh identity that is kept nowhere."""
        key = new_device_key()
        pair = HpkeKeyPair.generate()
        signature = sign_hpke_key(key, pair.public_bytes)
        return cls(key, make_certificate(key), pair, signature, clock.now())

    @classmethod
    def load_or_create(
        cls, folder: Path, clock: Clock, vault: KeyVault | None = None
    ) -> DeviceIdentity:
        """The identity in `folder`; made and stored (0600 in 0700, durably) if there is none.

        Args:
            folder: the data directory.
            clock: for when it was made.
            vault: how the file is protected; None is by its mode alone.

        Raises:
            RefusedError: the passphrase is wrong or missing.
            ConfigError: folder or file belong to somebody else or are open to others.
            IntegrityError: the file is damaged; it is left as it is.
            UnavailableError: the disk does not let us.
        """
        vault = vault or FileMode()
        ensure_folder(folder, private=True)
        path = folder / IDENTITY_FILE
        with locked_folder(folder):  # two first starts at once must not make two identities
            content = read_private(path, _MAX_FILE_BYTES)
            if content is not None:
                return _parse(vault.reveal(content), path)
            remove_leftovers(path)
            identity = cls.generate(clock)
            write_private(path, vault.protect(_render(identity)))
            return identity


def _render(identity: DeviceIdentity) -> bytes:
    fields: dict[str, Any] = {
        "version": _VERSION,
        "device_id": identity.device_id,
        "device_key": identity.private_key_pem.decode("ascii"),
        "certificate": _encode(identity.certificate.der),
        "hpke_key": _encode(identity.hpke.secret),
        "hpke_signature": _encode(identity.hpke_signature),
        "created_at": identity.created_at,
    }
    return json.dumps(fields, indent=1).encode("ascii") + b"\n"


def _parse(content: bytes, path: Path) -> DeviceIdentity:
    try:
        fields = json.loads(content)
        newer = fields["version"] != _VERSION
        identity = None if newer else _from_fields(fields)
    except (
        HomingError,
        ValueError,  # includes JSON and Unicode errors
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
        UnsupportedAlgorithm,
    ) as error:
        raise _damaged(path) from error
    if identity is None:
        msg = f"the identity file {path} was written by a newer Homing"
        raise IntegrityError(msg, "Update Homing.")
    return identity


def _from_fields(fields: dict[str, Any]) -> DeviceIdentity:
    key = serialization.load_pem_private_key(fields["device_key"].encode("ascii"), None)
    certificate = check_certificate(_decode(fields["certificate"]))
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError
    if device_id_of(key.public_key()) != certificate.device_id:
        raise ValueError
    pair = HpkeKeyPair(_decode(fields["hpke_key"]))
    signature = _decode(fields["hpke_signature"])
    verify_hpke_key(certificate.public_key, pair.public_bytes, signature)
    return DeviceIdentity(key, certificate, pair, signature, float(fields["created_at"]))


def _damaged(path: Path) -> IntegrityError:
    return IntegrityError(
        f"the identity file {path} is damaged",
        "Restore it from a backup. Or move it away to become a new device, and pair again.",
    )


def _encode(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError from error
