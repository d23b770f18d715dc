"""Certificates that are not as they should be."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey

_USAGE = {
    "digital_signature": True,
    "content_commitment": False,
    "key_encipherment": False,
    "data_encipherment": False,
    "key_agreement": False,
    "key_cert_sign": False,
    "crl_sign": False,
    "encipher_only": False,
    "decipher_only": False,
}


@dataclass(frozen=True)
class Recipe:
    """A certificate to make; each default is what Homing itself does, but for the name."""

    key: PrivateKey
    common_name: str
    issuer_name: str = ""
    signer: PrivateKey | None = None
    not_before: dt.datetime = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    not_after: dt.datetime = dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=dt.UTC)
    authority: bool = False
    constraints_critical: bool = True
    usage_critical: bool = True
    cert_sign: bool = False
    key_ids: bool = True
    extra: tuple[x509.ExtensionType, ...] = ()
    digest: hashes.SHA256 | hashes.SHA384 | None = field(default_factory=hashes.SHA256)

    def make(self) -> x509.Certificate:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self.common_name)])
        issuer = x509.Name(
            [x509.NameAttribute(NameOID.COMMON_NAME, self.issuer_name or self.common_name)]
        )
        signer = self.signer or self.key
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self.not_before)
            .not_valid_after(self.not_after)
            .add_extension(
                x509.BasicConstraints(ca=self.authority, path_length=None),
                critical=self.constraints_critical,
            )
            .add_extension(
                x509.KeyUsage(**_USAGE | {"key_cert_sign": self.cert_sign}),
                critical=self.usage_critical,
            )
        )
        if self.key_ids:
            builder = builder.add_extension(
                x509.SubjectKeyIdentifier.from_public_key(self.key.public_key()), critical=False
            ).add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()),
                critical=False,
            )
        for extension in self.extra:
            builder = builder.add_extension(extension, critical=False)
        return builder.sign(signer, self.digest)

    def der(self) -> bytes:
        return self.make().public_bytes(serialization.Encoding.DER)

    def pem(self) -> bytes:
        return self.make().public_bytes(serialization.Encoding.PEM)


def key_pem(key: PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
