"""The command line's side of the local Phone service: values in and out."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc.aio
from homing_core.errors import HomingError, UnavailableError
from homing_core.labels import clean_label
from homing_crypto.rpc_errors import error_from_rpc
from homing_proto.codec.access import decode_device_role
from homing_proto.codec.common import decode_error, decode_place
from homing_proto.codec.nodes import decode_served_model
from homing_proto.v1 import phone_pb2, phone_pb2_grpc

from homing_client.rpc.phone_codec import (
    decode_event,
    decode_phone_tools,
    encode_consent_answer,
    encode_question,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from homing_agent.ports import ConsentAnswer
    from homing_agent.request import AskInput
    from homing_core.access import DeviceRole
    from homing_core.nodes import ServedModel
    from homing_core.tools import Place, ToolSpec
    from homing_proto.v1.phone_pb2_grpc import PhoneServiceAsyncStub

    from homing_client.sessions import Shown

_QUICK_S = 10.0
_PAIR_S = 60.0


@dataclass(frozen=True, slots=True)
class ResidentStatus:
    """How the resident process is. `error` says what keeps it from getting ready, if anything."""

    version: str
    pid: int
    model: str
    stand_in: bool
    ready: bool
    activity: str
    error: HomingError | None
    device_id: str
    idle_seconds: int


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node as the resident process sees it; times as in `KnownNode` of phone.proto."""

    node_id: str
    name: str
    place: Place
    reachable: bool
    address: str
    last_verified_at: int
    round_trip_ms: float
    role: DeviceRole
    models: tuple[ServedModel, ...]
    error: HomingError | None


class AskStream:
    """One request on the wire: its events, and a way to answer consent questions."""

    def __init__(self, stub: PhoneServiceAsyncStub, request: AskInput) -> None:
        """Nothing is sent before `events` is read."""
        self._stub = stub
        self._request = request
        self._frames: asyncio.Queue[phone_pb2.AskRequest] = asyncio.Queue()

    async def events(self) -> AsyncGenerator[Shown, None]:
        """What happens, to the final answer; raises `HomingError`."""
        self._frames.put_nowait(phone_pb2.AskRequest(question=encode_question(self._request)))
        call = self._stub.Ask(self._outgoing())
        try:
            async for response in call:
                yield decode_event(response)
        except grpc.aio.AioRpcError as error:
            raise _local_error(error) from error
        finally:
            call.cancel()

    def answer(self, answer: ConsentAnswer) -> None:
        """Say what the person said."""
        self._frames.put_nowait(phone_pb2.AskRequest(consent=encode_consent_answer(answer)))

    def cancel(self) -> None:
        """Ask for the request to be ended."""
        self._frames.put_nowait(phone_pb2.AskRequest(cancel=True))

    async def _outgoing(self) -> AsyncIterator[phone_pb2.AskRequest]:
        while True:
            yield await self._frames.get()


class PhoneCalls:
    """The local service on an open channel."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Make the stub."""
        self._stub = phone_pb2_grpc.PhoneServiceStub(channel)

    def ask(self, request: AskInput) -> AskStream:
        """One request."""
        return AskStream(self._stub, request)

    async def status(self) -> ResidentStatus:
        """How the process is; raises `HomingError`."""
        try:
            found = await self._stub.GetStatus(phone_pb2.GetStatusRequest(), timeout=_QUICK_S)
        except grpc.aio.AioRpcError as error:
            raise _local_error(error) from error
        return ResidentStatus(
            version=found.version,
            pid=found.pid,
            model=clean_label(found.model, fallback=""),
            stand_in=found.stand_in,
            ready=found.ready,
            activity=clean_label(found.activity, 200, fallback=""),
            error=decode_error(found.error) if found.HasField("error") else None,
            device_id=found.device_id,
            idle_seconds=found.idle_seconds,
        )

    async def pair(self, link: str, device_name: str) -> NodeRow:
        """Pair with the node that a link names; raises `HomingError`."""
        request = phone_pb2.PairNodeRequest(link=link, device_name=device_name)
        try:
            return _node_row((await self._stub.PairNode(request, timeout=_PAIR_S)).node)
        except grpc.aio.AioRpcError as error:
            raise _local_error(error) from error

    async def nodes(self, *, check: bool) -> tuple[NodeRow, ...]:
        """The nodes; raises `HomingError`."""
        request = phone_pb2.ListNodesRequest(check=check)
        try:
            found = await self._stub.ListNodes(request, timeout=_PAIR_S)
        except grpc.aio.AioRpcError as error:
            raise _local_error(error) from error
        return tuple(_node_row(node) for node in found.nodes)

    async def tools(self) -> tuple[tuple[ToolSpec, ...], tuple[tuple[str, str], ...]]:
        """Tools on offer, and tools that cannot act here with the reason; raises `HomingError`."""
        request = phone_pb2.ListPhoneToolsRequest()
        try:
            return decode_phone_tools(await self._stub.ListPhoneTools(request, timeout=_QUICK_S))
        except grpc.aio.AioRpcError as error:
            raise _local_error(error) from error

    async def stop(self) -> None:
        """Ask the process to leave; raises `HomingError`."""
        try:
            await self._stub.Stop(phone_pb2.StopRequest(), timeout=_QUICK_S)
        except grpc.aio.AioRpcError as error:
            raise _local_error(error) from error


def _local_error(error: grpc.aio.AioRpcError) -> HomingError:
    found = error_from_rpc(error)
    if isinstance(found, UnavailableError) and not error.trailing_metadata():
        # The words for a node far away would mislead here.
        return UnavailableError("the resident process went away", "Try again; it starts by itself.")
    return found


def _node_row(node: phone_pb2.KnownNode) -> NodeRow:
    return NodeRow(
        node_id=node.node_id,
        name=clean_label(node.name),
        place=decode_place(node.place),
        reachable=node.reachable,
        address=node.address,
        last_verified_at=node.last_verified_at,
        round_trip_ms=node.round_trip_ms,
        role=decode_device_role(node.role),
        models=tuple(decode_served_model(model) for model in node.models),
        error=decode_error(node.error) if node.HasField("error") else None,
    )
