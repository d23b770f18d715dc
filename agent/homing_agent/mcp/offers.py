"""What servers offer, what of it the operator has allowed, and the tools that come of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from homing_core.errors import ConflictError, HomingError, NotFoundError, UnavailableError
from homing_core.labels import clean_label

from homing_agent.mcp.consent import ConsentBook
from homing_agent.mcp.status import wanted, withheld_of
from homing_agent.mcp.words import words_for
from homing_agent.runtime.logs import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from homing_agent.mcp.consent import Allowed
    from homing_agent.mcp.definitions import Definition
    from homing_agent.mcp.servers import ServerConfig
    from homing_agent.mcp.status import Withheld
    from homing_agent.mcp.tools import McpTool
    from homing_agent.mcp.words import ServerWords

_log = get_logger(__name__)


class Offers:
    """Of all servers.

    Args:
        configs: the servers, by name.
        words: what the operator says of each.
        path: where consent is kept.
        reserved: names that no tool may get.
        make: makes a tool of what was allowed.
    """

    def __init__(
        self,
        configs: Mapping[str, ServerConfig],
        words: Mapping[str, ServerWords],
        path: Path,
        reserved: Iterable[str],
        make: Callable[[str, Allowed], McpTool],
    ) -> None:
        """Nothing is known before `load`."""
        self.trouble = ""
        """Why consent cannot be read or written, for a person; empty if it can."""
        self.tools: dict[tuple[str, str], McpTool] = {}
        """What is allowed, by server and by the name that a model sees."""
        self._configs = configs
        self._words = words
        self._book = ConsentBook(path, reserved)
        self._make = make
        self._offers: dict[str, tuple[Definition, ...]] = {}
        self._writing = asyncio.Lock()

    def load(self) -> None:
        """Read what was allowed; what goes wrong stands in `trouble`."""
        try:
            self._book.load({name: config.identity for name, config in self._configs.items()})
        except HomingError as error:
            self._grieve(error)
        self._renew()

    def of(self, server: str) -> tuple[Definition, ...] | None:
        """What a server offers; None if it has not been up."""
        return self._offers.get(server)

    def words(self, server: str) -> ServerWords:
        """What the operator says of a server."""
        return words_for(self._words, server)

    async def take(self, server: str, definitions: tuple[Definition, ...]) -> None:
        """A server offers this now; the first time, that is allowed."""
        self._offers[server] = definitions
        if self._book.is_new(server, self._configs[server].identity):
            try:
                await self._consent(server, wanted(self.words(server), definitions))
            except UnavailableError as error:
                # Nothing was written, so the server counts as new the next time again.
                self._grieve(error)
        self._renew()

    def withheld(self) -> tuple[Withheld, ...]:
        """What waits for the operator's word."""
        return tuple(
            each
            for server, offers in self._offers.items()
            for each in withheld_of(server, self.words(server), offers, self._known(server))
        )

    async def allow(self, server: str, tool: str | None, shown: Collection[str]) -> tuple[str, ...]:
        """See `McpHost.allow`."""
        names = {allowed.definition.name: allowed.name for allowed in self._known(server)}
        waiting = {
            each.name: each.now
            for each in self.withheld()
            if each.server == server and tool in {None, each.name, names.get(each.name)}
        }
        if not waiting:
            which = f"{server}.{clean_label(tool)}" if tool else server
            msg = f"nothing of {which} waits for your word"
            raise NotFoundError(msg, "See what does with: homing-node tools")
        other = sorted(name for name, now in waiting.items() if now.hash not in shown)
        if other:
            which = ", ".join(f"{server}.{clean_label(name)}" for name in other)
            msg = f"what was shown to you is not what {which} is now, so nothing is allowed"
            raise ConflictError(msg, "Look at it again with: homing-node tools")
        await self._consent(server, tuple(waiting.values()))
        self._renew()
        return tuple(sorted(waiting))

    async def _consent(self, server: str, definitions: Sequence[Definition]) -> None:
        async with self._writing:
            fresh = self._book.allowing(server, self._configs[server].identity, definitions)
            await asyncio.to_thread(fresh.write, fresh.text())
            self._book = fresh
        self.trouble = ""

    def _grieve(self, error: HomingError) -> None:
        self.trouble = error.what
        _log.warning("mcp.consent", what=error.what, hint=error.hint)

    def _known(self, server: str) -> tuple[Allowed, ...]:
        return self._book.tools(server, self._configs[server].identity)

    def _renew(self) -> None:
        """Make the tools anew from what is allowed; one that has not changed stays the same."""
        fresh: dict[tuple[str, str], McpTool] = {}
        for server in self._configs:
            for allowed in self._known(server):
                if not self.words(server).offers(allowed.definition.name):
                    continue
                key = (server, allowed.name)
                old = self.tools.get(key)
                same = old is not None and old.definition == allowed.definition
                fresh[key] = old if old is not None and same else self._make(server, allowed)
        self.tools = fresh
