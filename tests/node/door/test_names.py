"""A socket's name says who calls, and nothing else is taken for one."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address

import pytest
from homing_node.door.names import (
    MOST_NAME,
    Visitor,
    caller_address,
    household,
    packed,
    socket_name,
    visitor,
    written,
)
from hypothesis import given
from hypothesis import strategies as st

NUMBERS = st.integers(0, (1 << 64) - 1)
ADDRESSES = st.ip_addresses().map(str)


@given(NUMBERS, ADDRESSES)
def test_number_and_address_come_back(number: int, address: str) -> None:
    name = socket_name(number, packed(address))
    assert len(name) <= MOST_NAME
    assert visitor(f"unix:{name}") == Visitor(number, written(packed(address)))


@given(st.ip_addresses(v=4))
def test_ipv4_through_an_ipv6_socket_is_ipv4(address: IPv4Address) -> None:
    assert packed(f"::ffff:{address}") == packed(str(address)) == address.packed
    assert household(packed(f"::ffff:{address}")) == address.packed


@given(st.ip_addresses(v=6), st.integers(0, (1 << 64) - 1))
def test_one_line_of_ipv6_shares_its_limits(address: IPv6Address, host: int) -> None:
    near = IPv6Address((int(address) >> 64 << 64) | host)
    first, second = packed(str(address)), packed(str(near))
    if len(first) == len(second) == 16:
        assert household(first) == household(second)
        far = packed(str(IPv6Address(int(address) ^ (1 << 64))))
        assert household(first) != household(far)


def test_a_scope_is_of_no_matter() -> None:
    assert packed("fe80::1%eth0") == packed("fe80::1")


@pytest.mark.parametrize(
    "host", ["", "localhost", "1.2.3", "1.2.3.4.5", "::g", "::1::", "a%b", "\x00"]
)
def test_what_is_no_address_is_none(host: str) -> None:
    with pytest.raises(ValueError, match="not an address"):
        packed(host)


@pytest.mark.parametrize(
    "peer",
    [
        "",
        "unix:",
        "unix:/tmp/other",
        "unix:c-01020304",
        "unix:c1-0102030",
        "unix:c1-010203040",
        "unix:C1-01020304",
        "unix:c1-0102030G",
        "unix:c1-01020304\n",
        "unix:c1-01020304/../c2-01020304",
        "unix:cg-01020304",
        f"unix:c{'1' * 17}-01020304",
        "unix:c\uff11-01020304",
        "unix-abstract:c1-01020304",
        "ipv4:c1-01020304",
        "UNIX:c1-01020304",
        "unix:c1-01020304?x",
    ],
)
def test_another_name_is_nobody(peer: str) -> None:
    assert visitor(peer) is None


@given(st.text(max_size=80))
def test_no_text_has_no_answer(text: str) -> None:
    for peer in (text, f"unix:{text}", f"ipv6:{text}", f"ipv4:{text}"):
        found = visitor(peer)
        assert found is None or socket_name(found.number, packed(found.address))
        address = caller_address(peer)
        assert address == "" or written(packed(address)) == address


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("unix:c5-c0a80107", "192.168.1.7"),
        ("ipv4:192.168.1.7:4444", "192.168.1.7"),
        ("ipv6:%5Bfe80::1%25eth0%5D:4444", "fe80::1"),
        ("ipv6:[::ffff:10.0.0.1]:9", "10.0.0.1"),
        ("ipv4:" + "1" * 600, ""),
        ("vsock:3:4", ""),
    ],
)
def test_an_address_is_seen_with_a_door_and_without(peer: str, address: str) -> None:
    assert caller_address(peer) == address


def test_names_are_short_enough_for_a_socket_in_its_own_folder() -> None:
    longest = socket_name((1 << 64) - 1, socket.inet_pton(socket.AF_INET6, "f" + ":f" * 7))
    assert len(longest) <= MOST_NAME < 104
