"""A device's own identity: its key, its certificate, its HPKE key; made once and kept.

It is kept in one file (`homing_crypto.identity_file`), so that a kill at any moment leaves either
no identity or a whole one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives import serialization

from homing_crypto.certificates import CheckedCertificate, make_certificate
from homing_crypto.keys import HpkeKeyPair, new_device_key, sign, sign_hpke_key

if TYPE_CHECKING:
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric import ec
    from homing_core.clock import Clock
    from homing_core.ids import DeviceId

    from homing_crypto.vault import KeyVault

IDENTITY_FILE = "identity.json"


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
        from homing_crypto.identity_file import load_keys  # noqa: PLC0415  # it makes these

        return load_keys(folder, clock, vault).current
