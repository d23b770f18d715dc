"""Where phones reach this node."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from homing_core.addresses import Address, parse_address
from homing_core.errors import ConfigError, InvalidDataError
from homing_crypto.pairing.proof import MAX_ADDRESSES
from homing_discovery.interfaces import local_interfaces, select

from homing_node.binding import ANY_HOSTS, IPV4_ANY

if TYPE_CHECKING:
    from homing_node.config import ListenSection

# Kept for documentation (RFC 5737, RFC 3849): nothing is sent there, the system only says which of
# its addresses it would send from.
_FAR = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))


def dialable(listen: ListenSection, port: int, *, main: bool = True) -> tuple[str, ...]:
    """Addresses of a port of this machine, `host:port`, best first; at least one.

    First those that the owner advertises; then the one that is listened on, or those of all
    interfaces, beginning with the one that leads out of the house: the phones' network is most
    often that one.

    Args:
        listen: the configuration.
        port: the port.
        main: whether it is the main port; another one is not where an advertised port leads.

    Raises:
        ConfigError: an advertised address is none.
    """
    found = [
        Address(host, own if main and own else port)
        for host, own in map(_advertised, listen.advertise)
    ]
    found += [Address(host, port) for host in _hosts(listen.host)]
    return tuple(dict.fromkeys(str(address) for address in found))[:MAX_ADDRESSES]


def _hosts(listened_on: str) -> list[str]:
    if listened_on not in ANY_HOSTS and listened_on:
        return [listened_on]
    found = [text for text in _outgoing() + select(local_interfaces()).addresses if _global(text)]
    if listened_on == IPV4_ANY:
        found = [text for text in found if ":" not in text]
    return found or ["127.0.0.1"]


def _advertised(text: str) -> tuple[str, int]:
    """Host and port of `host`, `host:port`, an IPv6 address or `[IPv6]:port`; 0 for no port."""
    try:
        return str(ipaddress.ip_address(text)), 0
    except ValueError:
        pass
    try:
        if text.endswith("]") or ":" not in text:
            return parse_address(f"{text}:1", error=InvalidDataError).host, 0
        address = parse_address(text, error=InvalidDataError)
    except InvalidDataError as error:
        msg = "listen.advertise holds something that is not an address"
        raise ConfigError(msg, "Write host or host:port, such as home.example:47100.") from error
    return address.host, address.port


def _outgoing() -> tuple[str, ...]:
    found: list[str] = []
    for family, target in _FAR:
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 9))
            found.append(str(probe.getsockname()[0]).partition("%")[0])
    return tuple(found)


def _global(text: str) -> bool:
    """Whether the address means something on another machine, without a zone."""
    ip = ipaddress.ip_address(text)
    return not (ip.is_link_local or ip.is_loopback or ip.is_unspecified)
