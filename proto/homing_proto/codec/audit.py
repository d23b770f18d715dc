"""The audit log on the wire. Hashes are checked elsewhere; here it is form and size."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from homing_core.audit import Entry, Head, SignedHead
from homing_core.ids import parse_device_id

from homing_proto.codec import limits
from homing_proto.codec.fields import (
    encoder,
    max_bytes,
    max_chars,
    max_items,
    positive,
    readable,
    refuse,
    sha256_hex,
)
from homing_proto.v1 import audit_pb2 as wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_PAGE: Final = 500
"""Entries in one message."""
MAX_DETAIL_BYTES: Final = 4096
"""UTF-8 bytes of an entry's further facts; nodes write half of it at most."""
_TYPED_HASH: Final = re.compile(r"[0-9a-f]{16,64}")
_MOST_NUMBER: Final = (1 << 63) - 1
"""SQLite's, too."""


@encoder
def encode_entry(value: Entry) -> wire.AuditEntry:
    """One entry. A word that was altered on disk into what has no form is made readable."""
    return wire.AuditEntry(
        seq=value.seq,
        at_ms=value.at_ms,
        kind=readable(value.kind),
        actor=readable(value.actor),
        device=readable(value.device),
        detail=readable(value.detail),
        previous=readable(value.previous),
        hash=readable(value.hash),
    )


def decode_entry(message: wire.AuditEntry) -> Entry:
    """Raises `InvalidDataError`. Its words are as they were hashed: clean them before showing."""
    return Entry(
        seq=_number(positive(message.seq, "number of the entry"), "number of the entry"),
        at_ms=_number(message.at_ms, "time of the entry"),
        kind=max_chars(message.kind, limits.MAX_NAME_CHARS, "kind of the entry"),
        actor=max_chars(message.actor, limits.MAX_NAME_CHARS, "actor of the entry"),
        device=max_chars(message.device, limits.MAX_NAME_CHARS, "device of the entry"),
        detail=max_bytes(message.detail, MAX_DETAIL_BYTES, "detail of the entry"),
        previous=sha256_hex(message.previous, "hash of the entry before"),
        hash=sha256_hex(message.hash, "hash of the entry"),
    )


def decode_entries(messages: Sequence[wire.AuditEntry]) -> tuple[Entry, ...]:
    """A page; raises `InvalidDataError`."""
    max_items(messages, MAX_PAGE, "entries in one page")
    return tuple(map(decode_entry, messages))


def encode_entries(values: Iterable[Entry]) -> list[wire.AuditEntry]:
    """A page."""
    return [encode_entry(value) for value in values]


@encoder
def encode_head(value: Head) -> wire.AuditHead:
    """A point of the record."""
    return wire.AuditHead(seq=value.seq, hash=value.hash, at_ms=value.at_ms)


def decode_head(message: wire.AuditHead) -> Head:
    """A whole head; raises `InvalidDataError`."""
    return Head(
        seq=_number(message.seq, "number of the head"),
        hash=sha256_hex(message.hash, "hash of the head"),
        at_ms=_number(message.at_ms, "time of the head"),
    )


def decode_head_prefix(message: wire.AuditHead) -> Head:
    """A head whose hash may be cut, as a person typed it; raises `InvalidDataError`."""
    if not _TYPED_HASH.fullmatch(message.hash):
        refuse("the hash of the head is not 16 to 64 lower-case hex digits")
    return Head(_number(message.seq, "number of the head"), message.hash)


@encoder
def encode_signed_head(value: SignedHead) -> wire.SignedAuditHead:
    """A head with its signature."""
    return wire.SignedAuditHead(
        node=value.node, head=encode_head(value.head), signature=value.signature
    )


def decode_signed_head(message: wire.SignedAuditHead) -> SignedHead:
    """Raises `InvalidDataError`; whether the signature is right is another question."""
    if len(message.signature) > limits.MAX_SIGNATURE_BYTES:
        refuse("the signature of the head is too long")
    return SignedHead(
        node=parse_device_id(message.node),
        head=decode_head(message.head),
        signature=message.signature,
    )


def _number(number: int, what: str) -> int:
    if number > _MOST_NUMBER:
        refuse(f"the {what} is too large")
    return number
