"""The command line's side of the local Phone service: values in and out."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc.aio
from homing_core.errors import HomingError, InvalidDataError, OverloadedError, UnavailableError
from homing_core.labels import clean_label
from homing_crypto.rpc_errors import error_from_rpc
from homing_proto.codec.access import decode_device_role
from homing_proto.codec.common import decode_error, decode_place
from homing_proto.codec.nodes import decode_own_limits, decode_served_model
from homing_proto.v1 import phone_pb2, phone_pb2_grpc

from homing_client.rpc.phone_codec import (
    decode_phone_tools,
    encode_consent_answer,
    encode_question,
)
from homing_client.rpc.phone_events import decode_event

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Generator

    from homing_agent.ports import ConsentAnswer
    from homing_agent.request import AskInput
    from homing_core.access import DeviceRole
    from homing_core.nodes import OwnLimits, ServedModel
    from homing_core.tools import Place, ToolSpec
    from homing_proto.v1.phone_pb2_grpc import PhoneServiceAsyncStub

    from homing_client.sessions import Shown

_QUICK_S = 10.0
_PAIR_S = 60.0
_FROM_HOMING = "homing-code"
_MAX_ADDRESS = 300


class ResidentGoneError(UnavailableError):
    """The resident process went away; what it was asked can be asked again."""


@dataclass(frozen=True, slots=True)
class ResidentStatus:
    """How the resident process is; see `GetStatusResponse` of phone.proto.

    `error` says what keeps it from getting ready, if anything.
    """

    version: str
    pid: int
    model: str
    stand_in: bool
    ready: bool
    activity: str
    error: HomingError | None
    device_id: str
    idle_seconds: int
    running: int
    wanted_model: str
    stand_in_allowed: bool


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
    introduced_by: str = ""
    introduced_by_name: str = ""
    lease_expires_at: int = 0
    own: OwnLimits | None = None


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
            with local_errors():
                async for response in call:
                    yield decode_event(response)
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
    """The local service on an open channel. Every method raises `HomingError`."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Make the stub."""
        self.channel = channel
        self._stub = phone_pb2_grpc.PhoneServiceStub(channel)

    def ask(self, request: AskInput) -> AskStream:
        """One request."""
        return AskStream(self._stub, request)

    async def status(self) -> ResidentStatus:
        """How the process is."""
        with local_errors():
            found = await self._stub.GetStatus(phone_pb2.GetStatusRequest(), timeout=_QUICK_S)
        return ResidentStatus(
            version=clean_label(found.version, fallback=""),
            pid=found.pid,
            model=clean_label(found.model, fallback=""),
            stand_in=found.stand_in,
            ready=found.ready,
            activity=clean_label(found.activity, 200, fallback=""),
            error=decode_error(found.error) if found.HasField("error") else None,
            device_id=clean_label(found.device_id, fallback=""),
            idle_seconds=found.idle_seconds,
            running=found.running,
            wanted_model=found.wanted_model,
            stand_in_allowed=found.stand_in_allowed,
        )

    async def pair(self, link: str, device_name: str) -> NodeRow:
        """Pair with the node that a link names."""
        request = phone_pb2.PairNodeRequest(link=link, device_name=device_name)
        with local_errors():
            return node_row((await self._stub.PairNode(request, timeout=_PAIR_S)).node)

    async def nodes(self, *, check: bool) -> tuple[NodeRow, ...]:
        """The nodes, called if `check` is set."""
        request = phone_pb2.ListNodesRequest(check=check)
        with local_errors():
            found = await self._stub.ListNodes(request, timeout=_PAIR_S)
        return tuple(node_row(node) for node in found.nodes)

    async def tools(self) -> tuple[tuple[ToolSpec, ...], tuple[tuple[str, str], ...]]:
        """Tools on offer, and tools that cannot act here with the reason."""
        request = phone_pb2.ListPhoneToolsRequest()
        with local_errors():
            return decode_phone_tools(await self._stub.ListPhoneTools(request, timeout=_QUICK_S))

    async def stop(self) -> None:
        """Ask the process to leave."""
        with local_errors():
            await self._stub.Stop(phone_pb2.StopRequest(), timeout=_QUICK_S)


@contextlib.contextmanager
def local_errors() -> Generator[None]:
    """The words for a node far away would mislead here."""
    try:
        yield
    except grpc.aio.AioRpcError as error:
        raise _local_error(error) from error


def _local_error(error: grpc.aio.AioRpcError) -> HomingError:
    found = error_from_rpc(error)
    if any(key == _FROM_HOMING for key, _ in error.trailing_metadata() or ()):
        return found
    match found:
        case UnavailableError() if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
            return UnavailableError(
                "the resident process does not answer in time",
                "Try again, or end it: homing serve --stop",
            )
        case UnavailableError():
            return ResidentGoneError(
                "the resident process went away", "Try again; it starts by itself."
            )
        case OverloadedError() | InvalidDataError():
            return found
        case _:
            return InvalidDataError(
                "the resident process cannot read this request",
                "It may run another version. End it: homing serve --stop",
            )


def node_row(node: phone_pb2.KnownNode) -> NodeRow:
    """A node from the wire; raises `InvalidDataError`."""
    return NodeRow(
        node_id=node.node_id,
        name=clean_label(node.name),
        place=decode_place(node.place),
        reachable=node.reachable,
        address=clean_label(node.address, _MAX_ADDRESS, fallback=""),
        last_verified_at=node.last_verified_at,
        round_trip_ms=node.round_trip_ms,
        role=decode_device_role(node.role),
        models=tuple(decode_served_model(model) for model in node.models),
        error=decode_error(node.error) if node.HasField("error") else None,
        introduced_by=node.introduced_by,
        introduced_by_name=clean_label(node.introduced_by_name, fallback=""),
        lease_expires_at=node.lease_expires_at,
        own=decode_own_limits(node.limits) if node.HasField("limits") else None,
    )
