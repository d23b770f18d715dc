"""Reading the address of a page that a model wrote. Pure."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

import httpx2
from homing_core.errors import InvalidDataError, RefusedError

from homing_agent.web.addresses import parse_address

_MOST_CHARS: Final = 4096
_PORTS: Final = {"http": 80, "https": 443}
_MOST_PORT: Final = 65535
_SAFE: Final = "%/:=&?~#+!$,;'@()*[]"
_BAD: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_HINT: Final = "Give a whole address, such as https://example.org/page."


@dataclass(frozen=True, slots=True)
class PageAddress:
    """A page's address, checked.

    Attributes:
        scheme: `http` or `https`.
        host: in ASCII and lower case, without brackets.
        port: TCP port.
        target: path and query, as they are sent.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Host and, where it is not the usual one, port: what the `Host` field says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        """The address, written one way."""
        return f"{self.scheme}://{self.authority}{self.target}"


def parse_page_address(text: str, ports: frozenset[int] = frozenset({80, 443})) -> PageAddress:
    """Check an address; the fragment is left out.

    Args:
        text: as it was written.
        ports: those that may be asked.

    Raises:
        InvalidDataError: it is no address of a page.
        RefusedError: it is one that is not fetched.
    """
    text = text.strip()
    if len(text) > _MOST_CHARS:
        msg = f"the address is longer than {_MOST_CHARS} characters"
        raise InvalidDataError(msg, _HINT)
    if any(char.isspace() or unicodedata.category(char) in _BAD for char in text) or "\\" in text:
        msg = "the address holds white space, control characters or backslashes"
        raise InvalidDataError(msg, _HINT)
    try:
        parts = urlsplit(text)
        port = parts.port
        host = _host(parts.hostname or "")
    except ValueError as error:
        raise _malformed() from error
    if parts.scheme not in _PORTS:
        msg = "only http and https addresses can be fetched"
        raise RefusedError(msg, _HINT)
    if "@" in parts.netloc:
        msg = "an address with a user name or password in it is not fetched"
        raise RefusedError(msg, "Leave out what stands before the @.")
    if not host:
        raise _malformed()
    port = _PORTS[parts.scheme] if port is None else port
    if not 1 <= port <= _MOST_PORT or port not in ports:
        msg = f"port {port} is not fetched from"
        raise RefusedError(msg, "The node's owner may allow it with ports under [fetch].")
    path = quote(parts.path or "/", safe=_SAFE)
    query = quote(parts.query, safe=_SAFE)
    return PageAddress(parts.scheme, host, port, urlunsplit(("", "", path, query, "")))


def redirected(page: PageAddress, location: str, ports: frozenset[int]) -> PageAddress:
    """Where a redirect leads, checked as anew; raises as `parse_page_address`.

    From `https` it may not lead to `http`: what was asked for encrypted stays so.
    """
    try:
        joined = urljoin(str(page), location.strip())
    except ValueError as error:
        raise _malformed() from error
    target = parse_page_address(joined, ports)
    if page.scheme == "https" and target.scheme == "http":
        msg = f"{page.host} leads from an encrypted page to one that is not"
        raise RefusedError(msg, "Ask for the http address itself if that is what you want.")
    return target


def _host(text: str) -> str:
    host = text.rstrip(".")
    if "%" in host:
        raise _malformed()
    if parse_address(host) is not None or not host:
        return host.lower()
    try:
        # Numbers that only some programs take for an address (0x7f.1, 2130706433) are names here,
        # which the resolver may still turn into one: the address that comes of it is checked.
        return httpx2.URL(scheme="http", host=host).raw_host.decode("ascii").lower()
    except httpx2.InvalidURL as error:
        raise _malformed() from error


def _malformed() -> InvalidDataError:
    return InvalidDataError("that is not the address of a page", _HINT)
