"""Keys: the P-256 device key, the HPKE key, and how the first vouches for the second.

The device key is what TLS uses and what a device id is made of. The HPKE key (X-Wing's hybrid of
ML-KEM-768 and X25519) receives sealed messages; it is only believed when the device key signed it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, hpke, serialization
from cryptography.hazmat.primitives.asymmetric import ec, mlkem, x25519
from homing_core.errors import IntegrityError, InvalidDataError
from homing_core.ids import DeviceId

HPKE_SUITE = hpke.Suite(hpke.KEM.MLKEM768_X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)
"""The one suite that Homing seals with. ChaCha20 is fast on phones without AES instructions."""

_MLKEM_PUBLIC_BYTES = 1184
_MLKEM_SEED_BYTES = 64
_X25519_BYTES = 32
HPKE_PUBLIC_KEY_BYTES = _MLKEM_PUBLIC_BYTES + _X25519_BYTES
"""Raw form: the ML-KEM-768 public key (1,184 bytes), then the X25519 one (32 bytes)."""
HPKE_SECRET_BYTES = _MLKEM_SEED_BYTES + _X25519_BYTES
"""Raw form: the ML-KEM seed (64 bytes), then the X25519 private key (32 bytes)."""
_HPKE_CONTEXT = b"homing hpke key v1\x00"


def new_device_key() -> ec.EllipticCurvePrivateKey:
    """A fresh P-256 key: the only kind that gRPC's TLS takes in a client certificate."""
    return ec.generate_private_key(ec.SECP256R1())


def spki_der(key: ec.EllipticCurvePublicKey) -> bytes:
    """The key as SubjectPublicKeyInfo, DER (RFC 5280)."""
    return key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def device_id_of(key: ec.EllipticCurvePublicKey) -> DeviceId:
    """SHA-256 of the key's SubjectPublicKeyInfo (DER), in lower-case hex."""
    return DeviceId(hashlib.sha256(spki_der(key)).hexdigest())


def sign(key: ec.EllipticCurvePrivateKey, message: bytes) -> bytes:
    """ECDSA P-256 with SHA-256, DER. The message starts with a context string of its own."""
    return key.sign(message, ec.ECDSA(hashes.SHA256()))


def verify(key: ec.EllipticCurvePublicKey, signature: bytes, message: bytes, what: str) -> None:
    """Check a signature made by `sign`.

    Args:
        key: the signer's public key.
        signature: ECDSA, DER.
        message: what was signed.
        what: what to call the signed thing in an error.

    Raises:
        IntegrityError: the signature is not the key's over this message.
    """
    try:
        key.verify(signature, message, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature as error:
        msg = f"the signature on {what} is wrong"
        raise IntegrityError(msg, "Something changed it on the way: ask for it again.") from error


@dataclass(frozen=True, slots=True)
class HpkeKeyPair:
    """A key pair that receives sealed messages.

    Attributes:
        secret: `HPKE_SECRET_BYTES` bytes; never shown.
    """

    secret: bytes = field(repr=False)

    @classmethod
    def generate(cls) -> HpkeKeyPair:
        """A fresh pair."""
        kem = mlkem.MLKEM768PrivateKey.generate()
        curve = x25519.X25519PrivateKey.generate()
        return cls(kem.private_bytes_raw() + curve.private_bytes_raw())

    @property
    def private_key(self) -> hpke.MLKEM768X25519PrivateKey:
        """The key to open sealed messages with; raises `InvalidDataError` on a wrong secret."""
        return hpke.MLKEM768X25519PrivateKey(*self._parts())

    @property
    def public_bytes(self) -> bytes:
        """The public half, raw; raises `InvalidDataError` on a wrong secret."""
        kem, curve = self._parts()
        return kem.public_key().public_bytes_raw() + curve.public_key().public_bytes_raw()

    def _parts(self) -> tuple[mlkem.MLKEM768PrivateKey, x25519.X25519PrivateKey]:
        if len(self.secret) != HPKE_SECRET_BYTES:
            msg = "that is not an HPKE private key"
            raise InvalidDataError(msg)
        return (
            mlkem.MLKEM768PrivateKey.from_seed_bytes(self.secret[:_MLKEM_SEED_BYTES]),
            x25519.X25519PrivateKey.from_private_bytes(self.secret[_MLKEM_SEED_BYTES:]),
        )


def parse_hpke_public_key(raw: bytes) -> hpke.MLKEM768X25519PublicKey:
    """Read a public key from outside.

    Raises:
        InvalidDataError: wrong length, not a key, or a point to which every secret is the same.
    """
    try:
        kem = mlkem.MLKEM768PublicKey.from_public_bytes(raw[:_MLKEM_PUBLIC_BYTES])
        curve = x25519.X25519PublicKey.from_public_bytes(raw[_MLKEM_PUBLIC_BYTES:])  # 32 bytes
        x25519.X25519PrivateKey.generate().exchange(curve)  # fails for low-order points
    except ValueError as error:
        msg = "that is not an HPKE public key"
        raise InvalidDataError(msg, "Both sides may run different versions of Homing.") from error
    return hpke.MLKEM768X25519PublicKey(kem, curve)


def sign_hpke_key(key: ec.EllipticCurvePrivateKey, hpke_public: bytes) -> bytes:
    """The device key's word that `hpke_public` (raw) is its own."""
    return sign(key, _HPKE_CONTEXT + hpke_public)


def verify_hpke_key(key: ec.EllipticCurvePublicKey, hpke_public: bytes, signature: bytes) -> None:
    """Check an HPKE key from outside and the device key's word for it.

    Raises:
        InvalidDataError: it is no HPKE key.
        IntegrityError: the device key did not sign it.
    """
    parse_hpke_public_key(hpke_public)
    verify(key, signature, _HPKE_CONTEXT + hpke_public, "the device's HPKE key")
