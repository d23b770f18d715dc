"""What an address that comes from the network may be."""

from __future__ import annotations

import ipaddress

from homing_core.addresses import MAX_PORT, ZONE, Address, is_nowhere


def parse_hint_address(host: str, port: int, *, loopback: bool = False) -> Address | None:
    """An address from the network, or None if it cannot be a node's.

    Refused are names, multicast, unspecified, broadcast and IPv4-mapped addresses, link-local IPv6
    without a zone (nobody could dial it), loopback unless asked for, and ports outside 1 to 65535.

    Args:
        host: the text of an IP address, with a zone where there is one.
        port: TCP port.
        loopback: whether this machine itself is meant to be found.
    """
    plain, percent, zone = host.partition("%")
    try:
        ip = ipaddress.ip_address(plain)
    except ValueError:
        return None
    if not 1 <= port <= MAX_PORT or is_nowhere(ip) or (ip.is_loopback and not loopback):
        return None
    zoned = isinstance(ip, ipaddress.IPv6Address) and ip.is_link_local
    mapped = isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None
    if mapped or zoned != bool(percent) or (zoned and not ZONE.fullmatch(zone)):
        return None
    return Address(f"{ip}{percent}{zone}", port)
