"""Greetings by hand: what a caller of any kind would begin TLS with (RFC 8446, 4.1.2)."""

from __future__ import annotations

import itertools

X25519, P256, X25519MLKEM768 = 0x001D, 0x0017, 0x11EC
TLS_1_2, TLS_1_3 = 0x0303, 0x0304
SHARE_BYTES = {X25519: 32, P256: 65, X25519MLKEM768: 1216}
_SIGNATURES = b"\x04\x03\x08\x04"


def sized(size: int, content: bytes) -> bytes:
    """A vector: its length in `size` bytes, and its content."""
    return len(content).to_bytes(size, "big") + content


def numbers(values: tuple[int, ...]) -> bytes:
    return b"".join(value.to_bytes(2, "big") for value in values)


def extension(kind: int, content: bytes) -> bytes:
    return kind.to_bytes(2, "big") + sized(2, content)


def client_hello(
    versions: tuple[int, ...] = (TLS_1_3,),
    groups: tuple[int, ...] = (X25519MLKEM768, X25519),
    shares: tuple[int, ...] | None = None,
    *,
    more: bytes = b"",
    session: bytes = b"s" * 32,
) -> bytes:
    """The whole message, without record headers.

    Args:
        versions: what `supported_versions` lists; empty leaves the extension out.
        groups: by preference; empty leaves the extension out.
        shares: for which keys are sent along, random ones; None is the first group alone.
        more: further extensions.
        session: the old session id.
    """
    sent = groups[:1] if shares is None else shares
    content = extension(13, sized(2, _SIGNATURES)) + extension(16, sized(2, b"\x02h2")) + more
    if versions:
        content += extension(43, sized(1, numbers(versions)))
    if groups:
        content += extension(10, sized(2, numbers(groups)))
        keys = b"".join(
            group.to_bytes(2, "big") + sized(2, b"k" * SHARE_BYTES[group]) for group in sent
        )
        content += extension(51, sized(2, keys))
    body = (
        TLS_1_2.to_bytes(2, "big")
        + b"r" * 32
        + sized(1, session)
        + sized(2, numbers((0x1301, 0xC02B)))
        + sized(1, b"\x00")
        + sized(2, content)
    )
    return b"\x01" + sized(3, body)


def records(message: bytes, *cuts: int) -> bytes:
    """The message in records, cut at these places."""
    edges = (0, *cuts, len(message))
    parts = (message[a:b] for a, b in itertools.pairwise(edges))
    return b"".join(b"\x16\x03\x01" + sized(2, part) for part in parts)


GOOD = records(client_hello())
