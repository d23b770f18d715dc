"""What a connection has to be made of, over real handshakes."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

import pytest
from homing_crypto.testing import paired_device, throwaway_identity
from support.guarded import DEADLINE_S, SERVICE, GuardedServer, guarded_server

if TYPE_CHECKING:
    from pathlib import Path

PHONE = throwaway_identity()
HEADERS, SETTINGS, DATA = 1, 4, 0
END_STREAM, END_HEADERS = 1, 4


@pytest.mark.attack
@pytest.mark.parametrize(
    ("version", "let_in"), [(ssl.TLSVersion.TLSv1_2, []), (ssl.TLSVersion.TLSv1_3, ["hi"])]
)
async def test_a_call_over_old_tls_is_not_even_parsed(
    tmp_path: Path, version: ssl.TLSVersion, let_in: list[str]
) -> None:
    """A paired device cannot be made to fall back: gRPC takes the handshake, the guard no call."""
    pem = tmp_path / "phone.pem"
    pem.write_bytes(PHONE.private_key_pem + PHONE.certificate.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(pem)
    context.set_alpn_protocols(["h2"])
    context.maximum_version = version
    async with guarded_server() as server:
        server.store.add(paired_device(PHONE))
        await asyncio.wait_for(call(server, context), DEADLINE_S)
        assert server.echo.parsed == let_in


async def test_our_own_ends_meet_with_the_post_quantum_hybrid() -> None:
    async with guarded_server(require_hybrid=True) as server:
        server.store.add(paired_device(PHONE))
        async with server.client(PHONE) as client:
            assert await client.unary("Unary") == "phone: hi"


async def call(server: GuardedServer, context: ssl.SSLContext) -> None:
    """One gRPC call by hand (HTTP/2, RFC 9113), to its end: no client of ours speaks old TLS."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=context)
    writer.write(
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        + frame(SETTINGS, 0, 0, b"")
        + frame(HEADERS, END_HEADERS, 1, header_block(f"/{SERVICE}/Unary"))
        + frame(DATA, END_STREAM, 1, b"\x00\x00\x00\x00\x02hi")
    )
    await writer.drain()
    while True:
        head = await reader.readexactly(9)
        await reader.readexactly(int.from_bytes(head[:3], "big"))
        if head[3] == HEADERS and head[4] & END_STREAM:
            break
    writer.close()


def frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return (
        len(content).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + content
    )


def header_block(path: str) -> bytes:
    """Every field as a literal without indexing (RFC 7541, section 6.2.2)."""
    fields = {
        ":method": "POST",
        ":scheme": "https",
        ":path": path,
        ":authority": "node",
        "te": "trailers",
        "content-type": "application/grpc",
    }
    return b"".join(
        b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        for name, value in fields.items()
    )
