"""Calls to one node over one channel: core values in and out, every failure a `HomingError`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import grpc.aio
from homing_crypto.rpc_errors import error_from_rpc
from homing_proto.codec.events import decode_numbered
from homing_proto.codec.generation import encode_generate_request
from homing_proto.codec.nodes import decode_node_info
from homing_proto.v1 import inference_pb2, inference_pb2_grpc, node_pb2, node_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable

    from homing_core.generation import GenerateRequest, Numbered
    from homing_core.ids import GenerationId
    from homing_core.nodes import NodeInfo

ResponseT = TypeVar("ResponseT")

_QUICK_S = 5.0
"""Deadline of the small calls around a generation."""


class NodeCalls:
    """The node's services on a channel that is already pinned to its key.

    Args:
        channel: see `homing_crypto.credentials.client_channel`.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Make the stubs."""
        self._node = node_pb2_grpc.NodeServiceStub(channel)
        self._inference = inference_pb2_grpc.InferenceServiceStub(channel)

    async def get_node(self, timeout_s: float) -> NodeInfo:
        """What the node says of itself; raises `HomingError`."""
        try:
            # Waiting for the connection makes the deadline, not an old failure, decide.
            response = await self._node.GetNode(
                node_pb2.GetNodeRequest(), timeout=timeout_s, wait_for_ready=True
            )
        except grpc.aio.AioRpcError as error:
            raise error_from_rpc(error) from error
        return decode_node_info(response)

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[Numbered, None]:
        """Start a generation, or attach to it; raises `HomingError`."""
        call = self._inference.Generate(encode_generate_request(request))
        try:
            async for response in _responses(call):
                yield decode_numbered(response.event)
        finally:
            call.cancel()

    async def resume(self, generation: GenerationId, after: int) -> AsyncGenerator[Numbered, None]:
        """Read on after a number; raises `HomingError`."""
        call = self._inference.Resume(
            inference_pb2.ResumeRequest(generation_id=generation, after_seq=after)
        )
        try:
            async for response in _responses(call):
                yield decode_numbered(response.event)
        finally:
            call.cancel()

    async def ack(self, generation: GenerationId, up_to: int) -> None:
        """Let the node forget what has arrived; raises `HomingError`."""
        request = inference_pb2.AckRequest(generation_id=generation, up_to_seq=up_to)
        try:
            await self._inference.Ack(request, timeout=_QUICK_S)
        except grpc.aio.AioRpcError as error:
            raise error_from_rpc(error) from error

    async def cancel(self, generation: GenerationId) -> None:
        """End a generation; raises `HomingError`."""
        request = inference_pb2.CancelRequest(generation_id=generation)
        try:
            await self._inference.Cancel(request, timeout=_QUICK_S)
        except grpc.aio.AioRpcError as error:
            raise error_from_rpc(error) from error


async def _responses(call: AsyncIterable[ResponseT]) -> AsyncGenerator[ResponseT, None]:
    try:
        async for response in call:
            yield response
    except grpc.aio.AioRpcError as error:
        raise error_from_rpc(error) from error
