from __future__ import annotations

import ifaddr
import pytest
from homing_discovery.interfaces import (
    MAX_INTERFACES,
    Interface,
    local_interfaces,
    network_state,
    select,
    unusable_ipv6,
)
from hypothesis import given, settings
from hypothesis import strategies as st

LOOPBACK = Interface("lo", 1, ("127.0.0.1", "::1"))
WIFI = Interface("wlan0", 3, ("fe80::7", "192.168.1.5", "fd00::5"))
CABLE = Interface("eth0", 2, ("10.0.0.5",))
CONTAINER = Interface("veth12ab", 9, ("fe80::9", "172.17.0.1"))


def test_without_a_choice_every_interface_but_loopback_and_containers_ends() -> None:
    chosen = select((LOOPBACK, WIFI, CABLE, CONTAINER))
    assert chosen.sockets == ("192.168.1.5", 3, "10.0.0.5")
    assert chosen.addresses == ("192.168.1.5", "10.0.0.5", "fd00::5", "fe80::7")
    assert chosen.ipv6
    assert not chosen.loopback


@pytest.mark.parametrize("choice", [("lo",), ("127.0.0.1",), ("127.0.0.1", "203.0.113.1")])
def test_loopback_if_chosen(choice: tuple[str, ...]) -> None:
    chosen = select((LOOPBACK, WIFI), choice)
    assert chosen.sockets == ("127.0.0.1",)
    assert "127.0.0.1" in chosen.addresses
    assert chosen.loopback
    assert not chosen.ipv6


def test_an_interface_can_be_chosen_by_name_or_by_address() -> None:
    assert select((WIFI, CABLE), ("wlan0",)).addresses == ("192.168.1.5", "fd00::5", "fe80::7")
    assert select((WIFI, CABLE), ("192.168.1.5",)).addresses == ("192.168.1.5",)
    assert select((WIFI, CABLE), ("nope",)).sockets == ()


def test_a_machine_with_very_many_interfaces_uses_some() -> None:
    many = tuple(Interface(f"br{n}", n + 1, (f"10.0.{n}.1", f"fd00::{n + 1}")) for n in range(200))
    chosen = select(many)
    assert len(chosen.sockets) <= MAX_INTERFACES
    assert len(chosen.addresses) <= 8


def test_ipv6_addresses_that_are_still_checked_are_left_out() -> None:
    table = (
        "fe80000000000000681d16fffe904d9a 03 40 20 80 wlan0\n"
        "fe80000000000000701ae0fffe97a88e 02 40 20 c0 far0\n"
        "fd000000000000000000000000000005 03 40 00 08 wlan0\n"
    )
    assert unusable_ipv6(table) == {"fe80::701a:e0ff:fe97:a88e", "fd00::5"}


@settings(deadline=None)
@given(st.text() | st.from_regex(r"([0-9a-fx]{0,40} ){5}[0-9a-f]{0,3}"))
def test_any_table_is_read(table: str) -> None:
    assert all(":" in address for address in unusable_ipv6(table))


def test_this_machine_has_loopback() -> None:
    found = local_interfaces()
    assert any("127.0.0.1" in one.addresses for one in found)
    assert any(address == "127.0.0.1" for _, address in network_state(found).addresses)


def test_where_the_list_is_forbidden_the_sending_address_is_probed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forbidden() -> list[ifaddr.Adapter]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(ifaddr, "get_adapters", forbidden)
    for one in local_interfaces():
        assert one.addresses
        assert one.index == 0
    assert len(local_interfaces()) <= 1
