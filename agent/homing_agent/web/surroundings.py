"""What of this machine and its home has addresses that the whole Internet could have.

Homes with IPv6 have public addresses inside, and a machine may have a public IPv4 one. So besides
networks that are private everywhere, a page may not lead to this machine's own addresses, to the
networks that it is on, or to its routers. They change, so they are looked up for every page.
"""

from __future__ import annotations

import contextlib
import ipaddress
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import ifaddr
from homing_discovery.interfaces import local_interfaces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from homing_agent.web.addresses import Address, Network

_ROUTES_V4: Final = Path("/proc/net/route")
_ROUTES_V6: Final = Path("/proc/net/ipv6_route")
_MOST_TABLE: Final = 4 << 20
_SITE: Final = 56
"""Bits that a home's addresses share where a provider gives it several networks (RIPE-690)."""
_MOST_SITE: Final = 48
"""A route to fewer bits than a home is ever given is one to the Internet or a part of it."""
_TYPICAL_V4: Final = 24


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where this machine is.

    Attributes:
        own: its addresses.
        routers: what it sends packets through.
        networks: where it is, and the home's other networks as far as they can be known.
    """

    own: frozenset[Address] = frozenset()
    routers: frozenset[Address] = frozenset()
    networks: frozenset[Network] = field(default_factory=frozenset["Network"])

    def what(self, address: Address) -> str:
        """What of this home an address is, for a person; empty if nothing."""
        if address in self.own:
            return "this machine"
        if address in self.routers:
            return "this home's router"
        if any(one.version == address.version and address in one for one in self.networks):
            return "this home's own network"
        return ""


def look_around() -> Surroundings:
    """What the system says now: interfaces everywhere, routes where it is Linux. Blocks briefly."""
    routes = (*routes_v4(_table(_ROUTES_V4)), *routes_v6(_table(_ROUTES_V6)))
    return surroundings(_interfaces(), routes)


def surroundings(
    interfaces: Iterable[tuple[str, int]], routes: Iterable[tuple[Network, Address | None]]
) -> Surroundings:
    """Make sense of what the system says.

    Args:
        interfaces: addresses, zones left out, and how many bits their networks share.
        routes: where packets may go, and by which router, if any.
    """
    own: set[Address] = set()
    networks: set[Network] = set()
    for text, bits in interfaces:
        with contextlib.suppress(ValueError):
            address = ipaddress.ip_address(text)
            own.add(address)
            if isinstance(address, ipaddress.IPv6Address):
                # The home's other networks begin with the same bits.
                networks.add(_around(address, max(min(bits, _SITE), _MOST_SITE)))
            elif bits:
                networks.add(_around(address, bits))
    routers: set[Address] = set()
    for network, router in routes:
        if router is not None:
            routers.add(router)
        if isinstance(network, ipaddress.IPv6Network) and network.prefixlen >= _MOST_SITE:
            networks.add(network)
    return Surroundings(frozenset(own), frozenset(routers), frozenset(networks))


def routes_v4(table: str) -> Iterator[tuple[Network, Address | None]]:
    """Routes of `/proc/net/route`; lines of another form are passed over.

    Args:
        table: name, destination, router, flags, three numbers and mask on each line; addresses in
            hex, as this machine has them in memory.
    """
    for line in table.splitlines():
        fields = line.split()
        with contextlib.suppress(ValueError, IndexError, struct.error):
            destination, router, mask = (_v4(fields[number]) for number in (1, 2, 7))
            network = ipaddress.ip_network(f"{destination}/{mask}", strict=False)
            yield network, router if int(router) else None


def routes_v6(table: str) -> Iterator[tuple[Network, Address | None]]:
    """Routes of `/proc/net/ipv6_route`; lines of another form are passed over.

    Args:
        table: destination and its bits, source and its bits, router, four numbers and name on
            each line; numbers in hex.
    """
    for line in table.splitlines():
        fields = line.split()
        with contextlib.suppress(ValueError, IndexError):
            destination, router = (
                ipaddress.IPv6Address(int(fields[number], 16)) for number in (0, 4)
            )
            yield _around(destination, int(fields[1], 16)), router if int(router) else None


def _v4(text: str) -> ipaddress.IPv4Address:
    return ipaddress.IPv4Address(struct.pack("=I", int(text, 16)))


def _around(address: Address, bits: int) -> Network:
    return ipaddress.ip_network(f"{address}/{bits}", strict=False)


def _interfaces() -> tuple[tuple[str, int], ...]:
    try:
        return tuple(
            (
                str(ip.ip if isinstance(ip.ip, str) else ip.ip[0]).partition("%")[0],
                ip.network_prefix,
            )
            for adapter in ifaddr.get_adapters()
            for ip in adapter.ips
        )
    except OSError:  # recent Android forbids the list; how large the networks are is then guessed
        texts = (text for one in local_interfaces() for text in one.addresses)
        return tuple((text, _SITE if ":" in text else _TYPICAL_V4) for text in texts)


def _table(path: Path) -> str:
    try:
        with path.open("r", encoding="ascii", errors="replace") as file:
            return file.read(_MOST_TABLE)
    except OSError:  # not Linux, or not for us to see
        return ""
