"""HTTP/2 by hand (RFC 9113) over whatever TLS the caller likes: no client of ours would."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from homing_crypto.identity import DeviceIdentity

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
CONTINUATION = 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
DEADLINE_S = 20.0


def frame(kind: int, flags: int, stream: int, content: bytes = b"") -> bytes:
    return (
        len(content).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + content
    )


def literal(name: str, value: str) -> bytes:
    """A header as a literal without indexing (RFC 7541, 6.2.2); a long value too."""
    return b"\x00" + _text(name) + _text(value)


def _text(text: str) -> bytes:
    raw = text.encode()
    if len(raw) < 127:
        return bytes([len(raw)]) + raw
    rest, length = len(raw) - 127, b"\x7f"
    while rest >= 128:
        length += bytes([rest % 128 + 128])
        rest //= 128
    return length + bytes([rest]) + raw


def headers(path: str, more: Mapping[str, str] | None = None) -> bytes:
    fields = {
        ":method": "POST",
        ":scheme": "https",
        ":path": path,
        ":authority": "node",
        "te": "trailers",
        "content-type": "application/grpc",
        **(more or {}),
    }
    return b"".join(literal(name, value) for name, value in fields.items())


@dataclass
class RawClient:
    """A connection whose handshake is done."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, *frames: bytes) -> None:
        self.writer.write(b"".join(frames))
        await self.writer.drain()

    async def closed(self) -> None:
        """Wait until the other side ends the connection."""
        async with asyncio.timeout(DEADLINE_S):
            with contextlib.suppress(OSError):
                while await self.reader.read(65536):
                    pass

    async def frames(self) -> AsyncGenerator[tuple[int, int, int, bytes]]:
        """Kind, flags, stream and content of what comes."""
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                head = await asyncio.wait_for(self.reader.readexactly(9), DEADLINE_S)
                content = await self.reader.readexactly(int.from_bytes(head[:3], "big"))
                yield head[3], head[4], int.from_bytes(head[5:], "big"), content

    async def end_of(self, stream: int) -> bytes:
        """The last headers of a stream, in which its status stands; empty if it was cut."""
        async with contextlib.aclosing(self.frames()) as frames:
            async for kind, flags, number, content in frames:
                if number == stream and kind == HEADERS and flags & END_STREAM:
                    return content
                if kind == GOAWAY or (number == stream and kind == RST_STREAM):
                    return b""
        return b""


def tls(
    identity: DeviceIdentity | None = None, most: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
) -> ssl.SSLContext:
    """A careless client's settings: no check of the server, classical key exchange."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = most
    context.set_ecdh_curve("prime256v1")
    context.set_alpn_protocols(["h2"])
    if identity is not None:
        with tempfile.NamedTemporaryFile() as pem:
            Path(pem.name).write_bytes(identity.private_key_pem + identity.certificate.pem)
            context.load_cert_chain(pem.name)
    return context


@contextlib.asynccontextmanager
async def raw_client(port: int, context: ssl.SSLContext) -> AsyncGenerator[RawClient]:
    reader, writer = await asyncio.wait_for(
        asyncio.open_connection("127.0.0.1", port, ssl=context), DEADLINE_S
    )
    try:
        yield RawClient(reader, writer)
    finally:
        writer.transport.abort()
