"""What of a home has addresses that the whole Internet could have, and is not read as a page."""

from __future__ import annotations

import socket
import struct
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

import ifaddr
import pytest
from homing_agent.web import surroundings as module
from homing_agent.web.addresses import Allowed
from homing_agent.web.fetch import FetchRules, PageFetcher
from homing_agent.web.surroundings import (
    Surroundings,
    look_around,
    routes_v4,
    routes_v6,
    surroundings,
)
from homing_core.errors import RefusedError
from support.web_pages import Names, answer, page, web

if TYPE_CHECKING:
    from pathlib import Path


def unheard(done: int, total: int) -> None:
    """Nobody watches."""


def in_memory(text: str) -> str:
    """An IPv4 address as `/proc/net/route` writes it on this machine."""
    return f"{struct.unpack('=I', socket.inet_aton(text))[0]:08X}"


def long(text: str) -> str:
    return f"{int(ip_address(text)):032x}"


def v4_line(destination: str, router: str, mask: str) -> str:
    shown = (in_memory(destination), in_memory(router))
    return "\t".join(("eth0", *shown, "0003", "0", "0", "0", in_memory(mask), "0", "0", "0"))


def v6_line(destination: str, bits: int, router: str = "::") -> str:
    start = f"{long(destination)} {bits:02x} {long('::')} 00 {long(router)}"
    return f"{start} 00000400 00000001 00000000 00000003     eth0"


NO = "0.0.0.0"  # noqa: S104  # no address is listened on
V4 = "\n".join(
    (
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT",
        v4_line(NO, "8.8.4.1", NO),
        v4_line("8.8.4.0", NO, "255.255.255.0"),
        v4_line("9.0.0.0", NO, "255.0.0.0"),
    )
)
V6 = "\n".join(
    (
        v6_line("::", 0, "2a02:8109:1:ff::1"),
        v6_line("2000::", 3),
        v6_line("2a02:8109:2::", 56),
    )
)
INTERFACES = (("8.8.4.4", 24), ("2a02:8109:1::5", 128), ("2a03:1:2:3::5", 64), ("nonsense", 1))


def home() -> Surroundings:
    return surroundings(INTERFACES, (*routes_v4(V4), *routes_v6(V6)))


@pytest.mark.attack
@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("8.8.4.4", "this machine"),
        ("2a02:8109:1::5", "this machine"),
        ("8.8.4.1", "this home's router"),
        ("2a02:8109:1:ff::1", "this home's router"),
        ("8.8.4.200", "this home's own network"),
        ("2a02:8109:1::77", "this home's own network"),
        ("2a02:8109:1:9::77", "this home's own network"),
        ("2a03:1:2:ff::1", "this home's own network"),
        ("2a02:8109:2:10::1", "this home's own network"),
        ("64:ff9b::808:404", "this machine"),
        ("2002:808:404::1", "this machine"),
    ],
)
def test_public_addresses_of_the_home_are_not_asked(address: str, what: str) -> None:
    assert Allowed().refusal("page.test", ip_address(address), home()).startswith(what)
    assert not Allowed.parse(("page.test",)).refusal("page.test", ip_address(address), home())


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "9.1.2.3", "2a02:8109:1:100::1", "2606:4700::1111", "64:ff9b::808:808"]
)
def test_the_rest_of_the_internet_is_asked(address: str) -> None:
    assert not Allowed().refusal("page.test", ip_address(address), home())


@pytest.mark.attack
async def test_a_name_that_leads_to_the_homes_public_address_is_not_asked_from_then_on() -> None:
    """The provider gives the home other addresses while the node runs."""
    around = Surroundings()
    async with web() as site:
        site.answers["/"] = answer(page("Bees live in hives. " * 20))
        names = Names({"*": ["127.0.0.1", "127.0.0.1 2a02:8109:1::5"]})
        fetcher = PageFetcher(site.rules(), names, around=lambda: around)
        assert (await fetcher.fetch(site.url(), unheard)).data
        around = home()
        with pytest.raises(RefusedError, match="leads to this machine"):
            await fetcher.fetch(site.url(), unheard)
        with pytest.raises(RefusedError, match="leads to this home's router"):
            fetcher.check("http://[2a02:8109:1:ff::1]/")
    assert len(site.asked) == 1


def test_this_machines_own_addresses_are_known() -> None:
    found = look_around()
    for adapter in ifaddr.get_adapters():
        for ip in adapter.ips:
            text = ip.ip if isinstance(ip.ip, str) else ip.ip[0]
            assert found.what(ip_address(text.partition("%")[0])) == "this machine"
    with pytest.raises(RefusedError, match="this machine"):
        PageFetcher(FetchRules()).check("http://127.0.0.1/")


def test_where_the_system_says_less_the_interfaces_are_what_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "_ROUTES_V4", tmp_path / "none")
    monkeypatch.setattr(module, "_ROUTES_V6", tmp_path)
    found = look_around()
    assert not found.routers
    assert ip_address("127.0.0.1") in found.own

    def forbidden() -> list[ifaddr.Adapter]:
        raise PermissionError

    monkeypatch.setattr(ifaddr, "get_adapters", forbidden)
    assert not look_around().routers


@pytest.mark.parametrize(
    "table",
    [
        "",
        "\0",
        "x" * 5000,
        "eth0 zz zz",
        "eth0 1FFFFFFFFF 1 3 0 0 0 0",
        "é " * 20,
        "0 " * 20,
        "-1 " * 9,
    ],
)
def test_lines_of_another_form_are_passed_over(table: str) -> None:
    for network, router in (*routes_v4(table), *routes_v6(table)):
        assert network in {ip_network("0.0.0.0/0"), ip_network("::/0")}
        assert router is None
