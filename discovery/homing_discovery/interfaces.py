"""This machine's interfaces and addresses, and which of them mDNS is to use."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path

import ifaddr

from homing_discovery.boundaries import NetworkState
from homing_discovery.hints import MAX_ADDRESSES_PER_ANNOUNCEMENT

MAX_INTERFACES = 16
"""Interfaces on which mDNS is spoken; Linux lets a socket join 20 groups."""

_CONTAINER_SIDE = "veth"
"""Names of the host's ends of containers' cables: no phone arrives there, and there can be many."""
# From the blocks kept for documentation (RFC 5737, RFC 3849): a socket is pointed there to learn
# the address it would send from, and nothing is sent.
_PROBES = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
_PROBE_PORT = 9
_IPV6_TABLE = Path("/proc/net/if_inet6")
_IFA_F_UNUSABLE = 0x40 | 0x08  # tentative, duplicate found


@dataclass(frozen=True, slots=True)
class Interface:
    """One network interface.

    Attributes:
        name: such as `eth0`; empty if the system does not say.
        index: the system's number for it; 0 if the system does not say.
        addresses: its IP addresses as text, without zones.
    """

    name: str
    index: int
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """Where mDNS is to be spoken and what is to be announced there.

    Attributes:
        sockets: IPv4 addresses, and interface indexes for IPv6, as zeroconf takes them.
        addresses: addresses to announce, IPv4 first and link-local last.
    """

    sockets: tuple[str | int, ...]
    addresses: tuple[str, ...]

    @property
    def ipv6(self) -> bool:
        """Whether any of the sockets speaks IPv6."""
        return any(isinstance(one, int) for one in self.sockets)

    @property
    def loopback(self) -> bool:
        """Whether this machine itself is meant to be found."""
        return any(_is_loopback(text) for text in self.addresses)


def local_interfaces() -> tuple[Interface, ...]:
    """The interfaces that have usable addresses; where their list is forbidden, what can be learnt.

    An IPv6 address is not usable for its first second or two, while the system makes sure that
    nobody else has it.
    """
    try:
        adapters = list(ifaddr.get_adapters())
    except OSError:  # recent Android
        return _probed_interfaces()
    unusable = _unusable_ipv6()
    return tuple(
        Interface(
            adapter.name,
            adapter.index or 0,
            tuple(
                text
                for ip in adapter.ips
                if (text := ip.ip if isinstance(ip.ip, str) else ip.ip[0]) not in unusable
            ),
        )
        for adapter in adapters
    )


def _unusable_ipv6() -> frozenset[str]:
    try:
        table = _IPV6_TABLE.read_text("ascii")
    except (OSError, ValueError):  # not Linux, or not for us to see
        return frozenset()
    return unusable_ipv6(table)


def unusable_ipv6(table: str) -> frozenset[str]:
    """Addresses that Linux still checks, or has found to be somebody else's.

    Args:
        table: the content of /proc/net/if_inet6: address, index, prefix length, scope, flags and
            name on each line, numbers in hex. Lines of another form are passed over.
    """
    found: set[str] = set()
    for line in table.splitlines():
        fields = line.split()
        with contextlib.suppress(ValueError, IndexError):
            if int(fields[4], 16) & _IFA_F_UNUSABLE:
                found.add(str(ipaddress.IPv6Address(int(fields[0], 16))))
    return frozenset(found)


def _probed_interfaces() -> tuple[Interface, ...]:
    found: list[str] = []
    for family, target in _PROBES:
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((target, _PROBE_PORT))
            found.append(str(probe.getsockname()[0]).partition("%")[0])
    return (Interface("", 0, tuple(found)),) if found else ()


def network_state(interfaces: tuple[Interface, ...]) -> NetworkState:
    """The addresses as a value that can be compared."""
    return NetworkState(
        frozenset((one.name, address) for one in interfaces for address in one.addresses)
    )


def select(interfaces: tuple[Interface, ...], chosen: tuple[str, ...] = ()) -> Selection:
    """Decide where to speak mDNS.

    Args:
        interfaces: what the machine has.
        chosen: names or IP addresses; none means every interface but loopback and containers' ends.
    """
    sockets: list[str | int] = []
    addresses: list[str] = []
    for one in interfaces:
        if len(sockets) >= MAX_INTERFACES:
            break
        if chosen:
            named = one.name in chosen
            usable = [text for text in one.addresses if named or text in chosen]
        elif one.name.startswith(_CONTAINER_SIDE):
            continue
        else:
            usable = [text for text in one.addresses if not _is_loopback(text)]
        sockets.extend(text for text in usable if ":" not in text)
        if one.index and any(":" in text and not _is_loopback(text) for text in usable):
            sockets.append(one.index)
        addresses.extend(usable)
    ordered = sorted(dict.fromkeys(addresses), key=_rank)
    return Selection(
        tuple(sockets[:MAX_INTERFACES]), tuple(ordered[:MAX_ADDRESSES_PER_ANNOUNCEMENT])
    )


def _is_loopback(text: str) -> bool:
    return ipaddress.ip_address(text).is_loopback


def _rank(text: str) -> tuple[bool, bool]:
    ip = ipaddress.ip_address(text)
    return ip.is_link_local, ip.version != 4  # noqa: PLR2004  # the two versions of IP
