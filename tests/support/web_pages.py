"""A web server on this machine that answers exactly what a test says, and a resolver for it."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING

from homing_agent.web.addresses import Allowed
from homing_agent.web.fetch import FetchRules, PageFetcher

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_agent.web.addresses import Address

HTML = "text/html; charset=utf-8"


def answer(body: bytes = b"", kind: str = HTML, status: str = "200 OK", **headers: str) -> bytes:
    """A whole HTTP answer."""
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", "connection: close"]
    if kind:
        lines.append(f"content-type: {kind}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def page(words: str, title: str = "A page") -> bytes:
    """A page with enough text to be one."""
    return (
        f"<!doctype html><html><head><title>{title}</title></head><body><article><h1>{title}</h1>"
        f"<p>{words}</p></article></body></html>"
    ).encode()


def redirect(location: str) -> bytes:
    return answer(status="302 Found", kind="", location=location)


@dataclass
class Web:
    """What the server knows, and what it was asked.

    Attributes:
        port: where it listens, on 127.0.0.1.
        answers: by path; a missing one never answers.
        asked: `Host` field and path of each request.
    """

    port: int = 0
    answers: dict[str, bytes] = field(default_factory=dict[str, bytes])
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    heads: list[str] = field(default_factory=list[str])
    serving: set[asyncio.Task[object]] = field(default_factory=set[asyncio.Task[object]])

    def fetcher(self, *allowed: str, **rules: object) -> PageFetcher:
        """A fetcher that may ask this server; its names resolve to where it is."""
        return PageFetcher(self.rules(*allowed, **rules), Names({"*": ["127.0.0.1"]}))

    def rules(self, *allowed: str, **rules: object) -> FetchRules:
        given = {"ports": frozenset({80, 443, self.port}), **rules}
        return FetchRules(Allowed.parse(allowed or ("127.0.0.1",)), **given)  # type: ignore[arg-type]  # named by the dataclass

    def url(self, path: str = "/", host: str = "pages.test", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (task := asyncio.current_task()) is not None:
            self.serving.add(task)
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await self._serve(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.heads.append(head)
            lines = head.split("\r\n")
            host = next(
                (line[5:].strip() for line in lines if line.lower().startswith("host:")), ""
            )
            path = lines[0].split(" ")[1]
            self.asked.append((host, path))
            found = self.answers.get(path)
            if found is None:
                await reader.read()
            else:
                writer.write(found)
                await writer.drain()


@dataclass
class Names:
    """A resolver: a list of addresses for each name, `*` for all others; one after the other.

    Attributes:
        known: addresses by name; the last entry stays.
        asked: every name in order.
    """

    known: dict[str, list[str]]
    asked: list[str] = field(default_factory=list[str])

    async def __call__(self, host: str, _: int) -> tuple[Address, ...]:
        self.asked.append(host)
        found = self.known.get(host) or self.known.get("*")
        if not found:
            raise OSError
        first = found[0] if len(found) == 1 else found.pop(0)
        return tuple(ip_address(one) for one in first.split())


@contextlib.asynccontextmanager
async def web(context: ssl.SSLContext | None = None) -> AsyncGenerator[Web]:
    """A server for the length of a block."""
    found = Web()
    server = await asyncio.start_server(found.serve, "127.0.0.1", 0, ssl=context)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        server.close()
        if found.serving:
            await asyncio.wait(found.serving)
