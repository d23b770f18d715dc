"""Fetching one page: every address is checked, and the checked address is the one connected to.

A name is resolved once, here; what it resolved to is judged and then dialled as a number, with the
name in the `Host` field and in TLS. So a name that means something else a moment later (DNS
rebinding) leads nowhere new. A redirect is a new address and is checked like the first.
"""

from __future__ import annotations

import asyncio
import re
import socket
import zlib
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import httpx2
from homing_core.errors import InvalidDataError, OverloadedError, RefusedError, UnavailableError

from homing_agent.web.addresses import Allowed, parse_address
from homing_agent.web.answers import length_of, refusal, request_for, unpacker, unreachable
from homing_agent.web.surroundings import look_around
from homing_agent.web.urls import parse_page_address, redirected

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from homing_agent.web.addresses import Address
    from homing_agent.web.surroundings import Surroundings
    from homing_agent.web.urls import PageAddress

Resolve: TypeAlias = "Callable[[str, int], Awaitable[tuple[Address, ...]]]"
"""Gives a name's addresses; raises `OSError`."""

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS: Final = 5
_MOST_ADDRESSES: Final = 8
_CONNECT_S: Final = 10.0
_PIECE: Final = 64 << 10
_OK: Final = 200
_CHARSET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+-]{0,39}")


@dataclass(frozen=True, slots=True)
class FetchRules:
    """What may be fetched, and how much of it.

    Attributes:
        allowed: private addresses that may be asked.
        ports: TCP ports that may be asked.
        most_bytes: of a page, packed and unpacked.
        seconds: for everything: redirects, connecting, reading.
    """

    allowed: Allowed = field(default_factory=Allowed)
    ports: frozenset[int] = frozenset({80, 443})
    most_bytes: int = 5_000_000
    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Page:
    """What was fetched.

    Attributes:
        address: where it came from, after redirects.
        media_type: lower case, without parameters; empty if the server did not say.
        charset: as the server said; empty if it did not.
        data: the bytes, unpacked.
    """

    address: PageAddress
    media_type: str
    charset: str
    data: bytes


async def resolve(host: str, port: int) -> tuple[Address, ...]:
    """A name's addresses by the system's resolver, each once, in its order."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = (parse_address(str(entry[4][0])) for entry in found)
    return tuple(dict.fromkeys(one for one in addresses if one is not None))


class PageFetcher:
    """Fetches pages for a model.

    Args:
        rules: what may be fetched.
        resolver: gives a name's addresses.
        verify: what certificates are checked with; True takes the system's authorities.
        around: tells what else is of this home, at every page anew.
    """

    def __init__(
        self,
        rules: FetchRules,
        resolver: Resolve = resolve,
        verify: ssl.SSLContext | bool = True,  # noqa: FBT001, FBT002  # as the client library has it
        around: Callable[[], Surroundings] = look_around,
    ) -> None:
        """Keep them."""
        self._around = around
        self._rules = rules
        self._resolve = resolver
        self._verify = verify
        self._trusted: ssl.SSLContext | None = None

    def check(self, text: str) -> PageAddress:
        """What an address would lead to, without asking anybody; raises as `fetch`."""
        page = parse_page_address(text, self._rules.ports)
        literal = parse_address(page.host)
        if literal is not None:
            self._judge(page, (literal,), self._around())
        return page

    async def fetch(self, text: str, progress: Callable[[int, int], None]) -> Page:
        """Fetch a page.

        Args:
            text: its address.
            progress: is told bytes that have arrived, and bytes in all (0 if unknown).

        Raises:
            InvalidDataError: no address, or the answer is not what HTTP allows.
            RefusedError: the address may not be asked, or the server refuses.
            OverloadedError: the page is too large.
            UnavailableError: the server cannot be reached, fails or takes too long.
        """
        try:
            async with asyncio.timeout(self._rules.seconds):
                return await self._follow(self.check(text), progress)
        except TimeoutError:
            msg = f"the page did not arrive within {self._rules.seconds:g} s"
            raise UnavailableError(msg, "Try again later.") from None

    async def _follow(self, page: PageAddress, progress: Callable[[int, int], None]) -> Page:
        for _ in range(_MOST_REDIRECTS + 1):
            async with self._answer(page) as response:
                if response.status_code not in _REDIRECTS:
                    return await self._read(page, response, progress)
                location = response.headers.get("location", "")
            if not location:
                msg = f"{page.host} redirects to nowhere"
                raise InvalidDataError(msg)
            page = redirected(page, location, self._rules.ports)
        msg = f"the page redirects more than {_MOST_REDIRECTS} times"
        raise InvalidDataError(msg, "Its server may be misconfigured.")

    @asynccontextmanager
    async def _answer(self, page: PageAddress) -> AsyncGenerator[httpx2.Response]:
        addresses = await self._addresses(page)
        # Without TLS there is no certificate, and no need to read the authorities.
        verify = await self._context() if page.scheme == "https" else False
        for last, address in ((one == addresses[-1], one) for one in addresses):
            client = httpx2.AsyncClient(
                # Neither a proxy nor a password file of the environment has a say.
                trust_env=False,
                verify=verify,
                follow_redirects=False,
                timeout=httpx2.Timeout(self._rules.seconds, connect=_CONNECT_S),
            )
            async with client:
                try:
                    response = await client.send(request_for(client, page, address), stream=True)
                except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                    if last:
                        raise unreachable(page, error) from error
                    continue
                except httpx2.HTTPError as error:
                    raise unreachable(page, error) from error
                try:
                    yield response
                finally:
                    await response.aclose()
                return

    async def _context(self) -> ssl.SSLContext:
        """What certificates are checked with; reading the authorities takes a while, so once."""
        if self._trusted is None:
            make = partial(httpx2.create_ssl_context, self._verify, trust_env=False)
            self._trusted = await asyncio.to_thread(make)
        return self._trusted

    async def _addresses(self, page: PageAddress) -> tuple[Address, ...]:
        literal = parse_address(page.host)
        if literal is not None:
            found: tuple[Address, ...] = (literal,)
        else:
            try:
                found = await self._resolve(page.host, page.port)
            except (OSError, UnicodeError) as error:
                msg = f"there is no server named {page.host}, or names cannot be resolved now"
                raise UnavailableError(msg, "Check the address.") from error
        if not found:
            msg = f"{page.host} has no address"
            raise UnavailableError(msg, "Check the address.")
        self._judge(page, found, await asyncio.to_thread(self._around))
        return found[:_MOST_ADDRESSES]

    def _judge(
        self, page: PageAddress, addresses: tuple[Address, ...], around: Surroundings
    ) -> None:
        """One private address among several is enough to refuse: who mixes them is up to it."""
        for address in addresses:
            why = self._rules.allowed.refusal(page.host, address, around)
            if why:
                what, _, hint = why.partition(". ")
                msg = f"{page.host} is not fetched: it leads to {what}"
                raise RefusedError(msg, hint)

    async def _read(
        self, page: PageAddress, response: httpx2.Response, progress: Callable[[int, int], None]
    ) -> Page:
        if response.status_code != _OK:
            raise refusal(page, response.status_code)
        total = length_of(response)
        if total > self._rules.most_bytes:
            raise self._too_large()
        unpack = unpacker(page, response)
        data, arrived = bytearray(), 0
        try:
            async for piece in response.aiter_raw(_PIECE):
                arrived += len(piece)
                if arrived > self._rules.most_bytes:
                    raise self._too_large()
                data += unpack(piece, self._rules.most_bytes - len(data) + 1)
                if len(data) > self._rules.most_bytes:
                    raise self._too_large()
                progress(arrived, total)
        except httpx2.HTTPError as error:
            raise unreachable(page, error) from error
        except zlib.error as error:
            msg = f"what {page.host} sends is damaged"
            raise InvalidDataError(msg, "Try again later.") from error
        kind, _, _ = response.headers.get("content-type", "").partition(";")
        charset = _CHARSET.fullmatch(response.charset_encoding or "")
        return Page(page, kind.strip().lower(), charset.group() if charset else "", bytes(data))

    def _too_large(self) -> OverloadedError:
        msg = f"the page is larger than {self._rules.most_bytes:,} bytes"
        return OverloadedError(msg, "The node's owner may raise max_bytes under [fetch].")
