"""Pairing by a link, on both sides' wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.pairing import PairAnswer, PairAttempt

from homing_proto.codec import limits
from homing_proto.codec.access import (
    decode_device_role,
    decode_scopes,
    encode_device_role,
    encode_scopes,
)
from homing_proto.codec.fields import encoder, max_chars, max_items
from homing_proto.v1 import devices_pb2 as wire

if TYPE_CHECKING:
    from collections.abc import Collection


@encoder
def encode_pair_attempt(value: PairAttempt) -> wire.PairRequest:
    """What a device sends."""
    return wire.PairRequest(
        version=value.version,
        certificate_der=value.certificate_der,
        hpke_public_key=value.hpke_public_key,
        hpke_signature=value.hpke_signature,
        name=value.name,
        nonce=value.nonce,
        proof=value.proof,
        link_id=value.link_id,
    )


def decode_pair_attempt(message: wire.PairRequest) -> PairAttempt:
    """As it was sent: the pairing machine checks every field of it."""
    return PairAttempt(
        link_id=message.link_id,
        certificate_der=message.certificate_der,
        hpke_public_key=message.hpke_public_key,
        hpke_signature=message.hpke_signature,
        name=message.name,
        nonce=message.nonce,
        proof=message.proof,
        version=message.version,
    )


@encoder
def encode_pair_answer(value: PairAnswer) -> wire.PairResponse:
    """What the node answers."""
    return wire.PairResponse(
        certificate_der=value.certificate_der,
        hpke_public_key=value.hpke_public_key,
        hpke_signature=value.hpke_signature,
        name=value.name,
        role=encode_device_role(value.role),
        scopes=encode_scopes(value.scopes),
        addresses=value.addresses,
        proof=value.proof,
    )


def decode_pair_answer(message: wire.PairResponse) -> PairAnswer:
    """Raises `InvalidDataError`. Its name and addresses are as they were sent, for the proof."""
    return PairAnswer(
        certificate_der=message.certificate_der,
        hpke_public_key=message.hpke_public_key,
        hpke_signature=message.hpke_signature,
        name=message.name,
        role=decode_device_role(message.role),
        scopes=decode_scopes(message.scopes),
        addresses=bounded_addresses(message.addresses),
        proof=message.proof,
    )


def bounded_addresses(texts: Collection[str]) -> tuple[str, ...]:
    """The addresses of an answer; raises `InvalidDataError` if they are absurdly many or long."""
    max_items(texts, limits.MAX_NODE_ADDRESSES, "addresses")
    return tuple(max_chars(text, limits.MAX_ADDRESS_CHARS, "address") for text in texts)
