"""The audit log for an owner's devices, and for the node's own command line."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from homing_core.errors import HomingError
from homing_proto.codec.audit import (
    MAX_PAGE,
    decode_head_prefix,
    encode_entries,
    encode_entry,
    encode_signed_head,
)
from homing_proto.codec.fields import max_items
from homing_proto.v1 import audit_pb2 as wire
from homing_proto.v1 import audit_pb2_grpc

from homing_node.rpc.audit_codec import decode_filter, encode_verdict

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

    import grpc.aio
    from homing_core.audit import Entry
    from homing_crypto.audit.log import SqliteAudit
    from homing_crypto.trust import TrustStore

    Context = grpc.aio.ServicerContext[Any, Any]

_MOST_HEADS = 16
_MOST_NUMBER = (1 << 63) - 1


class AuditService(audit_pb2_grpc.AuditServiceServicer):
    """For owners, on the main port. See `audit.proto`.

    Args:
        audit: the record.
        store: for the names of devices.
    """

    def __init__(self, audit: SqliteAudit, store: TrustStore) -> None:
        """Keep where to look."""
        self._audit = audit
        self._store = store

    async def GetHead(  # noqa: N802  # the wire's name
        self, request: wire.GetHeadRequest, context: Context
    ) -> wire.GetHeadResponse:
        """The signed head as it is now."""
        del request, context
        found, removed = await asyncio.to_thread(self._head)
        return wire.GetHeadResponse(signed=found, removed_up_to=removed)

    async def ListEntries(  # noqa: N802  # the wire's name
        self, request: wire.ListEntriesRequest, context: Context
    ) -> wire.ListEntriesResponse:
        """A page of entries."""
        del context
        after = min(request.after_seq, _MOST_NUMBER)
        limit = min(request.limit or MAX_PAGE, MAX_PAGE)
        page = await asyncio.to_thread(self._audit.file.entries, after, limit)
        names = await asyncio.to_thread(names_in, self._store, page)
        return wire.ListEntriesResponse(entries=encode_entries(page), names=names)

    def _head(self) -> tuple[wire.SignedAuditHead | None, int]:
        found, checkpoint = self._audit.file.signed_head(), self._audit.file.checkpoint()
        signed = encode_signed_head(found[0]) if found else None
        return signed, checkpoint.seq if checkpoint else 0


class AuditControlService(audit_pb2_grpc.NodeAuditControlServiceServicer):
    """For the node's own command line. See `audit.proto`; arguments as for `AuditService`."""

    def __init__(self, audit: SqliteAudit, store: TrustStore) -> None:
        """Keep where to look."""
        self._audit = audit
        self._store = store

    async def VerifyAudit(  # noqa: N802  # the wire's name
        self, request: wire.VerifyAuditRequest, context: Context
    ) -> wire.VerifyAuditResponse:
        """Follow the whole chain."""
        del context
        max_items(request.heads, _MOST_HEADS, "heads")
        heads = [decode_head_prefix(head) for head in request.heads]
        verdict = await asyncio.to_thread(self._audit.file.check, heads)
        return encode_verdict(verdict)

    async def ShowAudit(  # noqa: N802  # the wire's name
        self, request: wire.ShowAuditRequest, context: Context
    ) -> wire.ShowAuditResponse:
        """The newest entries that are wanted."""
        del context
        wanted, count = decode_filter(request.filter), min(request.count or MAX_PAGE, MAX_PAGE)
        found = await asyncio.to_thread(self._audit.file.newest, count, wanted)
        names = await asyncio.to_thread(names_in, self._store, found)
        return wire.ShowAuditResponse(entries=encode_entries(found), names=names)

    async def FollowAudit(  # noqa: N802  # the wire's name
        self, request: wire.FollowAuditRequest, context: Context
    ) -> AsyncGenerator[wire.FollowAuditResponse, None]:
        """New entries as they are written."""
        del context
        wanted, after = decode_filter(request.filter), min(request.after_seq, _MOST_NUMBER)
        loop, news = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(news.set)

        end = self._audit.listen(tell)
        try:
            while True:
                news.clear()
                while page := await asyncio.to_thread(self._audit.file.entries, after):
                    after = page[-1].seq
                    for entry in filter(wanted.takes, page):
                        names = await asyncio.to_thread(names_in, self._store, (entry,))
                        yield wire.FollowAuditResponse(entry=encode_entry(entry), names=names)
                await news.wait()
        finally:
            end()


def names_in(store: TrustStore, entries: Iterable[Entry]) -> dict[str, str]:
    """Names of the devices in some entries, as far as the node still knows them."""
    ids = {word for entry in entries for word in (entry.actor, entry.device)}
    try:
        return {device.id: device.name for device in store.devices() if device.id in ids}
    except HomingError:  # ids do without names
        return {}


def add_audit_service(audit: SqliteAudit, store: TrustStore) -> Callable[[grpc.aio.Server], None]:
    """What puts the owners' service on the main port."""
    service = AuditService(audit, store)
    return lambda server: audit_pb2_grpc.add_AuditServiceServicer_to_server(service, server)


def add_audit_control(audit: SqliteAudit, store: TrustStore) -> Callable[[grpc.aio.Server], None]:
    """What puts the command line's service on the local socket."""
    service = AuditControlService(audit, store)
    return lambda server: audit_pb2_grpc.add_NodeAuditControlServiceServicer_to_server(
        service, server
    )
