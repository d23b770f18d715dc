"""`host:port`, read strictly: it comes from links and from other computers."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from homing_core.errors import InvalidDataError

MAX_ADDRESSES = 8
"""More addresses than this are not kept."""
_MAX_HOST = 253
_MAX_PORT = 65535
_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9_-]{1,63}(?<!-))*\.?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")


@dataclass(frozen=True, slots=True)
class Address:
    """Where to dial. Of no meaning for trust.

    Attributes:
        host: an IPv4 or IPv6 address or a name; IPv6 without brackets.
        port: TCP port.
    """

    host: str
    port: int

    def __str__(self) -> str:
        """`host:port`, with IPv6 in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Read `host:port`; IPv6 is in brackets.

    Raises:
        InvalidDataError: it is none.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not _PORT.fullmatch(port) or int(port) > _MAX_PORT:
        raise _wrong()
    if host.startswith("[") and host.endswith("]"):
        if "%" in host:  # a scope names an interface of the other computer, not of this one
            raise _wrong()
        try:
            return Address(str(ipaddress.IPv6Address(host[1:-1])), int(port))
        except ValueError as error:
            raise _wrong() from error
    if len(host) > _MAX_HOST or not _NAME.fullmatch(host):
        raise _wrong()
    if re.fullmatch(r"[0-9.]+", host):  # looks like IPv4, so it must be
        try:
            ipaddress.IPv4Address(host)
        except ValueError as error:
            raise _wrong() from error
    return Address(host, int(port))


def _wrong() -> InvalidDataError:
    msg = "that is not an address"
    return InvalidDataError(msg, "Write it as host:port, such as 192.168.1.20:7443.")
