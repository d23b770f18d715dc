"""Generations on the wire."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any

from homing_core.ids import parse_generation_id
from homing_crypto.rpc_guard import current_caller
from homing_proto.codec.events import encode_numbered
from homing_proto.codec.generation import decode_generate_request
from homing_proto.v1 import inference_pb2 as wire
from homing_proto.v1 import inference_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import grpc

    from homing_node.devices.admission import Admission
    from homing_node.generations.runner import Generations

    Context = grpc.aio.ServicerContext[Any, Any]


class InferenceService(inference_pb2_grpc.InferenceServiceServicer):
    """Runs models for paired devices. See `inference.proto`.

    A generation belongs to the device that asked; another device's id finds nothing.
    """

    def __init__(self, generations: Generations, admission: Admission) -> None:
        """Keep where generations live, and who lets them in."""
        self._generations = generations
        self._admission = admission

    async def Generate(  # noqa: N802  # the wire's name
        self, request: wire.GenerateRequest, context: Context
    ) -> AsyncGenerator[wire.GenerateResponse, None]:
        """Start or attach, then stream from the first event."""
        del context
        device = current_caller().device
        log = self._generations.start(
            device.owner, decode_generate_request(request), partial(self._admission.admit, device)
        )
        async with contextlib.aclosing(self._generations.read(log)) as events:
            async for numbered in events:
                yield wire.GenerateResponse(event=encode_numbered(numbered))

    async def Resume(  # noqa: N802  # the wire's name
        self, request: wire.ResumeRequest, context: Context
    ) -> AsyncGenerator[wire.ResumeResponse, None]:
        """Stream what came after a number."""
        del context
        generation = parse_generation_id(request.generation_id)
        log = self._generations.find(current_caller().account, generation)
        async with contextlib.aclosing(self._generations.read(log, request.after_seq)) as events:
            async for numbered in events:
                yield wire.ResumeResponse(event=encode_numbered(numbered))

    async def Ack(  # noqa: N802  # the wire's name
        self, request: wire.AckRequest, context: Context
    ) -> wire.AckResponse:
        """Forget what the reader has for good."""
        del context
        generation = parse_generation_id(request.generation_id)
        self._generations.ack(current_caller().account, generation, request.up_to_seq)
        return wire.AckResponse()

    async def Cancel(  # noqa: N802  # the wire's name
        self, request: wire.CancelRequest, context: Context
    ) -> wire.CancelResponse:
        """End a generation."""
        del context
        generation = parse_generation_id(request.generation_id)
        was_running = self._generations.cancel(current_caller().account, generation)
        return wire.CancelResponse(was_running=was_running)
