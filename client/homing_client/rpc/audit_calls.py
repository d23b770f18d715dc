"""Reading a home's record over its main port; every failure is a `HomingError`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.labels import clean_label
from homing_proto.codec.audit import MAX_PAGE, decode_entries, decode_signed_head
from homing_proto.codec.fields import max_items
from homing_proto.v1 import audit_pb2, audit_pb2_grpc

from homing_client.rpc.node_calls import plain_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    import grpc.aio
    from homing_core.audit import Entry, SignedHead

_QUICK_S = 5.0
_PAGE_S = 15.0


class AuditCalls:
    """The node's `AuditService`.

    Args:
        channel: see `homing_crypto.credentials.client_channel`.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Make the stub."""
        self._stub = audit_pb2_grpc.AuditServiceStub(channel)

    async def head(self) -> tuple[SignedHead | None, int]:
        """The signed head, None if nothing was recorded; and up to where entries were removed."""
        with plain_errors():
            found = await self._stub.GetHead(audit_pb2.GetHeadRequest(), timeout=_QUICK_S)
        signed = decode_signed_head(found.signed) if found.HasField("signed") else None
        return signed, found.removed_up_to

    async def entries(
        self, after: int, limit: int = MAX_PAGE
    ) -> tuple[tuple[Entry, ...], dict[str, str]]:
        """A page of what comes after a number, and names of devices by id."""
        request = audit_pb2.ListEntriesRequest(after_seq=after, limit=limit)
        with plain_errors():
            found = await self._stub.ListEntries(request, timeout=_PAGE_S)
        return decode_entries(found.entries), clean_names(found.names)


def clean_names(names: Mapping[str, str]) -> dict[str, str]:
    """Names of devices, cleaned: people will read them; raises `InvalidDataError`."""
    max_items(names, 2 * MAX_PAGE, "names of devices")
    return {device: clean_label(name) for device, name in names.items()}
