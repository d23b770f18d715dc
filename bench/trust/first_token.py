"""What the front door adds to the first token of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from engine.trace import Trace, ask
from homing_client.rpc.node_calls import NodeCalls

from trust.served import served

if TYPE_CHECKING:
    import grpc.aio
    from engine.setting import Results

PAIRS: Final = 300


async def measure_first_token(results: Results) -> None:
    """`front_door_first_token_ms`: over connections at hand, in pairs, the first in turns.

    The model answers at once, so that nothing but the way is measured.
    """
    async with (
        served(door=True) as behind,
        served(door=False) as direct,
        behind.dial() as far,
        direct.dial() as near,
    ):
        for _ in range(20):  # the first are for the caches
            await _first_ms(far)
            await _first_ms(near)
        for number in range(PAIRS):
            if number % 2:
                with_door, without = await _first_ms(far), await _first_ms(near)
            else:
                without = await _first_ms(near)
                with_door = await _first_ms(far)
            results.add("first_token_door_ms", with_door)
            results.add("first_token_direct_ms", without)
            results.add("front_door_first_token_each_ms", with_door - without)


async def _first_ms(channel: grpc.aio.Channel) -> float:
    trace = Trace()
    async for numbered in NodeCalls(channel).generate(ask("hello", tokens=8)):
        trace.take(numbered.event)
    return trace.first_ms
