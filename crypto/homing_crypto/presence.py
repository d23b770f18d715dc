"""Whether a node is there, proven by its key, where it closed our connection without a word.

A node takes the connection of a device that it does not know only to close it, and TLS gives no
reason. In TLS 1.3 the server proves its key before it looks at the caller's, so a handshake that
ends on our side and is closed afterwards says: it is the node, and it does not know us.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc

from homing_crypto.credentials import pairing_channel

if TYPE_CHECKING:
    from homing_crypto.certificates import CheckedCertificate

_ANY_METHOD = "/homing.Presence/Ask"
_CLOSED = "Socket closed"
_BEFORE = "andshake"
"""In every text of gRPC's about a connection that ended before the server proved its key."""


def closed_after_proof(error: grpc.aio.AioRpcError) -> bool:
    """Whether a call on a new, pinned channel failed only after the node had proven its key."""
    details = error.details() or ""
    closed = error.code() is grpc.StatusCode.UNAVAILABLE and _CLOSED in details
    return closed and _BEFORE not in details


async def is_there(target: str, node: CheckedCertificate, timeout_s: float) -> bool:
    """Whether this node answers at `target`, whatever it thinks of us.

    We do not show who we are, and use the same key exchange as for every call, because a node may
    refuse any other.

    Args:
        target: where to dial, `host:port`.
        node: its certificate.
        timeout_s: for all of it, in seconds.
    """
    async with pairing_channel(target, node) as channel:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(_ANY_METHOD)
        try:
            await call(b"", timeout=timeout_s)
        except grpc.aio.AioRpcError as error:
            refused = error.code() not in {
                grpc.StatusCode.UNAVAILABLE,
                grpc.StatusCode.DEADLINE_EXCEEDED,
            }
            return refused or closed_after_proof(error)
        return True
