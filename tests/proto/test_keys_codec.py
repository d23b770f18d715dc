"""Keys on the wire: what goes in comes out, and what is malformed does not."""

from __future__ import annotations

import pytest
from homing_core.errors import InvalidDataError
from homing_core.ids import DeviceId
from homing_core.keys import KeyChange, KeyProtection, NodeKnows, OwnKey
from homing_proto.codec.keys import (
    MAX_CERTIFICATE_BYTES,
    MAX_NODES,
    MAX_OWN_KEYS,
    decode_key_change,
    decode_nodes_know,
    decode_own_keys,
    decode_protection,
    encode_key_change,
    encode_nodes_know,
    encode_own_keys,
    encode_protection,
)
from homing_proto.v1 import keys_pb2 as wire
from hypothesis import given
from hypothesis import strategies as st

ONE, TWO = DeviceId("1" * 64), DeviceId("2" * 64)
CHANGE = KeyChange(b"certificate", b"hpke", b"signature", b"old", b"new")


def test_what_is_encoded_is_decoded() -> None:
    assert decode_key_change(encode_key_change(CHANGE)) == CHANGE
    keys = (OwnKey(ONE, 5), OwnKey(TWO, 1, 5, 9))
    assert decode_own_keys(encode_own_keys(keys)) == keys
    nodes = (NodeKnows(ONE, "den", TWO, "it is away"), NodeKnows(TWO, "attic", ""))
    assert decode_nodes_know(encode_nodes_know(nodes)) == nodes
    for one in KeyProtection:
        assert decode_protection(encode_protection(one)) is one


@pytest.mark.attack
@pytest.mark.parametrize("field", [f.name for f in wire.KeyChange.DESCRIPTOR.fields])
@pytest.mark.parametrize("value", [b"", b"x" * (1 << 13)], ids=["missing", "long"])
def test_a_part_that_is_missing_or_too_long_is_refused(field: str, value: bytes) -> None:
    message = encode_key_change(CHANGE)
    setattr(message, field, value)
    with pytest.raises(InvalidDataError):
        decode_key_change(message)


@pytest.mark.attack
def test_too_many_of_anything_and_ids_that_are_none_are_refused() -> None:
    for messages in ([wire.OwnKey(device_id=ONE)] * (MAX_OWN_KEYS + 1), [wire.OwnKey()]):
        with pytest.raises(InvalidDataError):
            decode_own_keys(messages)
    many = [wire.NodeKnows(node_id=ONE)] * (MAX_NODES + 1)
    for nodes in (many, [wire.NodeKnows(node_id=ONE, known_as="x")]):
        with pytest.raises(InvalidDataError):
            decode_nodes_know(nodes)


def test_what_this_version_does_not_know_of_protection_is_unknown() -> None:
    assert decode_protection(99) is KeyProtection.UNKNOWN


@pytest.mark.attack
@given(st.binary(max_size=200))
def test_any_bytes_are_a_change_or_a_clear_error(raw: bytes) -> None:
    message = wire.RotateKeyRequest()
    try:
        message.ParseFromString(raw)
    except Exception:  # noqa: BLE001  # protobuf's own refusal comes before ours
        return
    try:
        change = decode_key_change(message.change)
    except InvalidDataError:
        return
    assert 0 < len(change.certificate_der) <= MAX_CERTIFICATE_BYTES
