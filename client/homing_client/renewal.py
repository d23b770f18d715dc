"""Keys that are replaced, over one connection: this phone's, told to a node, and the node's own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from homing_core.errors import HomingError, IntegrityError, InvalidDataError, NotFoundError
from homing_crypto.certificates import check_certificate
from homing_crypto.credentials import client_channel

from homing_client.rpc.keys_calls import KeysCalls

if TYPE_CHECKING:
    from collections.abc import Callable

    import grpc.aio
    from homing_core.ids import DeviceId
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import KnownNode, NodeBook
    from homing_crypto.rotation import NewKey

_FOLLOW_S = 3.0
"""Deadline for learning a node's new key, in seconds."""


async def tell_new_key(
    channel: grpc.aio.Channel,
    address: str,
    node: KnownNode,
    keys: tuple[DeviceIdentity, DeviceIdentity],
    timeout_s: float,
) -> grpc.aio.Channel:
    """Let a node know this phone by a new key, and end the old one there.

    Args:
        channel: the connection at hand.
        address: where the node answers.
        node: as the book knows it.
        keys: the one of the connection at hand, and the one to go on with; they may be the same.
        timeout_s: deadline of each call, in seconds.

    Returns:
        A connection with the new key; the one at hand if that is it.

    Raises:
        HomingError: the node was not reached or refused.
    """
    old, new = keys
    if old.device_id == new.device_id:
        await KeysCalls(channel, timeout_s).finish()
        return channel
    await KeysCalls(channel, timeout_s).rotate(node, old, new)
    fresh = client_channel(address, new, check_certificate(node.certificate_der))
    try:
        await KeysCalls(fresh, timeout_s).finish()
    except HomingError:
        await fresh.close()
        raise
    return fresh


async def follow(
    channel: grpc.aio.Channel | None,
    address: str,
    node: KnownNode,
    now: DeviceId,
    store: Callable[[DeviceId, NewKey], KnownNode],
) -> KnownNode:
    """Learn the new key of a node that has proven its old one, and store it.

    Args:
        channel: pinned to the old key.
        address: where the node answers.
        node: as the book knows it.
        now: who it says that it is.
        store: stores the new key; called in another thread.

    Raises:
        IntegrityError: the old key did not speak for the new one.
        HomingError: the node cannot be asked, or the book cannot be written.
    """
    msg = f"the computer at {address} says that it is another node"
    another = IntegrityError(msg, "Pair again if the node was set up anew.")
    if channel is None:
        raise another
    try:
        key = await KeysCalls(channel, _FOLLOW_S).successor(node)
        if key is None or key.id != now:
            raise another
        return await asyncio.to_thread(store, node.id, key)
    except (IntegrityError, InvalidDataError, NotFoundError) as error:
        raise another from error


def store_successor(
    book: NodeBook,
    prepare: Callable[[DeviceId, DeviceId], None] | None,
    old: DeviceId,
    key: NewKey,
) -> KnownNode:
    """Let what is remembered of a node elsewhere know its new id, and only then the book.

    After a kill in between, the node is followed again.

    Raises:
        HomingError: one of them cannot be written; the book is as it was.
    """
    if prepare is not None:
        prepare(old, key.id)
    return book.succeed(old, key)
