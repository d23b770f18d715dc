"""Addresses of nodes: a host and a port, strictly read. Where to dial; of no meaning for trust."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TypeAlias

from homing_core.errors import HomingError, UsageError

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

MAX_ADDRESS_CHARS = 300
"""A host name has at most 253 characters; brackets, zone and port come on top."""
MAX_PORT = 65_535

_HINT = "Write host:port, such as 192.168.1.20:7433, home.example:7433 or [fe80::1%wlan0]:7433."
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
ZONE = re.compile(r"[A-Za-z0-9._-]{1,15}")
"""Name of an interface, as it follows an IPv6 address."""
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_NUMERIC = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_MAX_NAME_CHARS = 253


@dataclass(frozen=True, slots=True)
class Address:
    """Where a node may be reached.

    Attributes:
        host: an IPv4 or IPv6 address, the latter with its zone (`fe80::1%wlan0`) where it is
            link-local, or a host name.
        port: TCP port, 1 to 65535.
    """

    host: str
    port: int

    def __str__(self) -> str:
        """`host:port`, an IPv6 address in brackets; `parse_address` reads it back."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str, *, error: type[HomingError] = UsageError) -> Address:
    """Read `host:port`; an IPv6 address stands in brackets.

    Args:
        text: what a person wrote, or what came from outside.
        error: the kind to raise: `UsageError` for a person, `InvalidDataError` for other data.

    Raises:
        HomingError: of that kind; its line never repeats the text.
    """
    host, colon, port = text[: MAX_ADDRESS_CHARS + 1].rpartition(":")
    if len(text) > MAX_ADDRESS_CHARS or not colon:
        msg = "that is not an address"
        raise error(msg, _HINT)
    if not _PORT.fullmatch(port) or int(port) > MAX_PORT:
        msg = f"the address has no port from 1 to {MAX_PORT}"
        raise error(msg, _HINT)
    bracketed = host.startswith("[") and host.endswith("]")
    found = _parse_ipv6(host[1:-1]) if bracketed else _parse_name_or_ipv4(host)
    if found is None:
        msg = "the address has no readable host"
        raise error(msg, _HINT)
    return Address(found, int(port))


def _parse_ipv6(text: str) -> str | None:
    host, percent, zone = text.partition("%")
    try:
        ip = ipaddress.IPv6Address(host)
    except ValueError:
        return None
    if percent and not ZONE.fullmatch(zone):
        return None
    return None if is_nowhere(ip) else f"{ip}{percent}{zone}"


def _parse_name_or_ipv4(text: str) -> str | None:
    labels = text.removesuffix(".").split(".")
    if _NUMERIC.fullmatch(labels[-1]):
        # Anything that looks like a number is an IPv4 address or nothing: resolvers read
        # "127.1" and "0x7f.1" as addresses too, and nobody sees where they lead.
        try:
            ip = ipaddress.IPv4Address(text)
        except ValueError:
            return None
        return None if is_nowhere(ip) else str(ip)
    if len(text) > _MAX_NAME_CHARS or not all(_LABEL.fullmatch(label) for label in labels):
        return None
    return text.lower()


def is_nowhere(ip: IpAddress) -> bool:
    """Whether no single machine can be meant: unspecified, multicast, reserved."""
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    plain = mapped or ip
    if isinstance(plain, ipaddress.IPv4Address) and plain.is_reserved:
        return True  # 240.0.0.0/4 with the broadcast address
    return plain.is_multicast or plain.is_unspecified
