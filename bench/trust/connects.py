"""Fresh connections: how many a second, and how long one takes while strangers flood the port."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

from homing_client.rpc.node_calls import NodeCalls
from support.floods import flood

from trust.served import Served, served

if TYPE_CHECKING:
    from engine.setting import Results

ROUNDS: Final = 6
AT_ONCE: Final = 8
BATCH: Final = 120
"""Handshakes of one round, `AT_ONCE` at a time."""
CONNECTS: Final = 150
"""Of a phone, one after the other, calm and for each flood: enough for a 99th percentile."""
FLOODS: Final = {"silent": 1000.0, "hello": 100.0, "handshake": 50.0}
"""Connections a second, and what they do (`support.flooder`). A handshake costs the node some three
milliseconds of a core and the stranger as much, on the same two cores here."""
SOURCES: Final = ("127.0.0.2", "127.0.0.3")
"""Where the strangers call from, half of each rate; the phone is at 127.0.0.1."""
_TIMEOUT_S: Final = 10.0


async def connect_ms(node: Served) -> float:
    """A fresh connection with a full handshake, and one call."""
    started = time.perf_counter()
    async with node.dial() as channel:
        await NodeCalls(channel).get_node(_TIMEOUT_S)
        return 1000 * (time.perf_counter() - started)


async def measure_handshakes(results: Results) -> None:
    """`handshakes_per_s`: full handshakes with one call each, in turns through the door and not."""
    async with served(door=True) as behind, served(door=False) as direct:
        for _ in range(ROUNDS):
            for name, node in (("door", behind), ("direct", direct)):
                results.add(f"handshakes_{name}_per_s", await _rate(node))


async def _rate(node: Served) -> float:
    async def some() -> None:
        for _ in range(BATCH // AT_ONCE):
            await connect_ms(node)

    started = time.perf_counter()
    await asyncio.gather(*(some() for _ in range(AT_ONCE)))
    return BATCH / (time.perf_counter() - started)


async def measure_flood(results: Results) -> None:
    """`connect_p99_flood_over_calm`: a paired phone's fresh connections; calm before each flood."""
    made: dict[str, Any] = {}
    async with served(door=True) as node:
        for _ in range(10):  # the first are for the caches
            await connect_ms(node)
        for kind, rate in FLOODS.items():
            for _ in range(CONNECTS):
                results.add(f"connect_calm_before_{kind}_ms", await connect_ms(node))
            each = rate / len(SOURCES)
            started = time.perf_counter()
            async with (
                flood(node.port, kind, SOURCES[0], each, node=node.node) as first,
                flood(node.port, kind, SOURCES[1], each, node=node.node) as second,
            ):
                for _ in range(CONNECTS):
                    results.add(f"connect_{kind}_flood_ms", await connect_ms(node))
            seconds = time.perf_counter() - started
            opened = first.opened + second.opened
            made[kind] = {"wanted_per_s": rate, "opened_per_s": round(opened / seconds)}
        async with flood(node.port, "silent", SOURCES[0]) as most:
            started = time.perf_counter()
            for _ in range(CONNECTS):
                results.add("connect_silent_flood_unlimited_ms", await connect_ms(node))
            seconds = time.perf_counter() - started
        made["silent_unlimited"] = {"opened_per_s": round(most.opened / seconds)}
    results.facts["floods"] = made
