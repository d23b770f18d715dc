"""Which tools the nodes offer to this phone."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from homing_core.errors import HomingError, UnavailableError
from homing_core.provenance import Trust
from homing_core.tools import Place

from homing_client.jobs.keeper import REACH_S

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_core.clock import Clock
    from homing_core.ids import DeviceId
    from homing_core.tools import ToolSpec
    from homing_crypto.nodes import KnownNode

    from homing_client.jobs.node import JobNodes

FRESH_S: Final = 30.0
"""What a node said is believed for so long, in seconds; what has changed is found at the node."""


class Offers:
    """Asks nodes for their tools. Belongs to one event loop.

    Args:
        nodes: the way to them.
        clock: for how long ago one was asked.
    """

    def __init__(self, nodes: JobNodes, clock: Clock) -> None:
        """Nobody was asked."""
        self._nodes = nodes
        self._clock = clock
        self._said: dict[DeviceId, tuple[float, tuple[ToolSpec, ...]]] = {}

    async def of(self, node: KnownNode, timeout_s: float = REACH_S) -> tuple[ToolSpec, ...]:
        """What a node offers, as the phone sees it; raises `HomingError`."""
        now, said = self._clock.monotonic(), self._said.get(node.id)
        if said is not None and now - said[0] < FRESH_S:
            return said[1]
        async with asyncio.timeout(2 * timeout_s):
            found = await (await self._nodes.open(node.id, timeout_s)).tools()
        tools = tuple(seen_from_here(tool, node) for tool in found)
        self._said[node.id] = (now, tools)
        return tools

    async def of_all(
        self, nodes: Iterable[KnownNode], *, fresh: bool = False
    ) -> tuple[tuple[KnownNode, tuple[ToolSpec, ...] | HomingError], ...]:
        """What several nodes offer, or why one cannot be asked, in their order.

        Args:
            nodes: whom to ask.
            fresh: ask also those that have said it just now.
        """
        asked = tuple(nodes)
        if fresh:
            for node in asked:
                self.forget(node.id)
        found = await asyncio.gather(*(self._or_error(node) for node in asked))
        return tuple(zip(asked, found, strict=True))

    def forget(self, node: DeviceId) -> None:
        """Ask it again next time: it said something else just now."""
        self._said.pop(node, None)

    async def _or_error(self, node: KnownNode) -> tuple[ToolSpec, ...] | HomingError:
        try:
            return await self.of(node)
        except HomingError as error:
            return error
        except TimeoutError:
            msg = f"{node.name} did not say in time which tools it has"
            return UnavailableError(msg, "Try again: homing tools")


def seen_from_here(tool: ToolSpec, node: KnownNode) -> ToolSpec:
    """A tool as the phone's own record of its node has it, whatever that node claims."""
    trust = Trust.UNTRUSTED if node.place is Place.PEER else tool.output_trust
    return replace(tool, node=node.id, place=node.place, output_trust=trust)
