"""Fetch the pairing server's certificate and, for a link, hold it against the link's hash.

gRPC cannot pin a certificate by hash. So a plain TLS connection fetches it first, trusting nothing
and sending nothing; only if its hash is the link's does it become the one root of the real
connection, on which the server must prove that it holds the certificate's key.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from typing import TYPE_CHECKING, Any

from homing_core.errors import IntegrityError, UnavailableError

from homing_crypto.certificates import CheckedCertificate, check_certificate

if TYPE_CHECKING:
    from homing_core.addresses import Address

FETCH_TIMEOUT_S = 5.0
"""How long connecting and the handshake may take together, in seconds."""


async def fetch_certificate(
    address: Address, expected_sha256: bytes, timeout_s: float = FETCH_TIMEOUT_S, name: str = ""
) -> CheckedCertificate:
    """The certificate of whoever answers at `address`, if it is the expected one.

    Args:
        address: where the pairing server listens.
        expected_sha256: the link's `certificate_sha256`.
        timeout_s: for all of it, in seconds.
        name: the device id to ask for, where a node may have several; empty takes what it shows.

    Raises:
        IntegrityError: somebody else answers there.
        InvalidDataError: the certificate is the expected one, but no device certificate.
        UnavailableError: nobody answers there in time, or not in TLS 1.3.
    """
    der = await _fetch_within(address, timeout_s, name)
    if hashlib.sha256(der).digest() != expected_sha256:
        msg = "wrong server key: the computer that answered is not the one that made the link"
        raise IntegrityError(msg, "Do not pair with it. Ask for a new link.")
    return check_certificate(der)


async def fetch_unproven(
    address: Address, timeout_s: float = FETCH_TIMEOUT_S
) -> CheckedCertificate:
    """The certificate of whoever answers at `address`, for a pairing by code.

    It says nothing about who that is: the confirmations of the code do, which cover it.

    Raises:
        InvalidDataError: it is no device certificate.
        UnavailableError: nobody answers there in time, or not in TLS 1.3.
    """
    return check_certificate(await _fetch_within(address, timeout_s, ""))


async def _fetch_within(address: Address, timeout_s: float, name: str) -> bytes:
    try:
        async with asyncio.timeout(timeout_s):
            return await _fetch(address, name)
    except (OSError, TimeoutError) as error:  # ssl.SSLError is an OSError
        msg = "the pairing server cannot be reached"
        hint = "Pairing is open for three minutes only: open it again, on the same network."
        raise UnavailableError(msg, hint) from error


async def _fetch(address: Address, name: str) -> bytes:
    # As bytes: Python takes a text for an international name, and a device id is too long for one.
    server_name: Any = name.encode("ascii")
    _, writer = await asyncio.open_connection(
        address.host, address.port, ssl=_context(), server_hostname=server_name
    )
    try:
        channel: ssl.SSLObject = writer.get_extra_info("ssl_object")
        return channel.getpeercert(binary_form=True) or b""
    finally:
        writer.transport.abort()  # nothing was sent, so there is nothing to end politely


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["h2"])  # gRPC's server insists on it
    # Nothing is trusted here: the certificate's hash is compared afterwards.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
