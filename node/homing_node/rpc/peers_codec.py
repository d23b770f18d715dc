"""Introductions and what peers answer, on the wire. Sizes are held here, meaning elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.addresses import parse_address
from homing_core.errors import InvalidDataError
from homing_core.ids import DeviceId, parse_device_id
from homing_crypto.certificates import MAX_CERTIFICATE_BYTES
from homing_crypto.introductions import MAX_DEVICES, Introduction
from homing_crypto.keys import HPKE_PUBLIC_KEY_BYTES
from homing_crypto.pairing.proof import MAX_ADDRESSES, MAX_NAME
from homing_proto.codec import limits
from homing_proto.codec.access import decode_limits, decode_scopes, encode_limits, encode_scopes
from homing_proto.codec.common import decode_error, encode_error
from homing_proto.codec.fields import max_chars, max_items, refuse
from homing_proto.v1 import devices_pb2 as wire

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from homing_core.errors import HomingError
    from homing_crypto.pushes import Taken

_MOST: Final = MAX_DEVICES


@dataclass(frozen=True, slots=True)
class PushAnswer:
    """What a peer says to a push.

    Attributes:
        accepted: whom it knows now.
        refused: whom it did not take, and why.
        addresses: where it is reached now, `host:port`, best first; hints.
        serial: the highest that it has had from this home; above the push's, nothing was done.
    """

    accepted: frozenset[DeviceId]
    refused: tuple[tuple[DeviceId, HomingError], ...]
    addresses: tuple[str, ...]
    serial: int


def encode_introduction(value: Introduction) -> wire.Introduction:
    """One device that a home vouches for."""
    return wire.Introduction(
        home_id=value.home_id,
        peer_id=value.peer_id,
        device_id=value.device_id,
        certificate_der=value.certificate_der,
        hpke_public_key=value.hpke_public_key,
        hpke_signature=value.hpke_signature,
        name=value.name,
        scopes=encode_scopes(value.scopes),
        limits=encode_limits(value.limits),
        lease_expires_at=value.lease_expires_at,
        serial=value.serial,
        signature=value.signature,
    )


def decode_introductions(messages: Collection[wire.Introduction]) -> tuple[Introduction, ...]:
    """Raises `InvalidDataError`. Nothing is verified here (see `homing_crypto.introductions`)."""
    max_items(messages, _MOST, "introductions")
    return tuple(map(_introduction, messages))


def _introduction(message: wire.Introduction) -> Introduction:
    _short(message.certificate_der, MAX_CERTIFICATE_BYTES, "certificate")
    _short(message.hpke_public_key, HPKE_PUBLIC_KEY_BYTES, "HPKE key")
    for signature in (message.hpke_signature, message.signature):
        _short(signature, limits.MAX_SIGNATURE_BYTES, "signature")
    return Introduction(
        home_id=parse_device_id(message.home_id),
        peer_id=parse_device_id(message.peer_id),
        device_id=parse_device_id(message.device_id),
        certificate_der=message.certificate_der,
        hpke_public_key=message.hpke_public_key,
        hpke_signature=message.hpke_signature,
        name=max_chars(message.name, MAX_NAME, "name"),
        scopes=decode_scopes(message.scopes),
        limits=decode_limits(message.limits),
        lease_expires_at=message.lease_expires_at,
        serial=message.serial,
        signature=message.signature,
    )


def decode_device_ids(texts: Collection[str]) -> tuple[DeviceId, ...]:
    """Raises `InvalidDataError`."""
    max_items(texts, _MOST, "devices")
    return tuple(map(parse_device_id, texts))


def encode_taken(taken: Taken, addresses: Iterable[str]) -> wire.PushIntroductionsResponse:
    """What came of a push."""
    return wire.PushIntroductionsResponse(
        accepted=[device.id for device in taken.accepted],
        refusals=[
            wire.RefusedIntroduction(device_id=device_id, error=encode_error(error))
            for device_id, error in taken.refused
        ],
        addresses=tuple(addresses)[:MAX_ADDRESSES],
        serial=taken.serial,
    )


def decode_push_answer(message: wire.PushIntroductionsResponse) -> PushAnswer:
    """Raises `InvalidDataError`. An address that cannot be read is left out."""
    max_items(message.accepted, 2 * _MOST, "devices")
    max_items(message.refusals, 2 * _MOST, "refusals")
    max_items(message.addresses, 2 * MAX_ADDRESSES, "addresses")
    return PushAnswer(
        frozenset(map(parse_device_id, message.accepted)),
        tuple(
            (parse_device_id(one.device_id), decode_error(one.error)) for one in message.refusals
        ),
        _readable(message.addresses),
        message.serial,
    )


def _readable(texts: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for text in texts:
        try:
            address = parse_address(text, error=InvalidDataError)
        except InvalidDataError:
            continue
        if "%" not in address.host:  # a zone means something there only
            found[str(address)] = None
    return tuple(found)[:MAX_ADDRESSES]


def _short(raw: bytes, most: int, what: str) -> None:
    if len(raw) > most:
        refuse(f"the {what} is longer than {most} bytes")
