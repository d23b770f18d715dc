"""Which addresses a page may be fetched from. Pure.

A page's address comes from a model, and that may have it from a page. So nothing within the home
is fetched unless its owner named it: not the router, not the printer, not this machine, and not the
metadata service of a cloud machine.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from homing_core.errors import UsageError

from homing_agent.web.surroundings import Surroundings

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_NETWORKS: Final[tuple[tuple[str, str], ...]] = (
    # https://www.iana.org/assignments/iana-ipv4-special-registry
    ("0.0.0.0/8", "this machine"),
    ("10.0.0.0/8", "a private network"),
    ("100.64.0.0/10", "a provider's inner network"),
    ("127.0.0.0/8", "this machine"),
    ("169.254.0.0/16", "the local link, where cloud machines keep their metadata"),
    ("172.16.0.0/12", "a private network"),
    ("192.0.0.0/24", "a reserved network"),
    ("192.0.2.0/24", "a network for examples"),
    ("192.88.99.0/24", "a reserved network"),
    ("192.168.0.0/16", "a private network"),
    ("198.18.0.0/15", "a network for measurements"),
    ("198.51.100.0/24", "a network for examples"),
    ("203.0.113.0/24", "a network for examples"),
    ("224.0.0.0/4", "a group of machines"),
    ("240.0.0.0/4", "a reserved network"),
    ("168.63.129.16/32", "a cloud machine's own service"),
    # https://www.iana.org/assignments/iana-ipv6-special-registry
    ("::/127", "this machine"),
    ("::/96", "a reserved network"),
    ("100::/64", "a network that leads nowhere"),
    ("2001:db8::/32", "a network for examples"),
    ("3fff::/20", "a network for examples"),
    ("5f00::/16", "a reserved network"),
    ("fc00::/7", "a private network"),
    ("fe80::/10", "the local link"),
    ("fec0::/10", "a private network"),
    ("ff00::/8", "a group of machines"),
)
_REFUSED: Final = tuple((ipaddress.ip_network(text), what) for text, what in _NETWORKS)
_BY_NAME: Final = tuple(
    ipaddress.ip_network(text)
    for text in (
        "10.0.0.0/8",
        "100.64.0.0/10",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "fc00::/7",
        "fec0::/10",
    )
)
"""Where the name of something in a home may lead."""
_NEVER_BY_NAME: Final = tuple(
    ipaddress.ip_network(text)
    for text in ("100.100.100.200/32", "fd00:ec2::/32", "fd20:ce::254/128")
)
"""Metadata services of cloud machines at addresses that a home could have."""
_GLOBAL_V6: Final = ipaddress.IPv6Network("2000::/3")
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_NAT64_LOCAL: Final = ipaddress.IPv6Network("64:ff9b:1::/48")
_TRANSLATED: Final = ipaddress.IPv6Network("::ffff:0:0:0/96")
_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")
_LOW_32: Final = (1 << 32) - 1
_HOST: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
_MOST_HOST: Final = 253
_HINT: Final = (
    "Its owner may allow it with allow_private under [fetch] of the node's configuration."
)
_HINT_BY_NUMBER: Final = (
    "A name in allow_private does not open that; its owner may write the address itself there."
)


def inner_network(address: Address) -> str:
    """What makes an address one of this home or machine, for a person; empty for a public one.

    An IPv6 address that stands for an IPv4 one (mapped, compatible, 6to4, Teredo, NAT64) is judged
    by both.
    """
    for network, what in _REFUSED:
        if _is_in(address, (network,)):
            return what
    if isinstance(address, ipaddress.IPv4Address):
        return ""
    inside = _ipv4_within(address)
    if inside:
        return next((found for found in map(inner_network, inside) if found), "")
    if address in _NAT64_LOCAL or address not in _GLOBAL_V6:
        return "a reserved network"
    return ""


def _ipv4_within(address: ipaddress.IPv6Address) -> tuple[ipaddress.IPv4Address, ...]:
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if any(address in network for network in (_NAT64, _TRANSLATED, _COMPATIBLE)):
        return (ipaddress.IPv4Address(int(address) & _LOW_32),)
    return ()


def parse_address(text: str) -> Address | None:
    """An address as it is written in a URL or given by a resolver; None if it is a name."""
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Allowed:
    """What may be fetched besides public addresses: `allow_private` of `[fetch]`.

    Attributes:
        hosts: exact host names, lower case; they open networks of homes only.
        networks: networks and single addresses.
    """

    hosts: frozenset[str] = field(default_factory=frozenset[str])
    networks: tuple[Network, ...] = ()

    @classmethod
    def parse(cls, entries: tuple[str, ...]) -> Allowed:
        """Read host names, addresses and networks such as `192.168.1.0/24`.

        Raises:
            UsageError: an entry is none of these.
        """
        hosts: set[str] = set()
        networks: list[Network] = []
        for entry in entries:
            text = entry.strip().lower().rstrip(".")
            try:
                networks.append(ipaddress.ip_network(text.strip("[]")))
                continue
            except ValueError:
                pass
            numeric = text.replace(".", "").replace("/", "").isdigit()
            if numeric or len(text) > _MOST_HOST or not _HOST.fullmatch(text):
                msg = f"{entry[:80]!r} is no host name, address or network"
                raise UsageError(msg, "Write such as nas.lan, 192.168.1.20 or 192.168.1.0/24.")
            hosts.add(text)
        return cls(frozenset(hosts), tuple(networks))

    def refusal(self, host: str, address: Address, around: Surroundings | None = None) -> str:
        """Why an address of a host may not be asked, for a person; empty if it may.

        A host's name opens private networks and the home's own, wherever it leads there, but never
        this machine's loopback, the local link or a metadata service: those only by number.

        Args:
            host: as the URL names it, lower case.
            address: what it resolves to.
            around: what else is of this home.
        """
        here = Surroundings() if around is None else around
        meant = [address]
        if isinstance(address, ipaddress.IPv6Address):
            meant += _ipv4_within(address)
        inner = inner_network(address)
        what = inner or next((found for found in map(here.what, meant) if found), "")
        if not what:
            return ""
        candidates: list[Address] = [address]
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
            candidates.append(address.ipv4_mapped)
        if any(_is_in(one, self.networks) for one in candidates):
            return ""
        named = host in self.hosts
        if not named:
            return f"{what}. {_HINT}"
        homely = not inner or any(_is_in(one, _BY_NAME) for one in candidates)
        if homely and not any(_is_in(one, _NEVER_BY_NAME) for one in candidates):
            return ""
        return f"{what}. {_HINT_BY_NUMBER}"


def _is_in(address: Address, networks: tuple[Network, ...]) -> bool:
    return any(one.version == address.version and address in one for one in networks)
