"""What holds for every codec: nothing changes on the way, and nothing malformed gets through."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from google.protobuf.message import DecodeError
from homing_core.errors import HomingError, InvalidDataError
from homing_proto.codec import access, common
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import strategies as values
from support.codecs import CODECS, Codec
from support.wire_strategies import MARK, arbitrary, damaged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_core.access import DeviceRole, Scope

_EVERY = pytest.mark.parametrize("codec", CODECS, ids=[codec.name for codec in CODECS])
_SETTINGS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def _decodes_or_refuses(codec: Codec, message: object) -> None:
    refusal = None
    try:
        codec.decode(message)
    except InvalidDataError as error:
        refusal = error
    assert refusal is None or (
        MARK not in str(refusal) and "\n" not in str(refusal) and refusal.__cause__ is None
    )


@_EVERY
@_SETTINGS
@given(data=st.data())
def test_a_value_comes_back_equal_through_bytes(codec: Codec, data: st.DataObject) -> None:
    value = data.draw(codec.value)
    raw = codec.encode(value).SerializeToString()
    message = codec.wire()
    message.ParseFromString(raw)
    assert codec.decode(message) == value


@_EVERY
@_SETTINGS
@given(data=st.data())
def test_any_message_is_decoded_or_refused_cleanly(codec: Codec, data: st.DataObject) -> None:
    _decodes_or_refuses(codec, data.draw(arbitrary(codec.wire)))


@_EVERY
@_SETTINGS
@given(data=st.data())
def test_damaged_bytes_are_decoded_or_refused_cleanly(codec: Codec, data: st.DataObject) -> None:
    raw = data.draw(damaged(codec.value.map(codec.encode)))
    message = codec.wire()
    try:
        message.ParseFromString(raw)
    except DecodeError:
        return  # the transport refuses it before the codec sees it
    _decodes_or_refuses(codec, message)


@_SETTINGS
@given(values.errors)
def test_an_error_comes_back_as_the_same_kind(error: HomingError) -> None:
    back = common.decode_error(common.encode_error(error))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert getattr(back, "retry_after_ms", None) == getattr(error, "retry_after_ms", None)


@settings(deadline=None)
@given(values.device_roles, values.scope_sets)
def test_roles_and_scopes_come_back(role: DeviceRole, scopes: frozenset[Scope]) -> None:
    assert access.decode_device_role(access.encode_device_role(role)) is role
    assert access.decode_scopes(access.encode_scopes(scopes)) == scopes


@settings(deadline=None)
@given(st.lists(st.integers(-(1 << 31), (1 << 31) - 1), max_size=64))
def test_unknown_scopes_give_nothing(numbers: Iterable[int]) -> None:
    numbers = [number for number in numbers if not 0 < number <= 6]
    assert access.decode_scopes(numbers) == frozenset()
