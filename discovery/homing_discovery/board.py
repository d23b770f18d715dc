"""What was heard, and whoever waits for news of it. The browsers, real and fake, stand on it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

from homing_discovery.pulse import Pulse
from homing_discovery.sightings import Sightings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from homing_discovery.hints import Hint
    from homing_discovery.sightings import Sighting


class HintBoard:
    """Sightings that can be watched.

    Args:
        wanted: tokens of the nodes that matter.
    """

    def __init__(self, wanted: Iterable[str] = ()) -> None:
        """Start with nothing heard."""
        self._sightings = Sightings(wanted)
        self._pulse = Pulse()

    @property
    def wanted(self) -> frozenset[str]:
        """Tokens of the nodes that matter."""
        return self._sightings.wanted

    def want(self, tokens: Iterable[str]) -> None:
        """Replace the wanted tokens."""
        self._sightings.want(tokens)

    def saw(self, sighting: Sighting) -> None:
        """Take an announcement and tell the watchers if it is news."""
        if self._sightings.saw(sighting):
            self._pulse.beat()

    def lost(self, token: str) -> None:
        """Take a goodbye."""
        self._sightings.lost(token)

    def hints(self, token: str | None = None) -> tuple[Hint, ...]:
        """What is known now, newest first; of one node if a token is given."""
        return self._sightings.hints(token)

    async def watch(self) -> AsyncGenerator[Hint, None]:
        """Everything known, then whatever changes or appears again, until it is closed."""
        seen = 0
        while True:
            beats = self._pulse.count
            news, seen = self._sightings.since(seen), self._sightings.changes
            for hint in news:
                yield hint
            if not await self._pulse.after(beats):
                return

    async def find(self, token: str, timeout_s: float) -> Hint | None:
        """The first hint for a node, known already or heard within `timeout_s` seconds."""
        try:
            async with asyncio.timeout(timeout_s), aclosing(self.watch()) as news:
                async for hint in news:
                    if hint.token == token:
                        return hint
        except TimeoutError:
            pass
        return None

    def close(self) -> None:
        """End every `watch`."""
        self._pulse.close()
