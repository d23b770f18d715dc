from __future__ import annotations

import pytest
from homing_core.errors import InvalidDataError
from homing_core.ids import DeviceId
from homing_discovery.hints import (
    PROTOCOL_VERSION,
    SERVICE_TYPE,
    Announcement,
    decode_txt,
    encode_txt,
    instance_name,
    instance_token,
    server_name,
    token_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

DEVICE = DeviceId("3f" * 32)


def test_a_token_tells_nodes_apart_and_does_not_hold_the_id() -> None:
    token = instance_token(DEVICE)
    assert token == instance_token(DEVICE)
    assert token != instance_token(DeviceId("3e" * 32))
    assert len(token) == 16
    assert token not in DEVICE


def test_a_token_stays_the_same_between_versions() -> None:
    assert instance_name(instance_token(DEVICE)) == f"homing-0e7a074419b6c628.{SERVICE_TYPE}"


def test_a_token_comes_back_from_its_names_in_any_case() -> None:
    token = instance_token(DEVICE)
    assert token_of(instance_name(token)) == token
    assert token_of(server_name(token)) == token
    assert token_of(instance_name(token).upper()) == token


@pytest.mark.parametrize(
    "name",
    [
        "",
        SERVICE_TYPE,
        f"homing-.{SERVICE_TYPE}",
        f"homing-{'a' * 15}.{SERVICE_TYPE}",
        f"homing-{'a' * 17}.{SERVICE_TYPE}",
        f"homing-{'g' * 16}.{SERVICE_TYPE}",
        f"homing-{'a' * 16}-2.{SERVICE_TYPE}",
        f"x.homing-{'a' * 16}.{SERVICE_TYPE}",
        f"homing-{'a' * 16}._other._tcp.local.",
        f"homing-{'a' * 16}.{SERVICE_TYPE}\n",
        f"homing-{'a' * 15}\u0430.{SERVICE_TYPE}",
        f"homing-\u202e{'a' * 15}.{SERVICE_TYPE}",
        "homing-" + "\uff11" * 16 + "." + SERVICE_TYPE,
        f"\x1b[31mhoming-{'a' * 16}.{SERVICE_TYPE}",
        "a" * 255,
    ],
)
def test_any_other_name_is_nobodys(name: str) -> None:
    assert token_of(name) is None


def test_the_txt_record_says_the_version_and_nothing_else() -> None:
    assert encode_txt() == {"v": str(PROTOCOL_VERSION)}


@pytest.mark.parametrize(
    ("raw", "version"),
    [
        (b"\x03v=1", 1),
        (b"\x03V=7", 7),
        (b"\x05x=abc\x04v=12\x03v=3", 12),
        (b"", 0),
        (b"\x00", 0),
        (b"\x02v=", 0),
        (b"\x04v=-1", 0),
        (b"\x07v=99999", 0),
        (b"\x05v=\xd9\xa3", 0),
        (b"\xffv=1", 1),
        (b"\x01v", 0),
    ],
)
def test_a_version_is_read_where_there_is_one(raw: bytes, version: int) -> None:
    assert decode_txt(raw) == version


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_any_txt_is_read(raw: bytes) -> None:
    assert 0 <= decode_txt(raw) <= 9999


@pytest.mark.parametrize(
    ("token", "port"), [("a" * 16, 0), ("a" * 16, 65_536), ("A" * 16, 1), ("", 1)]
)
def test_nonsense_cannot_be_announced(token: str, port: int) -> None:
    with pytest.raises(InvalidDataError):
        Announcement(token, port)
