"""Sealed letters: what is refused, and that the form is the documented one."""

from __future__ import annotations

import dataclasses
import hashlib
import struct
from typing import TYPE_CHECKING, Any

import pytest
from homing_core.errors import HomingError, InvalidDataError, RefusedError, TooLongError
from homing_core.ids import DeviceId
from homing_crypto import letter as form
from homing_crypto.keys import HPKE_SUITE, parse_hpke_public_key, verify
from homing_crypto.letter import Letter
from homing_crypto.mailbox import Cursor, Opened, Recipient, open_letter, seal_letter
from homing_crypto.testing import throwaway_identity
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from homing_crypto.identity import DeviceIdentity

NOW = 1_800_000_000.0
ANN, BOB, EVE = throwaway_identity(), throwaway_identity(), throwaway_identity()
KIND = "job.result"
kinds = st.text("abcdefghijklmnopqrstuvwxyz0123456789._-", min_size=1, max_size=64)


def address(identity: DeviceIdentity) -> Recipient:
    return Recipient(identity.certificate, identity.hpke.public_bytes)


def sealed(**changes: object) -> bytes:
    fields: dict[str, Any] = {
        "sender": ANN,
        "recipient": address(BOB),
        "kind": KIND,
        "sequence": 1,
        "expires_at": NOW + 60,
        "now": NOW,
        "payload": b"forty-two",
    } | changes
    return seal_letter(fields.pop("sender"), fields.pop("recipient"), **fields)


def opened(blob: bytes, **changes: object) -> Opened:
    fields: dict[str, Any] = {
        "recipient": BOB,
        "sender": ANN.certificate,
        "kind": KIND,
        "now": NOW,
        "cursor": Cursor(),
    } | changes
    return open_letter(fields.pop("recipient"), fields.pop("sender"), blob, **fields)


@given(
    payload=st.binary(max_size=3000),
    kind=kinds,
    sequence=st.integers(1, form.MAX_SEQUENCE),
    lives_ms=st.integers(1, 90 * 86_400_000),
)
def test_what_is_sealed_is_what_is_opened(
    payload: bytes, kind: str, sequence: int, lives_ms: int
) -> None:
    expires = (int(NOW * 1000) + lives_ms) / 1000
    blob = sealed(payload=payload, kind=kind, sequence=sequence, expires_at=expires)
    found = opened(blob, kind=kind)
    assert found.letter == Letter(ANN.device_id, BOB.device_id, kind, sequence, expires, payload)
    assert found.missed == sequence - 1


def test_the_largest_letter_and_one_more_byte() -> None:
    most = bytes(form.MAX_PAYLOAD_BYTES)
    assert opened(sealed(payload=most)).letter.payload == most
    with pytest.raises(TooLongError):
        sealed(payload=most + b"\x00")


SMALL = sealed()


@given(bit=st.integers(0, len(SMALL) * 8 - 1))
def test_any_flipped_bit_is_refused(bit: int) -> None:
    altered = bytearray(SMALL)
    altered[bit // 8] ^= 1 << bit % 8
    with pytest.raises(HomingError):
        opened(bytes(altered))


@given(size=st.integers(0, len(SMALL) - 1), more=st.binary(min_size=1, max_size=40))
def test_a_letter_cut_short_or_made_longer_is_refused(size: int, more: bytes) -> None:
    for blob in (SMALL[:size], SMALL + more):
        with pytest.raises(HomingError):
            opened(blob)


@given(st.binary(max_size=2500))
def test_garbage_is_refused(data: bytes) -> None:
    for blob in (data, b"HML1" + data):
        with pytest.raises(HomingError):
            opened(blob)


@pytest.mark.parametrize(
    "changes",
    [
        {"recipient": EVE},
        {"sender": EVE.certificate},
        {"kind": "wake"},
        {"sender": BOB.certificate},
    ],
    ids=["another-recipient", "another-sender", "another-kind", "from-itself"],
)
def test_it_opens_only_as_what_it_is(changes: dict[str, Any]) -> None:
    with pytest.raises(HomingError):
        opened(SMALL, **changes)


def _sealed_to(recipient: DeviceIdentity, plain: bytes) -> bytes:
    """What anybody can do: HPKE names no sender."""
    info = (
        b"homing mailbox v1\x00"
        + bytes.fromhex(ANN.device_id)
        + bytes.fromhex(recipient.device_id)
        + KIND.encode()
    )
    key = parse_hpke_public_key(recipient.hpke.public_bytes)
    return b"HML1" + HPKE_SUITE.encrypt(plain, key, info)


def _plain(blob: bytes, recipient: DeviceIdentity) -> bytes:
    info = (
        b"homing mailbox v1\x00"
        + bytes.fromhex(ANN.device_id)
        + bytes.fromhex(recipient.device_id)
        + KIND.encode()
    )
    return HPKE_SUITE.decrypt(blob[4:], recipient.hpke.private_key, info)


@pytest.mark.attack
def test_a_letter_cannot_be_passed_on_as_if_it_were_for_somebody_else() -> None:
    # Bob opens Ann's letter and seals the same signed words to Eve, as they are and readdressed.
    plain = _plain(SMALL, BOB)
    readdressed = plain.replace(bytes.fromhex(BOB.device_id), bytes.fromhex(EVE.device_id))
    assert readdressed != plain
    for words in (plain, readdressed):
        with pytest.raises(HomingError):
            opened(_sealed_to(EVE, words), recipient=EVE)
    assert opened(_sealed_to(BOB, plain)).letter.payload == b"forty-two"  # the check itself works


@pytest.mark.attack
def test_a_letter_that_nobody_signed_is_refused() -> None:
    forged = Letter(ANN.device_id, BOB.device_id, KIND, 1, NOW + 60, b"send money")
    body = form.body_of(forged)
    signature = EVE.sign(form.signed_bytes(body, BOB.hpke.public_bytes))
    with pytest.raises(HomingError, match="signature"):
        opened(_sealed_to(BOB, form.join(signature, body)))


def test_another_hpke_key_of_the_same_device_does_not_fit() -> None:
    body = form.body_of(Letter(ANN.device_id, BOB.device_id, KIND, 1, NOW + 60, b""))
    signature = ANN.sign(form.signed_bytes(body, EVE.hpke.public_bytes))
    with pytest.raises(HomingError, match="signature"):
        opened(_sealed_to(BOB, form.join(signature, body)))


@given(data=st.data())
def test_a_signed_letter_in_another_form_is_refused(data: st.DataObject) -> None:
    plain = bytearray(_plain(SMALL, BOB))
    at = data.draw(st.integers(0, len(plain) - 1))
    plain[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(HomingError):
        opened(_sealed_to(BOB, bytes(plain)))


@given(st.binary(max_size=1200))
def test_garbage_under_a_good_seal_is_refused(data: bytes) -> None:
    for plain in (data, data.ljust(512, b"\x00")[:512], b"\x01" + data):
        with pytest.raises(HomingError):
            opened(_sealed_to(BOB, plain))


@pytest.mark.attack
def test_a_letter_sent_again_or_late_is_refused() -> None:
    first, second = sealed(), sealed(sequence=2)
    cursor = opened(second).cursor
    for blob in (first, second):
        with pytest.raises(RefusedError, match="read already"):
            opened(blob, cursor=cursor)
    assert opened(sealed(sequence=3), cursor=cursor).missed == 0
    assert opened(sealed(sequence=9), cursor=cursor).missed == 6


def test_counting_is_by_sender_and_kind() -> None:
    cursor = opened(sealed(sequence=5)).cursor
    other_kind = opened(sealed(kind="wake"), kind="wake", cursor=cursor)
    assert other_kind.missed == 0
    from_eve = opened(sealed(sender=EVE), sender=EVE.certificate, cursor=other_kind.cursor)
    assert dict(from_eve.cursor.highest) == {
        (ANN.device_id, KIND): 5,
        (ANN.device_id, "wake"): 1,
        (EVE.device_id, KIND): 1,
    }


def test_a_sender_with_a_new_key_goes_on_counting() -> None:
    cursor = opened(sealed(sequence=5)).cursor.renamed(ANN.device_id, EVE.device_id)
    cursor = cursor.renamed(ANN.device_id, EVE.device_id)
    with pytest.raises(RefusedError):
        opened(sealed(sender=EVE, sequence=5), sender=EVE.certificate, cursor=cursor)
    assert opened(sealed(sender=EVE, sequence=6), sender=EVE.certificate, cursor=cursor).missed == 0


@pytest.mark.attack
@pytest.mark.parametrize("now", [NOW + 60, NOW + 1e9, 0.0, float("nan"), float("inf"), -1e18])
def test_a_letter_past_its_end_or_under_a_wrong_clock_is_refused(now: float) -> None:
    with pytest.raises(RefusedError):
        opened(SMALL, now=now)


@pytest.mark.parametrize(
    "changes",
    [
        {"expires_at": NOW},
        {"expires_at": NOW + 91 * 86_400},
        {"expires_at": float("nan")},
        {"expires_at": float("inf"), "now": float("inf")},
        {"sequence": 0},
        {"sequence": form.MAX_SEQUENCE + 1},
        {"kind": ""},
        {"kind": "Job"},
        {"kind": "a" * 65},
        {"kind": "a\n"},
        {"recipient": dataclasses.replace(address(BOB), hpke_public_key=b"\x00" * 1216)},
    ],
)
def test_what_nobody_could_open_is_not_sealed(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidDataError):
        sealed(**changes)


def test_sizes_say_little() -> None:
    sizes = {len(sealed(payload=bytes(size))) for size in range(0, 200, 7)}
    assert len(sizes) == 1
    steps = {len(sealed(payload=bytes(size))) for size in (0, 500, 1500, 3000, 6000)}
    assert [size - 1140 for size in sorted(steps)] == [512, 1024, 2048, 4096, 8192]


def test_the_form_is_the_documented_one() -> None:
    """Read with nothing but the library and the documentation of `letter`."""
    plain = _plain(SMALL, BOB)
    assert plain[0] == 1
    (size,) = struct.unpack(">H", plain[1:3])
    signature, rest = plain[3 : 3 + size], plain[3 + size :]
    assert rest[:32] == bytes.fromhex(ANN.device_id)
    assert rest[32:64] == bytes.fromhex(BOB.device_id)
    assert rest[64:75] == b"\x0ajob.result"
    assert struct.unpack(">QQI", rest[75:95]) == (1, int((NOW + 60) * 1000), 9)
    assert rest[95:104] == b"forty-two"
    assert set(rest[104:]) == {0}
    assert len(plain) == 512
    key_hash = hashlib.sha256(BOB.hpke.public_bytes).digest()
    signed = b"homing letter v1\x00" + key_hash + b"\x01" + rest[:104]
    verify(ANN.certificate.public_key, signature, signed, "the letter")


def test_a_letter_made_from_the_documentation_opens() -> None:
    """Written with nothing but the library and the documentation of `letter`."""
    body = (
        bytes.fromhex(ANN.device_id)
        + bytes.fromhex(BOB.device_id)
        + b"\x0ajob.result"
        + struct.pack(">QQI", 7, int((NOW + 60) * 1000), 2)
        + b"hi"
    )
    key_hash = hashlib.sha256(BOB.hpke.public_bytes).digest()
    signature = ANN.sign(b"homing letter v1\x00" + key_hash + b"\x01" + body)
    plain = (b"\x01" + struct.pack(">H", len(signature)) + signature + body).ljust(512, b"\x00")
    letter = opened(_sealed_to(BOB, plain)).letter
    assert letter == Letter(
        DeviceId(ANN.device_id), DeviceId(BOB.device_id), KIND, 7, NOW + 60, b"hi"
    )


def test_nothing_of_a_letter_is_shown() -> None:
    assert "forty-two" not in repr(opened(SMALL))
