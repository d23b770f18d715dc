"""The resident process's local service: what the phone's own command line calls."""

from __future__ import annotations

import asyncio
import contextlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import grpc.aio
from homing_agent.runtime.logs import get_logger
from homing_core.errors import HomingError, InternalError, InvalidDataError
from homing_crypto.rpc_errors import status_parts
from homing_proto.codec.access import encode_device_role
from homing_proto.codec.common import encode_error, encode_place
from homing_proto.codec.nodes import encode_own_limits, encode_served_model
from homing_proto.v1 import phone_pb2, phone_pb2_grpc

from homing_client.rpc.phone_codec import (
    decode_consent_answer,
    decode_question,
    encode_phone_tools,
)
from homing_client.rpc.phone_events import encode_event

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping

    from homing_agent.request import AskInput

    from homing_client.phone import NodeReport, Phone
    from homing_client.sessions import Session

Context = grpc.aio.ServicerContext[Any, Any]

_log = get_logger(__name__)


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
        async with clear_end(context):
            question = await self._question(frames)
            session = self._phone.sessions.open(question)
            reader = asyncio.create_task(self._read(frames, session))
            try:
                watching = session.watch(person=question.interactive)
                async with contextlib.aclosing(watching) as shown:
                    async for event in shown:
                        yield encode_event(event)
            finally:
                reader.cancel()

    async def GetStatus(  # noqa: N802  # the name is the wire's
        self, request: phone_pb2.GetStatusRequest, context: Context
    ) -> phone_pb2.GetStatusResponse:
        """How the process is."""
        del request
        async with clear_end(context):
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
                running=status.running,
                wanted_model=status.wanted_model,
                stand_in_allowed=status.stand_in_allowed,
            )

    async def PairNode(  # noqa: N802  # the name is the wire's
        self, request: phone_pb2.PairNodeRequest, context: Context
    ) -> phone_pb2.PairNodeResponse:
        """Pair with the node that a link names."""
        async with clear_end(context):
            report = await self._phone.pair(request.link, request.device_name)
            return phone_pb2.PairNodeResponse(node=encode_report(report))

    async def ListNodes(  # noqa: N802  # the name is the wire's
        self, request: phone_pb2.ListNodesRequest, context: Context
    ) -> phone_pb2.ListNodesResponse:
        """The nodes, called or as remembered."""
        async with clear_end(context):
            reports = await self._phone.nodes(check=request.check)
            names: dict[str, str] = {one.node.id: one.node.name for one in reports}
            return phone_pb2.ListNodesResponse(nodes=[encode_report(one, names) for one in reports])

    async def ListPhoneTools(  # noqa: N802  # the name is the wire's
        self, request: phone_pb2.ListPhoneToolsRequest, context: Context
    ) -> phone_pb2.ListPhoneToolsResponse:
        """What the model may call here, and what this device cannot do."""
        del request
        async with clear_end(context):
            return encode_phone_tools(*self._phone.tools())

    async def Stop(  # noqa: N802  # the name is the wire's
        self, request: phone_pb2.StopRequest, context: Context
    ) -> phone_pb2.StopResponse:
        """Leave, once this answer is sent."""
        del request
        async with clear_end(context):
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
        """What the person says while the request runs. It ends with the stream, however it ends."""
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


@contextlib.asynccontextmanager
async def clear_end(context: Context) -> AsyncGenerator[None]:
    """Errors become a status with our own words; anything else is a bug, told neutrally."""
    try:
        yield
    except HomingError as error:
        await context.abort(*status_parts(error))
    except grpc.aio.BaseError:
        raise  # an abort, or the terminal has gone
    except Exception as error:  # noqa: BLE001  # logged; nothing of it is shown
        _log.error("phone.call_failed", exc_info=error)
        fault = InternalError("something went wrong inside Homing", "The details are in the log.")
        await context.abort(*status_parts(fault))


def encode_report(
    report: NodeReport, names: Mapping[str, str] = MappingProxyType({})
) -> phone_pb2.KnownNode:
    """A node, and who vouches for it by the name that the phone has for that."""
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
        introduced_by=node.introduced_by,
        introduced_by_name=names.get(node.introduced_by, ""),
        lease_expires_at=node.lease_expires_at,
        limits=encode_own_limits(verified.info.own) if verified else None,
    )
