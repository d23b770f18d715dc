"""A caller's address as the name of a socket. Pure.

gRPC tells of a unix socket only the path that the connecting end is bound to, so the door binds
each to a path such as `c1f-c0a80107`: the connection's number, and the caller's address, both in
hexadecimal. Only this user can make a socket in the door's folder.
"""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

SOCKET: Final = "tls"
"""Name of gRPC's own socket in the door's folder."""
MOST_NAME: Final = 64
_NAME: Final = re.compile(r"c([0-9a-f]{1,16})-([0-9a-f]{8}|[0-9a-f]{32})")
_MAPPED: Final = bytes(10) + b"\xff\xff"
_IPV4_BYTES: Final = 4
_PREFIX_BYTES: Final = 8
_MOST_PEER: Final = 512


@dataclass(frozen=True, slots=True)
class Visitor:
    """One connection, as the node knows it.

    Attributes:
        number: unique for as long as the node runs.
        address: the caller's, IPv4 or IPv6, without port and scope.
    """

    number: int
    address: str


def packed(host: str) -> bytes:
    """An address in 4 or 16 bytes; one of IPv4 that came in through an IPv6 socket in 4.

    Raises:
        ValueError: it is none.
    """
    try:
        if ":" not in host:
            return socket.inet_pton(socket.AF_INET, host)
        raw = socket.inet_pton(socket.AF_INET6, host.partition("%")[0])
    except (OSError, ValueError) as error:
        msg = "not an address"
        raise ValueError(msg) from error
    return raw.removeprefix(_MAPPED)


def written(raw: bytes) -> str:
    """An address of 4 or 16 bytes as people write it."""
    return socket.inet_ntop(socket.AF_INET if len(raw) == _IPV4_BYTES else socket.AF_INET6, raw)


def household(raw: bytes) -> bytes:
    """What shares limits: an IPv4 address, or the /64 that one line of IPv6 has."""
    return raw if len(raw) == _IPV4_BYTES else raw[:_PREFIX_BYTES]


def socket_name(number: int, raw: bytes) -> str:
    """The name for a connection; `visitor` reads it back."""
    return f"c{number:x}-{raw.hex()}"


def visitor(peer: str) -> Visitor | None:
    """The connection behind `ServicerContext.peer()`; None if it did not come by the door."""
    scheme, _, path = peer.partition(":")
    if scheme != "unix" or len(peer) > _MOST_PEER:
        return None
    found = _NAME.fullmatch(path)
    if found is None:
        return None
    return Visitor(int(found[1], 16), written(bytes.fromhex(found[2])))


def caller_address(peer: str) -> str:
    """Where a call comes from, by the door or directly; empty if that cannot be seen.

    Args:
        peer: `ServicerContext.peer()`: `unix:NAME`, `ipv4:HOST:PORT` or `ipv6:[HOST]:PORT`.
    """
    known = visitor(peer)
    if known is not None:
        return known.address
    scheme, _, rest = peer.partition(":")
    if scheme not in {"ipv4", "ipv6"} or len(peer) > _MOST_PEER:
        return ""
    host = unquote(rest).rpartition(":")[0].strip("[]")
    try:
        return written(packed(host))
    except ValueError:
        return ""
