"""Self-signed device certificates: how ours are made, and how strictly others' are read.

Every choice has a reason. P-256, because gRPC's TLS refuses Ed25519. 1970 to 9999, because a phone
with a wrong clock must still connect; keys are rotated, certificates do not expire. The common name
is the device id and SKI and AKI are present, because two roots of one name without them lock the
second device out. BasicConstraints CA:FALSE and a critical KeyUsage of digitalSignature alone,
because a device could otherwise mint certificates that the roots bundle accepts.
"""

from __future__ import annotations

import datetime as dt
import functools
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID, SignatureAlgorithmOID
from homing_core.errors import InvalidDataError

from homing_crypto.keys import device_id_of, spki_der

if TYPE_CHECKING:
    from homing_core.ids import DeviceId

MAX_CERTIFICATE_BYTES = 1024
"""Ours are about 510 bytes; nothing longer is looked at."""

_NOT_BEFORE = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_NOT_AFTER = dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=dt.UTC)
_CONSTRAINTS = x509.BasicConstraints(ca=False, path_length=None)
_USAGE = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=False,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True, slots=True)
class CheckedCertificate:
    """A certificate that passed `check_certificate`; nothing else makes one.

    Attributes:
        der: the certificate.
        device_id: SHA-256 of its public key; also its common name.
        public_key: P-256.
    """

    der: bytes = field(repr=False)
    device_id: DeviceId
    public_key: ec.EllipticCurvePublicKey = field(repr=False, compare=False)

    @property
    def pem(self) -> bytes:
        """The form in which gRPC takes certificates and roots."""
        certificate = x509.load_der_x509_certificate(self.der)
        return certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def sha256(self) -> bytes:
        """What a pairing link pins: SHA-256 of the whole certificate, 32 bytes."""
        return hashlib.sha256(self.der).digest()

    @property
    def tls_name(self) -> str:
        """The name to expect in TLS (`grpc.ssl_target_name_override`)."""
        return self.device_id


def make_certificate(key: ec.EllipticCurvePrivateKey) -> CheckedCertificate:
    """A self-signed certificate for a device key."""
    public = key.public_key()
    name = _name(device_id_of(public))
    key_id = x509.SubjectKeyIdentifier.from_public_key(public)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_NOT_BEFORE)
        .not_valid_after(_NOT_AFTER)
        .add_extension(_CONSTRAINTS, critical=True)
        .add_extension(_USAGE, critical=True)
        .add_extension(key_id, critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(key_id), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    return check_certificate(certificate.public_bytes(serialization.Encoding.DER))


def check_certificate(der: bytes) -> CheckedCertificate:
    """Read a certificate from outside; accept exactly the form that `make_certificate` makes.

    Args:
        der: the certificate, DER.

    Raises:
        InvalidDataError: it is malformed or differs in any way that matters.
    """
    if len(der) > MAX_CERTIFICATE_BYTES:
        _refuse("it is too long")
    try:
        certificate = x509.load_der_x509_certificate(der)
        return _checked(certificate, der)
    except InvalidDataError:
        raise
    except Exception as error:  # noqa: BLE001  # the parser's ways to fail are an open list
        _refuse("it cannot be read", error)


@functools.lru_cache(maxsize=256)  # each call of a device brings the same; what it says is constant
def check_pem_certificate(pem: bytes) -> CheckedCertificate:
    """The same for PEM, as gRPC hands over the caller's certificate.

    Raises:
        InvalidDataError: as `check_certificate`.
    """
    if len(pem) > 2 * MAX_CERTIFICATE_BYTES:
        _refuse("it is too long")
    try:
        der = x509.load_pem_x509_certificate(pem).public_bytes(serialization.Encoding.DER)
    except Exception as error:  # noqa: BLE001  # the parser's ways to fail are an open list
        _refuse("it cannot be read", error)
    return check_certificate(der)


def _checked(certificate: x509.Certificate, der: bytes) -> CheckedCertificate:
    key = certificate.public_key()
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        _refuse("its key is not P-256")
    device_id = device_id_of(key)
    # One key has one encoding here, so that it cannot come under two ids.
    if spki_der(key) not in certificate.tbs_certificate_bytes:
        _refuse("its key is encoded unusually")
    if certificate.version is not x509.Version.v3:
        _refuse("its version is wrong")
    if certificate.signature_algorithm_oid != SignatureAlgorithmOID.ECDSA_WITH_SHA256:
        _refuse("its signature algorithm is wrong")
    # The parser lets the signature's bit string leave out a last bit that is 0: another encoding.
    if der[-len(certificate.signature) - 1] != 0:
        _refuse("its signature is encoded in another way")
    name = _name(device_id)
    if certificate.subject != name or certificate.issuer != name:
        _refuse("its name is not its device id")
    validity = (certificate.not_valid_before_utc, certificate.not_valid_after_utc)
    if validity != (_NOT_BEFORE, _NOT_AFTER):
        _refuse("its validity is wrong")
    _check_extensions(certificate, key)
    certificate.verify_directly_issued_by(certificate)
    return CheckedCertificate(der, device_id, key)


def _check_extensions(certificate: x509.Certificate, key: ec.EllipticCurvePublicKey) -> None:
    key_id = x509.SubjectKeyIdentifier.from_public_key(key)
    expected: tuple[tuple[x509.ExtensionType, bool], ...] = (
        (_CONSTRAINTS, True),
        (_USAGE, True),
        (key_id, False),
        (x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(key_id), False),
    )
    found = [(extension.value, extension.critical) for extension in certificate.extensions]
    if len(found) != len(expected) or any(item not in found for item in expected):
        _refuse("its extensions are wrong")


def _name(device_id: DeviceId) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, device_id)])


def _refuse(reason: str, cause: Exception | None = None) -> NoReturn:
    msg = f"that is not a device certificate: {reason}"
    raise InvalidDataError(msg, "Both sides may run different versions of Homing.") from cause
