"""Provenance, places and errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from homing_core.generation import Failed
from homing_core.labels import clean_label
from homing_core.provenance import Origin, Provenance, Sensitivity, Trust
from homing_core.tools import Place

from homing_proto.codec import limits
from homing_proto.codec.fields import EnumTable, encoder, max_chars, readable_line, readable_name
from homing_proto.v1 import common_pb2 as wire

if TYPE_CHECKING:
    from homing_core.errors import HomingError

_CODE = re.compile(rf"[a-z][a-z_]{{0,{limits.MAX_CODE_CHARS - 1}}}")
_MOST_UINT32: Final = (1 << 32) - 1

ORIGINS = EnumTable(
    "origin",
    {
        Origin.PERSON: wire.ORIGIN_PERSON,
        Origin.MODEL: wire.ORIGIN_MODEL,
        Origin.TOOL: wire.ORIGIN_TOOL,
        Origin.DOCUMENT: wire.ORIGIN_DOCUMENT,
        Origin.NETWORK: wire.ORIGIN_NETWORK,
    },
    strictest=Origin.NETWORK,
)
TRUSTS = EnumTable(
    "trust",
    {Trust.TRUSTED: wire.TRUST_TRUSTED, Trust.UNTRUSTED: wire.TRUST_UNTRUSTED},
    strictest=Trust.UNTRUSTED,
)
SENSITIVITIES = EnumTable(
    "sensitivity",
    {
        Sensitivity.PHONE_ONLY: wire.SENSITIVITY_PHONE_ONLY,
        Sensitivity.HOME_ONLY: wire.SENSITIVITY_HOME_ONLY,
        Sensitivity.TRUSTED_PEERS: wire.SENSITIVITY_TRUSTED_PEERS,
        Sensitivity.ANY_PAIRED: wire.SENSITIVITY_ANY_PAIRED,
    },
    strictest=Sensitivity.PHONE_ONLY,
)
PLACES = EnumTable(
    "place",
    {
        Place.PHONE: wire.PLACE_PHONE,
        Place.HOME: wire.PLACE_HOME,
        Place.PEER: wire.PLACE_PEER,
    },
    # The place that gets the least.
    strictest=Place.PEER,
)


def encode_place(value: Place) -> wire.Place:
    """Where something runs."""
    return PLACES.encode(value)


def decode_place(number: int) -> Place:
    """Where something runs; what is not said is read as a peer, which gets the least."""
    return PLACES.decode(number)


def encode_sensitivity(value: Sensitivity) -> wire.Sensitivity:
    """How far content may travel."""
    return SENSITIVITIES.encode(value)


def decode_sensitivity(number: int) -> Sensitivity:
    """How far content may travel; what is not said stays on the phone."""
    return SENSITIVITIES.decode(number)


@encoder
def encode_provenance(value: Provenance) -> wire.Provenance:
    """Origin, trust, sensitivity and source; a longer source is cut, as it is only a label."""
    return wire.Provenance(
        origin=ORIGINS.encode(value.origin),
        trust=TRUSTS.encode(value.trust),
        sensitivity=SENSITIVITIES.encode(value.sensitivity),
        source=readable_name(value.source),
    )


def decode_provenance(message: wire.Provenance) -> Provenance:
    """Raises `InvalidDataError`. An absent one is from the network, untrusted and phone-only."""
    return Provenance(
        origin=ORIGINS.decode(message.origin),
        trust=TRUSTS.decode(message.trust),
        sensitivity=SENSITIVITIES.decode(message.sensitivity),
        source=max_chars(message.source, limits.MAX_NAME_CHARS, "source label"),
    )


def encode_error(error: HomingError) -> wire.Error:
    """An error as a value: name, what, hint and whether to try again; nothing of its cause."""
    return encode_failed(Failed.from_error(error))


def decode_error(message: wire.Error) -> HomingError:
    """The error, ready to raise; a name that this version does not know becomes internal.

    Its lines will be shown to a person, so they are cleaned and cut rather than refused: a bad
    error must not hide that there was one. It never raises.
    """
    return decode_failed(message).to_error()


@encoder
def encode_failed(value: Failed) -> wire.Error:
    """The fields of an error; lines are cut, the delay is clamped."""
    return wire.Error(
        code=value.code if _CODE.fullmatch(value.code) else "internal",
        what=readable_line(value.what),
        hint=readable_line(value.hint),
        retryable=value.retryable,
        retry_after_ms=min(max(int(value.retry_after_ms), 0), _MOST_UINT32),
    )


def decode_failed(message: wire.Error) -> Failed:
    """As `decode_error`, for the event."""
    return Failed(
        code=message.code if _CODE.fullmatch(message.code) else "internal",
        what=clean_label(message.what, limits.MAX_LINE_CHARS, "the other side gave no reason"),
        hint=clean_label(message.hint, limits.MAX_LINE_CHARS, ""),
        retryable=message.retryable,
        retry_after_ms=message.retry_after_ms,
    )
