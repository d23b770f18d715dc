"""What is written to the log during a block, waited for rather than slept for."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import structlog

if TYPE_CHECKING:
    from collections.abc import Generator

WAIT_S = 20.0


@dataclass
class Told:
    """Entries of our own log, as they come."""

    entries: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(self, _logger: object, method: str, entry: dict[str, Any]) -> dict[str, Any]:
        """Take one; it goes no further."""
        self.entries.append({**entry, "log_level": method})
        self._news.set()
        raise structlog.DropEvent

    def of(self, event: str, **fields: object) -> list[dict[str, Any]]:
        return [
            entry
            for entry in self.entries
            if entry["event"] == event and fields.items() <= entry.items()
        ]

    async def until(self, event: str, **fields: object) -> dict[str, Any]:
        """The first such entry; waits for it."""
        async with asyncio.timeout(WAIT_S):
            while not (found := self.of(event, **fields)):
                self._news.clear()
                await self._news.wait()
        return found[0]


@contextlib.contextmanager
def told() -> Generator[Told]:
    taken = Told()
    processors = structlog.get_config()["processors"]
    before = list(processors)
    processors[:] = [taken]  # in place: loggers that exist already use the same list
    try:
        yield taken
    finally:
        processors[:] = before
