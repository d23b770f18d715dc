"""What a node says of itself by mDNS, and what a phone makes of it: hints, never trust.

A node is `homing-TOKEN._homing._tcp.local.`. The token is the first 16 hex digits of a hash of its
device id, so a phone that was paired with the node knows which one it hears, and nobody else learns
whose it is: no name of a person, a machine or a model is sent, and neither is the device id. The
token is stable; it lets somebody on the same network recognise the node again, which its hardware
address does as well. It proves nothing: whoever answers there must still show the node's key.

While a node lets new devices in, its pairing server is announced in the same form, with
`homing-pair` for `homing` and under a random token: it says that somebody pairs here, which is
meant to be found, and no more.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homing_core.errors import InvalidDataError

if TYPE_CHECKING:
    from homing_core.addresses import Address
    from homing_core.ids import DeviceId

SERVICE_TYPE = "_homing._tcp.local."
PROTOCOL_VERSION = 1
"""Version of the wire; what the announcement says of it is a hint like everything else."""

MAX_ADDRESSES_PER_ANNOUNCEMENT = 8
"""Addresses that a node announces, and that are read from one announcement."""
MAX_ADDRESSES = 16
"""Addresses kept for one node, over several announcements."""

_TOKEN_DIGITS = 16
_CONTEXT = b"homing mdns token v1\0"
_TOKEN = re.compile(rf"[0-9a-f]{{{_TOKEN_DIGITS}}}")
_VERSION_KEY = b"v="
_MAX_VERSION_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Service:
    """One kind of thing that is announced.

    Attributes:
        type: its DNS-SD type.
        prefix: what stands before the token in names of instances and hosts.
    """

    type: str
    prefix: str
    _names: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make the form that its names have."""
        digits = rf"{re.escape(self.prefix)}([0-9a-f]{{{_TOKEN_DIGITS}}})"
        form = rf"{digits}\.(?:{re.escape(self.type)}|local\.)"
        object.__setattr__(self, "_names", re.compile(form, re.IGNORECASE | re.ASCII))

    def token_of(self, name: str) -> str | None:
        """The token in an instance's or a host's name; None for any other name."""
        found = self._names.fullmatch(name)
        return found[1].lower() if found else None


NODES = Service(SERVICE_TYPE, "homing-")
"""Nodes, for phones that are paired with them."""
PAIRING = Service("_homing-pair._tcp.local.", "homing-pair-")
"""Pairing servers, for the three minutes that they are open."""


@dataclass(frozen=True, slots=True)
class Hint:
    """Somebody said that a node is here.

    Attributes:
        token: which node is meant (`instance_token`).
        addresses: where, newest first, at most `MAX_ADDRESSES`.
        name: the announced label, cleaned; for people.
        version: the announced protocol version; 0 if none was readable.
        seen_at: wall time of the last announcement, seconds since the epoch.
    """

    token: str
    addresses: tuple[Address, ...]
    name: str
    version: int
    seen_at: float


@dataclass(frozen=True, slots=True)
class Announcement:
    """What a node announces.

    Attributes:
        token: the node (`instance_token`), or a random one.
        port: TCP port of the server.
        service: what is there.
    """

    token: str
    port: int
    service: Service = NODES

    def __post_init__(self) -> None:
        """Refuse what no phone would accept.

        Raises:
            InvalidDataError: a port outside 1 to 65535, or a token of another form.
        """
        if not 1 <= self.port <= 65_535 or not _TOKEN.fullmatch(self.token):  # noqa: PLR2004
            msg = "that cannot be announced"
            raise InvalidDataError(msg, "A port is 1 to 65535, a token 16 hex digits.")


def instance_token(device_id: DeviceId) -> str:
    """The node's name on the network: 16 hex digits of SHA-256 over a context and the id."""
    return hashlib.sha256(_CONTEXT + device_id.encode()).hexdigest()[:_TOKEN_DIGITS]


def random_token() -> str:
    """A token that stands for nobody."""
    return secrets.token_hex(_TOKEN_DIGITS // 2)


def instance_name(token: str, service: Service = NODES) -> str:
    """The full DNS-SD name of a node's service."""
    return f"{service.prefix}{token}.{service.type}"


def server_name(token: str, service: Service = NODES) -> str:
    """The host name under which a node's addresses are announced."""
    return f"{service.prefix}{token}.local."


def token_of(name: str, service: Service = NODES) -> str | None:
    """The token in an instance's or a server's name; None for any other name."""
    return service.token_of(name)


def encode_txt() -> dict[str, str]:
    """What the TXT record says: the protocol version and nothing else."""
    return {"v": str(PROTOCOL_VERSION)}


def decode_txt(raw: bytes) -> int:
    """The protocol version in a TXT record's bytes; 0 if none is readable. Never raises.

    The format is that of RFC 6763, section 6: strings, each after one byte of length.
    """
    at = 0
    while at < len(raw):
        entry = raw[at + 1 : at + 1 + raw[at]]
        at += 1 + raw[at]
        if entry[:2].lower() == _VERSION_KEY:
            digits = entry[2:]
            known = digits.isdigit() and len(digits) <= _MAX_VERSION_DIGITS
            return int(digits) if known else 0
    return 0
