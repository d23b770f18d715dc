"""Keys that are replaced, on the wire. Signatures are not checked here (see `homing_crypto`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_core.ids import parse_device_id
from homing_core.keys import KeyChange, KeyProtection, NodeKnows, OwnKey
from homing_core.labels import clean_label

from homing_proto.codec import limits
from homing_proto.codec.fields import (
    EnumTable,
    encoder,
    max_items,
    optional_device,
    readable_line,
    readable_name,
    refuse,
)
from homing_proto.v1 import keys_pb2 as wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_CERTIFICATE_BYTES: Final = 1024
MAX_HPKE_KEY_BYTES: Final = 4096
"""Ours are 1,216 bytes."""
MAX_OWN_KEYS: Final = 64
MAX_NODES: Final = 1024

_PROTECTION: EnumTable[KeyProtection, wire.KeyProtection] = EnumTable(
    "protection of the keys",
    {
        KeyProtection.UNKNOWN: wire.KEY_PROTECTION_UNSPECIFIED,
        KeyProtection.FILE: wire.KEY_PROTECTION_FILE,
        KeyProtection.PASSPHRASE: wire.KEY_PROTECTION_PASSPHRASE,
        KeyProtection.KEYRING: wire.KEY_PROTECTION_KEYRING,
    },
    strictest=KeyProtection.UNKNOWN,
)


@encoder
def encode_key_change(value: KeyChange) -> wire.KeyChange:
    """A new key and what speaks for it."""
    return wire.KeyChange(
        certificate_der=value.certificate_der,
        hpke_public_key=value.hpke_public_key,
        hpke_signature=value.hpke_signature,
        old_signature=value.old_signature,
        new_signature=value.new_signature,
    )


def decode_key_change(message: wire.KeyChange) -> KeyChange:
    """Raises `InvalidDataError`: a part is missing or too long."""
    return KeyChange(
        certificate_der=_part(message.certificate_der, MAX_CERTIFICATE_BYTES, "certificate"),
        hpke_public_key=_part(message.hpke_public_key, MAX_HPKE_KEY_BYTES, "HPKE key"),
        hpke_signature=_part(message.hpke_signature, limits.MAX_SIGNATURE_BYTES, "signature"),
        old_signature=_part(message.old_signature, limits.MAX_SIGNATURE_BYTES, "signature"),
        new_signature=_part(message.new_signature, limits.MAX_SIGNATURE_BYTES, "signature"),
    )


@encoder
def encode_own_keys(values: Iterable[OwnKey]) -> list[wire.OwnKey]:
    """A device's own keys."""
    return [
        wire.OwnKey(
            device_id=key.id,
            created_at=key.created_at,
            replaced_at=key.replaced_at,
            ends_at=key.ends_at,
        )
        for key in values
    ]


def decode_own_keys(messages: Sequence[wire.OwnKey]) -> tuple[OwnKey, ...]:
    """Raises `InvalidDataError`."""
    max_items(messages, MAX_OWN_KEYS, "keys")
    return tuple(
        OwnKey(
            parse_device_id(message.device_id),
            message.created_at,
            message.replaced_at,
            message.ends_at,
        )
        for message in messages
    )


@encoder
def encode_nodes_know(values: Iterable[NodeKnows]) -> list[wire.NodeKnows]:
    """Which node knows which key."""
    return [
        wire.NodeKnows(
            node_id=one.node,
            name=readable_name(one.name),
            known_as=one.known_as,
            problem=readable_line(one.problem),
        )
        for one in values
    ]


def decode_nodes_know(messages: Sequence[wire.NodeKnows]) -> tuple[NodeKnows, ...]:
    """Raises `InvalidDataError`. Names and problems are cleaned: people will read them."""
    max_items(messages, MAX_NODES, "nodes")
    return tuple(
        NodeKnows(
            parse_device_id(message.node_id),
            clean_label(message.name),
            optional_device(message.known_as),
            clean_label(message.problem, limits.MAX_LINE_CHARS, fallback=""),
        )
        for message in messages
    )


def encode_protection(value: KeyProtection) -> wire.KeyProtection:
    """How keys are protected."""
    return _PROTECTION.encode(value)


def decode_protection(number: int) -> KeyProtection:
    """UNKNOWN for what this version does not know."""
    return _PROTECTION.decode(number)


def _part(raw: bytes, most: int, what: str) -> bytes:
    if not 0 < len(raw) <= most:
        refuse(f"the {what} of the new key is missing or too long")
    return raw
