"""What a running stream notices of a long prompt, and the long prompt of the stream."""

from __future__ import annotations

import asyncio
import dataclasses
from bisect import bisect
from itertools import pairwise
from typing import TYPE_CHECKING

from engine.setting import engine
from engine.tools import THIRTY
from engine.trace import Trace, ask, follow, task

if TYPE_CHECKING:
    from homing_core.generation import GenerateRequest
    from homing_inference.host import ChildEngine

    from engine.setting import Models, Results

ROUNDS = 3
_LONG_STREAM = 600
_UNDER_WAY = 8


async def measure_waits(models: Models, results: Results) -> None:
    """`longest_wait_ms` and `prefill_under_load_over_alone`."""
    for number in range(ROUNDS):
        async with engine(models.bf16) as opened:
            await follow(opened.generate(ask(task(0), tokens=8)))
            alone = await follow(opened.generate(_long_prompt(f"alone {number}")))
            results.add("long_prompt_alone_ms", alone.usage.prefill_ms)
        async with engine(models.bf16) as opened:
            stream = Trace()
            begun = asyncio.Event()

            watching = asyncio.create_task(_watch(opened, stream, begun))
            await begun.wait()
            admitted = await follow(opened.generate(_long_prompt(f"loaded {number}")))
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            # From the last token before the prompt to the last one that came with it.
            after = bisect(stream.token_times, admitted.started)
            during = stream.token_times[max(after - 1, 0) :]
            for earlier, later in pairwise(during):
                results.add("wait_ms", 1000 * (later - earlier))
            results.add("long_prompt_under_load_ms", admitted.usage.prefill_ms)
            results.add("stream_tokens_meanwhile", len(during) - 1)


def _long_prompt(salt: str) -> GenerateRequest:
    return ask(f"{salt}: which of these tools is best?", tokens=2, tools=THIRTY, with_system=True)


async def _watch(opened: ChildEngine, stream: Trace, begun: asyncio.Event) -> None:
    """Follow a long answer; say when it is under way."""
    # Tokens, not text: words wait for the mark that may follow them, tokens do not.
    asked = dataclasses.replace(ask(task(1), tokens=_LONG_STREAM), logprobs=1)
    async for event in opened.generate(asked):
        stream.take(event)
        if len(stream.token_times) >= _UNDER_WAY:
            begun.set()
