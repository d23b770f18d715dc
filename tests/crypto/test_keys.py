from __future__ import annotations

import pytest
from homing_core.errors import IntegrityError, InvalidDataError
from homing_crypto.keys import (
    HPKE_PUBLIC_KEY_BYTES,
    HPKE_SUITE,
    HpkeKeyPair,
    new_device_key,
    parse_hpke_public_key,
    sign,
    sign_hpke_key,
    verify,
    verify_hpke_key,
)
from hypothesis import given
from hypothesis import strategies as st

KEY = new_device_key()
PAIR = HpkeKeyPair.generate()


def test_what_is_sealed_for_the_public_key_opens_with_the_private_one() -> None:
    kept = HpkeKeyPair(PAIR.secret)
    sealed = HPKE_SUITE.encrypt(b"hello", parse_hpke_public_key(PAIR.public_bytes), b"info")
    assert HPKE_SUITE.decrypt(sealed, kept.private_key, b"info") == b"hello"


def test_a_secret_is_not_shown() -> None:
    assert PAIR.secret.hex() not in repr(PAIR)
    assert repr(PAIR.secret) not in repr(PAIR)


def test_the_device_key_vouches_for_the_hpke_key_and_no_other() -> None:
    signature = sign_hpke_key(KEY, PAIR.public_bytes)
    verify_hpke_key(KEY.public_key(), PAIR.public_bytes, signature)
    with pytest.raises(IntegrityError):
        verify_hpke_key(KEY.public_key(), HpkeKeyPair.generate().public_bytes, signature)
    with pytest.raises(IntegrityError):
        verify_hpke_key(new_device_key().public_key(), PAIR.public_bytes, signature)


def test_a_signature_of_something_else_does_not_vouch_for_an_hpke_key() -> None:
    with pytest.raises(IntegrityError):
        verify_hpke_key(KEY.public_key(), PAIR.public_bytes, sign(KEY, PAIR.public_bytes))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        PAIR.public_bytes[:-1],
        PAIR.public_bytes + b"\x00",
        b"\xff" * HPKE_PUBLIC_KEY_BYTES,
        PAIR.public_bytes[:-32] + bytes(32),
    ],
    ids=["empty", "short", "long", "not a key", "a point that gives no secret"],
)
def test_a_malformed_hpke_key_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidDataError):
        parse_hpke_public_key(raw)


def test_a_malformed_hpke_secret_is_refused() -> None:
    with pytest.raises(InvalidDataError):
        _ = HpkeKeyPair(b"short").public_bytes


@given(st.binary(max_size=100))
def test_random_signatures_are_refused_cleanly(signature: bytes) -> None:
    with pytest.raises(IntegrityError, match="the note"):
        verify(KEY.public_key(), signature, b"message", "the note")
