from __future__ import annotations

import pytest
from homing_core.addresses import Address, parse_address
from homing_core.errors import HomingError, InvalidDataError, UsageError
from homing_discovery.addresses import parse_hint_address
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("192.168.1.20:7433", "192.168.1.20", 7433),
        ("127.0.0.1:1", "127.0.0.1", 1),
        ("home.example:65535", "home.example", 65535),
        ("Home-PC.local.:443", "home-pc.local.", 443),
        ("[fd00::1]:7433", "fd00::1", 7433),
        ("[FE80:0::1%wlan0]:7433", "fe80::1%wlan0", 7433),
        ("[::1]:80", "::1", 80),
    ],
)
def test_an_address_is_read(text: str, host: str, port: int) -> None:
    address = parse_address(text)
    assert address == Address(host, port)
    assert parse_address(str(address)) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        ":80",
        "host",
        "host:",
        "host:0",
        "host:65536",
        "host:080",
        "host:8 0",
        "host:٣٣",
        "host:-1",
        "host:+1",
        "ho st:80",
        "host_name:80",
        "-host:80",
        "a..b:80",
        "häuser.example:80",
        "http://host:80",
        "user@host:80",
        "host:80/path",
        "::1:80",
        "fe80::1%eth0:80",
        "[::1]80",
        "[::1",
        "[]:80",
        "[192.168.1.1]:80",
        "[fe80::1%]:80",
        "[fe80::1%a/b]:80",
        "[fe80::1%wlan0\n]:80",
        "999.1.1.1:80",
        "1.2.3:80",
        "127.1:80",
        "0x7f.1:80",
        "010.0.0.1:80",
        "0.0.0.0:80",
        "255.255.255.255:80",
        "224.0.0.251:80",
        "[::]:80",
        "[ff02::fb]:80",
        "[::ffff:0.0.0.0]:80",
        "host:80\n",
        "\x1b[31m:80",
        "a" * 64 + ":80",
        "a." * 150 + ":80",
        "x" * 100_000,
    ],
)
def test_what_is_no_address_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_address(text)
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
    with pytest.raises(InvalidDataError):
        parse_address(text, error=InvalidDataError)


@settings(deadline=None)
@given(st.text(max_size=60) | st.from_regex(r"\[?[0-9a-f:.%x]{0,40}\]?:[0-9]{0,6}"))
def test_any_text_is_read_or_refused(text: str) -> None:
    address = None
    refusal: HomingError | None = None
    try:
        address = parse_address(text)
    except UsageError as error:
        refusal = error
    assert (address is None) != (refusal is None)
    assert address is None or parse_address(str(address)) == address


@settings(deadline=None)
@given(st.ip_addresses(), st.integers(1, 65_535))
def test_every_plain_ip_survives_its_text(ip: object, port: int) -> None:
    address = parse_hint_address(str(ip), port, loopback=True)
    assert address is None or parse_address(str(address)) == address


@pytest.mark.attack
@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "::1",
        "0.0.0.0",  # noqa: S104  # nothing is bound
        "::",
        "224.0.0.251",
        "ff02::fb",
        "255.255.255.255",
        "240.0.0.1",
        "::ffff:192.168.1.2",
        "fe80::1",
        "192.168.1.2%eth0",
        "fd00::1%eth0",
        "fe80::1%a b",
        "home.example",
        "",
        "\x00",
    ],
)
def test_a_hint_cannot_point_there(host: str) -> None:
    assert parse_hint_address(host, 4433) is None


@pytest.mark.parametrize("host", ["192.168.1.2", "10.0.0.9", "fd00::1", "fe80::1%3", "169.254.3.4"])
def test_a_hint_can_point_there(host: str) -> None:
    assert parse_hint_address(host, 4433) == Address(host, 4433)


def test_loopback_counts_only_if_asked_for() -> None:
    assert parse_hint_address("127.0.0.1", 4433, loopback=True) == Address("127.0.0.1", 4433)


@pytest.mark.parametrize("port", [0, -1, 65_536])
def test_a_hint_needs_a_port(port: int) -> None:
    assert parse_hint_address("192.168.1.2", port) is None


@settings(deadline=None)
@given(st.text(max_size=40), st.integers(-10, 70_000), st.booleans())
def test_any_hint_is_read_or_dropped(host: str, port: int, loopback: bool) -> None:  # noqa: FBT001  # drawn
    address = parse_hint_address(host, port, loopback=loopback)
    assert address is None or parse_address(str(address)) == address
