from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from homing_core.errors import InvalidDataError
from homing_crypto.certificates import (
    MAX_CERTIFICATE_BYTES,
    check_certificate,
    check_pem_certificate,
    make_certificate,
)
from homing_crypto.keys import device_id_of, new_device_key, spki_der
from hypothesis import given
from hypothesis import strategies as st
from support.certs import Recipe

KEY = new_device_key()
ID = device_id_of(KEY.public_key())
GOOD = make_certificate(KEY)
RECIPE = Recipe(KEY, ID)
LATER = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


def test_the_device_id_is_the_hash_of_the_public_key() -> None:
    assert hashlib.sha256(spki_der(KEY.public_key())).hexdigest() == GOOD.device_id
    assert GOOD.sha256 == hashlib.sha256(GOOD.der).digest()


def test_a_certificate_is_made_as_the_transport_needs_it() -> None:
    certificate = x509.load_der_x509_certificate(GOOD.der)
    extensions = certificate.extensions
    constraints = extensions.get_extension_for_class(x509.BasicConstraints)
    usage = extensions.get_extension_for_class(x509.KeyUsage)
    assert constraints.critical
    assert not constraints.value.ca
    assert usage.critical
    assert usage.value.digital_signature
    assert not usage.value.key_cert_sign
    key_id = extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    authority = extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    assert authority.key_identifier == key_id
    assert certificate.not_valid_before_utc.year == 1970
    assert certificate.not_valid_after_utc.year == 9999
    assert certificate.subject == certificate.issuer
    assert GOOD.tls_name == GOOD.device_id


def test_der_and_pem_read_back_to_the_same_device() -> None:
    assert check_certificate(GOOD.der) == GOOD
    assert check_pem_certificate(GOOD.pem) == GOOD


def test_an_equal_recipe_is_accepted_so_that_the_wrong_ones_below_fail_for_their_reason() -> None:
    assert check_certificate(RECIPE.der()).device_id == ID


OTHER = new_device_key()
WRONG = {
    "a certificate authority": dataclasses.replace(RECIPE, authority=True),
    "may sign certificates": dataclasses.replace(RECIPE, cert_sign=True),
    "constraints not critical": dataclasses.replace(RECIPE, constraints_critical=False),
    "usage not critical": dataclasses.replace(RECIPE, usage_critical=False),
    "no key ids": dataclasses.replace(RECIPE, key_ids=False),
    "another name": dataclasses.replace(RECIPE, common_name="f" * 64),
    "another issuer": dataclasses.replace(RECIPE, issuer_name="f" * 64),
    "signed by another": dataclasses.replace(RECIPE, signer=OTHER),
    "minted": dataclasses.replace(
        RECIPE, signer=OTHER, issuer_name=device_id_of(OTHER.public_key())
    ),
    "starts later": dataclasses.replace(RECIPE, not_before=LATER),
    "ends": dataclasses.replace(RECIPE, not_after=LATER),
    "another digest": dataclasses.replace(RECIPE, digest=hashes.SHA384()),
    "one extension more": dataclasses.replace(
        RECIPE, extra=(x509.SubjectAlternativeName([x509.DNSName("node")]),)
    ),
    "another curve": Recipe(ec.generate_private_key(ec.SECP384R1()), ID),
    "ed25519": Recipe(ed25519.Ed25519PrivateKey.generate(), ID, digest=None),
    "rsa": Recipe(rsa.generate_private_key(65537, 2048), ID),
}


@pytest.mark.parametrize("name", WRONG)
def test_any_other_form_is_refused(name: str) -> None:
    with pytest.raises(InvalidDataError, match="not a device certificate"):
        check_certificate(WRONG[name].der())


def test_trailing_bytes_and_size_are_refused() -> None:
    with pytest.raises(InvalidDataError):
        check_certificate(GOOD.der + b"\x00")
    with pytest.raises(InvalidDataError, match="too long"):
        check_certificate(b"\x30" * (MAX_CERTIFICATE_BYTES + 1))
    with pytest.raises(InvalidDataError, match="too long"):
        check_pem_certificate(b"x" * (2 * MAX_CERTIFICATE_BYTES + 1))


@pytest.mark.attack
def test_a_compressed_key_does_not_come_under_a_second_id() -> None:
    point = KEY.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )
    short = KEY.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint
    )
    assert point in GOOD.der
    with pytest.raises(InvalidDataError):
        check_certificate(GOOD.der.replace(point, short))


@given(st.binary(max_size=MAX_CERTIFICATE_BYTES))
def test_random_bytes_are_refused_cleanly(raw: bytes) -> None:
    with pytest.raises(InvalidDataError):
        check_certificate(raw)
    with pytest.raises(InvalidDataError):
        check_pem_certificate(raw)


def test_a_signature_that_leaves_out_a_bit_is_another_encoding() -> None:
    for _ in range(16):  # of any key's signatures half end in a bit that is 0
        der = bytearray(make_certificate(KEY).der)
        length = len(x509.load_der_x509_certificate(bytes(der)).signature)
        der[-length - 1] = 1
        with pytest.raises(InvalidDataError):
            check_certificate(bytes(der))


@given(st.integers(0, len(GOOD.der) - 1), st.integers(1, 255))
def test_one_changed_byte_is_refused_cleanly(place: int, change: int) -> None:
    altered = bytearray(GOOD.der)
    altered[place] ^= change
    with pytest.raises(InvalidDataError):
        check_certificate(bytes(altered))


@given(st.integers(0, len(GOOD.der) - 1))
def test_a_truncated_certificate_is_refused_cleanly(length: int) -> None:
    with pytest.raises(InvalidDataError):
        check_certificate(GOOD.der[:length])
    with pytest.raises(InvalidDataError):
        check_pem_certificate(GOOD.pem[: length % len(GOOD.pem)])
