"""The local service for the records of homes, and the command line's side of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc.aio
from homing_core.labels import clean_label
from homing_proto.codec.audit import decode_entries, decode_head, encode_entries, encode_head
from homing_proto.v1 import phone_audit_pb2 as wire
from homing_proto.v1 import phone_audit_pb2_grpc

from homing_client.rpc.audit_calls import clean_names
from homing_client.rpc.phone_calls import local_errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.audit import Entry, Head

    from homing_client.audit import NodeRecord, Records

Context = grpc.aio.ServicerContext[Any, Any]

_QUICK_S = 10.0
_CHECK_S = 120.0
_MOST_SHOWN = 500
_MAX_LINE = 300


@dataclass(frozen=True, slots=True)
class RecordRow:
    """What is remembered of a record; see `KeptRecord` of phone_audit.proto."""

    node_id: str
    node_name: str
    kept: Head | None
    checked_at: int
    trouble: str
    trouble_at: int
    shown: Head | None


class PhoneAuditService(phone_audit_pb2_grpc.PhoneAuditServiceServicer):
    """See `phone_audit.proto`.

    Args:
        records: does everything; this class only translates.
    """

    def __init__(self, records: Records) -> None:
        """Nothing to prepare."""
        self._records = records

    async def ListRecords(  # noqa: N802  # the wire's name
        self, request: wire.ListRecordsRequest, context: Context
    ) -> wire.ListRecordsResponse:
        """What is remembered of each home's record."""
        del request, context
        return wire.ListRecordsResponse(records=[_encode(one) for one in await self._records.all()])

    async def CheckRecord(  # noqa: N802  # the wire's name
        self, request: wire.CheckRecordRequest, context: Context
    ) -> wire.CheckRecordResponse:
        """Compare now."""
        del context
        return wire.CheckRecordResponse(record=_encode(await self._records.check(request.node)))

    async def AcceptRecord(  # noqa: N802  # the wire's name
        self, request: wire.AcceptRecordRequest, context: Context
    ) -> wire.AcceptRecordResponse:
        """Take a record as it was shown last."""
        del context
        found = await self._records.accept(request.node)
        return wire.AcceptRecordResponse(record=_encode(found))

    async def ShowRecord(  # noqa: N802  # the wire's name
        self, request: wire.ShowRecordRequest, context: Context
    ) -> wire.ShowRecordResponse:
        """The newest entries."""
        del context
        count = min(request.count or _MOST_SHOWN, _MOST_SHOWN)
        entries, names = await self._records.show(request.node, count)
        return wire.ShowRecordResponse(entries=encode_entries(entries), names=names)


def add_phone_audit_service(records: Records) -> Callable[[grpc.aio.Server], None]:
    """What puts the service on the local socket."""
    service = PhoneAuditService(records)
    return lambda server: phone_audit_pb2_grpc.add_PhoneAuditServiceServicer_to_server(
        service, server
    )


class PhoneAuditCalls:
    """The command line's side. Every method raises `HomingError`."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Make the stub."""
        self._stub = phone_audit_pb2_grpc.PhoneAuditServiceStub(channel)

    async def records(self) -> tuple[RecordRow, ...]:
        """What is remembered of each home's record."""
        with local_errors():
            found = await self._stub.ListRecords(wire.ListRecordsRequest(), timeout=_QUICK_S)
        return tuple(map(_decode, found.records))

    async def check(self, node: str) -> RecordRow:
        """Compare a home's record with what is remembered, now."""
        request = wire.CheckRecordRequest(node=node)
        with local_errors():
            return _decode((await self._stub.CheckRecord(request, timeout=_CHECK_S)).record)

    async def accept(self, node: str) -> RecordRow:
        """Take a home's record as it was shown last."""
        request = wire.AcceptRecordRequest(node=node)
        with local_errors():
            return _decode((await self._stub.AcceptRecord(request, timeout=_QUICK_S)).record)

    async def show(self, node: str, count: int) -> tuple[tuple[Entry, ...], dict[str, str]]:
        """The newest entries of a home's record, and names of devices by id."""
        request = wire.ShowRecordRequest(node=node, count=count)
        with local_errors():
            found = await self._stub.ShowRecord(request, timeout=_CHECK_S)
        return decode_entries(found.entries), clean_names(found.names)


def _encode(value: NodeRecord) -> wire.KeptRecord:
    record = value.record
    return wire.KeptRecord(
        node_id=value.node.id,
        node_name=value.node.name,
        kept=encode_head(record.kept) if record.kept else None,
        checked_at=int(record.checked_at),
        trouble=record.trouble,
        trouble_at=int(record.trouble_at),
        shown=encode_head(record.shown) if record.shown else None,
    )


def _decode(message: wire.KeptRecord) -> RecordRow:
    return RecordRow(
        node_id=clean_label(message.node_id, fallback=""),
        node_name=clean_label(message.node_name),
        kept=decode_head(message.kept) if message.HasField("kept") else None,
        checked_at=message.checked_at,
        trouble=clean_label(message.trouble, _MAX_LINE, ""),
        trouble_at=message.trouble_at,
        shown=decode_head(message.shown) if message.HasField("shown") else None,
    )
