"""The pairing link: `homing://pair?v=1&a=…&c=…&s=…&x=…`, short enough for a small QR code.

v  version, 1
a  addresses of the pairing server, `host:port`, comma-separated, best first
c  SHA-256 of its certificate, 32 bytes, base64url without padding
s  the one-time secret, 16 bytes, base64url without padding
x  when it ends, seconds since the epoch by the node's clock; a hint, the node decides
m  addresses of the node's main port, as `a`; optional
k  whom it lets in, `phone` or `peer`; links of older versions do not say
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import unquote

from homing_core.addresses import Address, parse_address
from homing_core.errors import HomingError, InvalidDataError

from homing_crypto.pairing.proof import MAX_ADDRESSES

VERSION = 1
SECRET_BYTES = 16
"""128 bits from the system's generator: three guesses are worth nothing."""
MAX_LINK = 1024
"""Longest link, in characters."""

_PREFIX = "homing://pair?"
_SHA256_BYTES = 32
_BASE64URL = re.compile(r"[A-Za-z0-9_-]+")
# Ten digits until the year 2286, also at a node whose clock stands at 1970: fewer are a link that
# was cut short.
_NUMBER = re.compile(r"[0-9]{10,12}")
_LINK_ID_CONTEXT = b"homing pairing link id v1\x00"


class LinkKind(Enum):
    """Whom a link lets in."""

    PHONE = "phone"
    PEER = "peer"


_KINDS = {kind.value: kind for kind in LinkKind}
"""What another version may add is passed over, as unknown keys are."""


@dataclass(frozen=True, slots=True)
class PairingLink:
    """What a node shows and a phone reads.

    Attributes:
        addresses: where the pairing server listens, best first; at least one.
        certificate_sha256: SHA-256 of the one certificate it may show, 32 bytes.
        secret: `SECRET_BYTES` bytes; whoever knows it may pair.
        expires_at: seconds since the epoch by the node's clock.
        node_addresses: where the node's main port listens, best first.
        kind: whom it lets in; None where an older node does not say. A hint like all of the link
            but its secret: the node decides.
    """

    addresses: tuple[Address, ...]
    certificate_sha256: bytes
    secret: bytes = field(repr=False)
    expires_at: int
    node_addresses: tuple[Address, ...] = ()
    kind: LinkKind | None = None

    @property
    def id(self) -> str:
        """Names the link without giving it away (see `link_id`)."""
        return link_id(self.secret)

    def to_text(self) -> str:
        """The link as text; holds the secret."""
        fields = {
            "v": str(VERSION),
            "a": ",".join(map(str, self.addresses)),
            "c": _encode(self.certificate_sha256),
            "s": _encode(self.secret),
            "x": f"{max(self.expires_at, 0):010d}",
        }
        if self.node_addresses:
            fields["m"] = ",".join(map(str, self.node_addresses))
        if self.kind is not None:
            fields["k"] = self.kind.value
        return _PREFIX + "&".join(f"{key}={value}" for key, value in fields.items())


def new_secret() -> bytes:
    """A fresh one-time secret."""
    return secrets.token_bytes(SECRET_BYTES)


def link_id(secret: bytes) -> str:
    """The first 8 bytes of SHA-256 over a context string and the secret, in hex."""
    return hashlib.sha256(_LINK_ID_CONTEXT + secret).hexdigest()[:16]


def parse_link(text: str) -> PairingLink:
    """Read a link from outside. Unknown keys are passed over, so that later versions may add some.

    So is white space anywhere in it: mail programs and terminals break long lines.

    Raises:
        InvalidDataError: it is no pairing link, is damaged, or is of another version.
    """
    link = "".join(text.split())
    if len(link) > MAX_LINK or not link.isascii() or not link.startswith(_PREFIX):
        msg = "that is not a pairing link"
        raise InvalidDataError(msg, "It starts with homing://pair? and is shown by homing-node.")
    fields: dict[str, str] = {}
    for item in link.removeprefix(_PREFIX).split("&"):
        key, equals, value = item.partition("=")
        if not equals or key in fields:
            raise _damaged()
        fields[key] = unquote(value)  # what is no UTF-8 is replaced, and fails below
    if fields.get("v") != str(VERSION):
        msg = "this pairing link is of another version"
        raise InvalidDataError(msg, "Update Homing on both sides, then ask for a new link.")
    try:
        return PairingLink(
            addresses=_addresses(fields["a"]),
            certificate_sha256=_decode(fields["c"], _SHA256_BYTES),
            secret=_decode(fields["s"], SECRET_BYTES),
            expires_at=_number(fields["x"]),
            node_addresses=_addresses(fields["m"]) if "m" in fields else (),
            kind=_KINDS.get(fields.get("k", "")),
        )
    except (KeyError, ValueError, HomingError) as error:
        raise _damaged() from error


def _addresses(text: str) -> tuple[Address, ...]:
    parts = text.split(",")
    if len(parts) > MAX_ADDRESSES:
        raise ValueError
    found = tuple(parse_address(part, error=InvalidDataError) for part in parts)
    if any("%" in address.host for address in found):
        raise ValueError  # a zone means something on the node only
    return found


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise ValueError
    return int(text)


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def _decode(text: str, size: int) -> bytes:
    if not _BASE64URL.fullmatch(text):
        raise ValueError
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if len(raw) != size or _encode(raw) != text:  # one secret has one spelling
        raise ValueError
    return raw


def _damaged() -> InvalidDataError:
    msg = "this pairing link is damaged"
    return InvalidDataError(msg, "Copy all of it, in quotes, or scan the code again.")
