"""Calls to one node over one channel: core values in and out, every failure a `HomingError`."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, TypeVar

import grpc.aio
from homing_core.errors import HomingError, UnavailableError
from homing_crypto.rpc_errors import BelowFloorError, error_from_rpc
from homing_proto.codec.events import decode_numbered
from homing_proto.codec.generation import encode_generate_request
from homing_proto.codec.nodes import decode_node_info
from homing_proto.v1 import inference_pb2, inference_pb2_grpc, node_pb2, node_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from homing_core.generation import GenerateRequest, Numbered
    from homing_core.ids import GenerationId
    from homing_core.nodes import NodeInfo

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")

_QUICK_S = 5.0
"""Deadline of the small calls around a generation."""
_FROM_HOMING = "homing-code"
_CLOSED = "Socket closed"
_REFUSED = "Connection refused"


class BrokenLineError(UnavailableError):
    """The connection broke or was never made; the node itself said nothing."""


class ShutOutError(BrokenLineError):
    """Somebody took the connection and closed it at once, as a node does that knows us not."""


class NobodyListensError(BrokenLineError):
    """The computer is there and says that nothing listens: the node does not run."""


class NodeCalls:
    """The node's services on a channel that is already pinned to its key.

    Every method raises `HomingError`: a `BrokenLineError` where trying again may help.

    Args:
        channel: see `homing_crypto.credentials.client_channel`.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Make the stubs."""
        self._node = node_pb2_grpc.NodeServiceStub(channel)
        self._inference = inference_pb2_grpc.InferenceServiceStub(channel)

    async def get_node(self, timeout_s: float) -> NodeInfo:
        """What the node says of itself.

        It fails as soon as the connection does: a refused connection or a wrong key is told at
        once, and not after the whole of `timeout_s`.
        """
        with plain_errors():
            response = await self._node.GetNode(node_pb2.GetNodeRequest(), timeout=timeout_s)
        return decode_node_info(response)

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[Numbered, None]:
        """Start a generation, or attach to it."""
        with plain_errors():
            call = self._inference.Generate(encode_generate_request(request))
        async with contextlib.aclosing(_responses(call)) as responses:
            async for response in responses:
                yield decode_numbered(response.event)

    async def resume(self, generation: GenerationId, after: int) -> AsyncGenerator[Numbered, None]:
        """Read on after a number."""
        with plain_errors():
            call = self._inference.Resume(
                inference_pb2.ResumeRequest(generation_id=generation, after_seq=after)
            )
        async with contextlib.aclosing(_responses(call)) as responses:
            async for response in responses:
                yield decode_numbered(response.event)

    async def ack(self, generation: GenerationId, up_to: int) -> None:
        """Let the node forget what has arrived."""
        request = inference_pb2.AckRequest(generation_id=generation, up_to_seq=up_to)
        with plain_errors():
            await self._inference.Ack(request, timeout=_QUICK_S)

    async def cancel(self, generation: GenerationId) -> None:
        """End a generation."""
        request = inference_pb2.CancelRequest(generation_id=generation)
        with plain_errors():
            await self._inference.Cancel(request, timeout=_QUICK_S)


async def _responses(
    call: grpc.aio.UnaryStreamCall[RequestT, ResponseT],
) -> AsyncGenerator[ResponseT, None]:
    try:
        with plain_errors():
            async for response in call:
                yield response
    finally:
        call.cancel()


@contextlib.contextmanager
def plain_errors() -> Generator[None]:
    """Whatever a call to a node ends with becomes a `HomingError`."""
    try:
        yield
    except grpc.aio.AioRpcError as error:
        raise _error_from_call(error) from error
    except grpc.aio.UsageError as error:  # the channel was closed before the call
        raise _dropped() from error
    except asyncio.CancelledError:
        # A channel that is closed cancels its calls, which looks as if this task were cancelled.
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise _dropped() from None


def _error_from_call(error: grpc.aio.AioRpcError) -> HomingError:
    found = error_from_rpc(error)
    metadata = error.trailing_metadata() or ()
    if not isinstance(found, UnavailableError) or isinstance(found, BelowFloorError):
        return found
    if any(key == _FROM_HOMING for key, _ in metadata):
        return found
    details = error.details() or ""
    if _CLOSED in details:
        return ShutOutError(found.what, found.hint)
    if _REFUSED in details:
        return NobodyListensError(found.what, found.hint)
    return BrokenLineError(found.what, found.hint)


def _dropped() -> BrokenLineError:
    return BrokenLineError("the connection was closed", "Try again.")
