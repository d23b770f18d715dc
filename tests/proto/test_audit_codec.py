"""The audit log on the wire: back as it was, or refused."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError
from homing_core.audit import Entry, Head, SignedHead
from homing_core.errors import InvalidDataError
from homing_core.ids import DeviceId
from homing_proto.codec.audit import (
    MAX_PAGE,
    decode_entries,
    decode_entry,
    decode_head,
    decode_head_prefix,
    decode_signed_head,
    encode_entry,
    encode_head,
    encode_signed_head,
)
from homing_proto.v1 import audit_pb2 as wire
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import sha256s
from support.wire_strategies import arbitrary

numbers = st.integers(0, (1 << 63) - 1)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
entries = st.builds(
    Entry, numbers.filter(bool), numbers, words, words, words, words, sha256s, sha256s
)
heads = st.builds(Head, numbers, sha256s, numbers)
signed_heads = st.builds(
    SignedHead, sha256s.map(DeviceId), heads, st.binary(min_size=1, max_size=72)
)
HASH = "0a" * 32


@given(entries, signed_heads)
def test_what_is_sent_comes_back_as_it_was(entry: Entry, signed: SignedHead) -> None:
    assert decode_entry(encode_entry(entry)) == entry
    assert decode_head(encode_head(signed.head)) == signed.head
    assert decode_signed_head(encode_signed_head(signed)) == signed


@given(st.one_of(arbitrary(wire.ListEntriesResponse), arbitrary(wire.GetHeadResponse)))
def test_whatever_a_message_holds_is_read_or_refused(
    message: wire.ListEntriesResponse | wire.GetHeadResponse,
) -> None:
    try:
        if isinstance(message, wire.GetHeadResponse):
            assert decode_signed_head(message.signed).head.seq >= 0
        else:
            assert len(decode_entries(message.entries)) == len(message.entries)
    except InvalidDataError as error:
        assert "EVIL" not in str(error)  # noqa: PT017  # what is asserted holds of either outcome


@given(st.binary(max_size=300))
def test_garbage_is_read_or_refused(data: bytes) -> None:
    message = wire.ListEntriesResponse()
    try:
        message.ParseFromString(data)
        found = decode_entries(message.entries)
    except (DecodeError, InvalidDataError):
        found = ()
    assert len(found) <= MAX_PAGE


def entry(**changes: object) -> wire.AuditEntry:
    fields: dict[str, object] = {"seq": 1, "previous": HASH, "hash": HASH} | changes
    return wire.AuditEntry(**fields)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "changes",
    [
        {"seq": 0},
        {"seq": 1 << 63},
        {"at_ms": (1 << 64) - 1},
        {"hash": "0A" * 32},
        {"hash": "x"},
        {"previous": ""},
        {"detail": "x" * 5000},
        {"actor": "a" * 300},
        {"kind": "k" * 300},
        {"device": "d" * 300},
    ],
)
def test_a_malformed_entry_is_refused(changes: dict[str, object]) -> None:
    decode_entry(entry())
    with pytest.raises(InvalidDataError):
        decode_entry(entry(**changes))


def test_a_page_and_a_signature_have_their_limits() -> None:
    with pytest.raises(InvalidDataError):
        decode_entries([entry()] * (MAX_PAGE + 1))
    head = wire.AuditHead(seq=1, hash=HASH)
    with pytest.raises(InvalidDataError):
        decode_signed_head(wire.SignedAuditHead(node=HASH, head=head, signature=bytes(200)))
    with pytest.raises(InvalidDataError):
        decode_signed_head(wire.SignedAuditHead(node="x", head=head))


@pytest.mark.parametrize("digest", ["", "abc", "0A" * 8, "0a" * 33, "zz" * 8])
def test_a_typed_head_needs_sixteen_digits(digest: str) -> None:
    with pytest.raises(InvalidDataError):
        decode_head_prefix(wire.AuditHead(seq=1, hash=digest))
    assert decode_head_prefix(wire.AuditHead(seq=1, hash=HASH[:16])) == Head(1, HASH[:16])
