"""How long an open stream goes on after its device was revoked.

The clock starts when the command is given, over the node's local socket as `homing-node devices
revoke` does it, and stops when the device's own client sees the end of its stream. In between lie
the trust store's write to disk, the ends of all its calls, TLS and gRPC on loopback.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import grpc.aio
from homing_core.generation import GenerateRequest, TextDelta
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_proto.codec.generation import encode_generate_request
from support.node_rig import next_event, node_rig, within

if TYPE_CHECKING:
    from support.node_rig import Generated, NodeRig

SAMPLES: Final = 20
BYSTANDERS: Final = 8
"""Streams of other devices that are open meanwhile."""


async def revoke_to_stream_end(samples: int = SAMPLES, bystanders: int = BYSTANDERS) -> list[float]:
    """Milliseconds from each revocation to the end of its stream, one for each sample.

    Args:
        samples: how many devices are revoked, one after the other.
        bystanders: how many other devices stream meanwhile.

    Raises:
        RuntimeError: a stream ended in another way, or a bystander's did.
    """
    found: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        async with node_rig(Path(folder)) as rig:
            control = await rig.control()
            others = [await _streaming(rig) for _ in range(bystanders)]
            for _ in range(samples):
                device, stream = await _streaming(rig)
                reading = asyncio.ensure_future(stream.read())
                began = time.perf_counter()
                revoking = asyncio.ensure_future(control.revoke(device))
                try:
                    await within(_awaited(reading))
                except grpc.aio.AioRpcError as error:
                    found.append((time.perf_counter() - began) * 1000)
                    if error.code() is not grpc.StatusCode.PERMISSION_DENIED:
                        msg = f"the stream ended with {error.code()}"
                        raise RuntimeError(msg) from error
                await revoking
            if len(found) != samples or any(stream.done() for _, stream in others):
                msg = "a stream did not end, or a bystander's did"
                raise RuntimeError(msg)
    return found


async def _streaming(rig: NodeRig) -> tuple[str, Generated]:
    """A device whose stream has begun."""
    phone = await rig.phone()
    request = GenerateRequest(new_generation_id(), (user("hello"),))
    stream = phone.inference.Generate(encode_generate_request(request))
    rig.engine.feed(request.id, TextDelta("a"))
    await next_event(stream)
    return phone.identity.device_id, stream


async def _awaited(reading: asyncio.Future[object]) -> object:
    return await reading
