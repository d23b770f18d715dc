"""The resident process's local service: what the phone's own command line calls."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, TypeVar

import grpc.aio
from homing_core.errors import HomingError, InvalidDataError
from homing_crypto.rpc_errors import status_parts
from homing_proto.codec.access import encode_device_role
from homing_proto.codec.common import encode_error, encode_place
from homing_proto.codec.nodes import encode_served_model
from homing_proto.v1 import phone_pb2, phone_pb2_grpc

from homing_client.rpc.phone_codec import (
    decode_consent_answer,
    decode_question,
    encode_event,
    encode_phone_tools,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

    from homing_agent.request import AskInput

    from homing_client.phone import NodeReport, Phone
    from homing_client.sessions import Session

T = TypeVar("T")
Context = grpc.aio.ServicerContext[Any, Any]


class PhoneService(phone_pb2_grpc.PhoneServiceServicer):
    """Implements `PhoneService` over a `Phone`.

    Args:
        phone: does everything; this class only translates.
    """

    def __init__(self, phone: Phone) -> None:
        """Nothing to prepare."""
        self._phone = phone

    async def Ask(  # noqa: N802  # the name is the wire's
        self, request_iterator: AsyncIterator[phone_pb2.AskRequest], context: Context
    ) -> AsyncIterator[phone_pb2.AskResponse]:
        """One request with its consent questions."""
        frames = request_iterator.__aiter__()
        try:
            session = self._phone.sessions.open(await self._question(frames))
            reader = asyncio.create_task(self._read(frames, session))
            try:
                async with contextlib.aclosing(session.watch()) as shown:
                    async for event in shown:
                        yield encode_event(event)
            finally:
                reader.cancel()
        except HomingError as error:
            await context.abort(*status_parts(error))

    async def GetStatus(  # noqa: N802  # the name is the wire's
        self, request: phone_pb2.GetStatusRequest, context: Context
    ) -> phone_pb2.GetStatusResponse:
        """How the process is."""
        del request, context
        status = self._phone.status()
        return phone_pb2.GetStatusResponse(
            version=status.version,
            pid=status.pid,
            model=status.model,
            stand_in=status.stand_in,
            ready=status.ready,
            activity=status.activity,
            error=encode_error(status.error) if status.error else None,
            device_id=status.device_id,
            idle_seconds=status.idle_seconds,
        )

    async def PairNode(  # noqa: N802  # the name is the wire's
        self, request: phone_pb2.PairNodeRequest, context: Context
    ) -> phone_pb2.PairNodeResponse:
        """Pair with the node that a link names."""
        report = await _or_abort(context, self._phone.pair(request.link, request.device_name))
        return phone_pb2.PairNodeResponse(node=_encode_report(report))

    async def ListNodes(  # noqa: N802  # the name is the wire's
        self, request: phone_pb2.ListNodesRequest, context: Context
    ) -> phone_pb2.ListNodesResponse:
        """The nodes, called or as remembered."""
        reports = await _or_abort(context, self._phone.nodes(check=request.check))
        return phone_pb2.ListNodesResponse(nodes=[_encode_report(report) for report in reports])

    async def ListPhoneTools(  # noqa: N802  # the name is the wire's
        self, request: phone_pb2.ListPhoneToolsRequest, context: Context
    ) -> phone_pb2.ListPhoneToolsResponse:
        """What the model may call here, and what this device cannot do."""
        del request, context
        return encode_phone_tools(*self._phone.tools())

    async def Stop(  # noqa: N802  # the name is the wire's
        self, request: phone_pb2.StopRequest, context: Context
    ) -> phone_pb2.StopResponse:
        """Leave, once this answer is sent."""
        del request, context
        self._phone.stop()
        return phone_pb2.StopResponse()

    async def _question(self, frames: AsyncIterator[phone_pb2.AskRequest]) -> AskInput:
        async for frame in frames:
            if frame.WhichOneof("kind") == "question":
                return decode_question(frame.question, self._phone.default_sensitivity)
            break
        msg = "the first frame is not a question"
        raise InvalidDataError(msg, "Update the command line and the resident process together.")

    async def _read(self, frames: AsyncIterator[phone_pb2.AskRequest], session: Session) -> None:
        with contextlib.suppress(grpc.aio.BaseError):
            async for frame in frames:
                match frame.WhichOneof("kind"):
                    case "consent":
                        with contextlib.suppress(InvalidDataError):
                            session.answer(decode_consent_answer(frame.consent))
                    case "cancel" if frame.cancel:
                        self._phone.sessions.cancel(session)
                    case _:
                        pass


def add_phone_service(server: grpc.aio.Server, phone: Phone) -> None:
    """Serve a phone."""
    phone_pb2_grpc.add_PhoneServiceServicer_to_server(PhoneService(phone), server)


async def _or_abort(context: Context, work: Awaitable[T]) -> T:
    try:
        return await work
    except HomingError as error:
        await context.abort(*status_parts(error))
        raise  # abort has raised already; this is for the type checker


def _encode_report(report: NodeReport) -> phone_pb2.KnownNode:
    node, verified = report.node, report.verified
    return phone_pb2.KnownNode(
        node_id=node.id,
        name=node.name,
        place=encode_place(node.place),
        reachable=verified is not None,
        address=verified.address if verified else node.last_good_address,
        last_verified_at=int(verified.at if verified else node.last_verified_at),
        round_trip_ms=verified.round_trip_ms if verified else -1.0,
        role=encode_device_role(verified.info.role if verified else node.role),
        models=[encode_served_model(model) for model in verified.info.models] if verified else [],
        error=encode_error(report.error) if report.error else None,
    )
