"""What the resident process can do, without the wire: the local service translates to this."""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING

from homing_core.addresses import parse_address
from homing_core.errors import HomingError, UnpairedError
from homing_core.ids import DeviceId
from homing_crypto.pairing.code import parse_code
from homing_discovery.browser import ZeroconfBrowser
from homing_discovery.hints import PAIRING
from homing_discovery.search import search

from homing_client.code_pairing import PersonAsked, PhoneHere, pair_by_code
from homing_client.device_name import default_name
from homing_client.model_choice import canonical_model
from homing_client.pairing import pair_with
from homing_client.pairing_server import nobody_listens, only_server
from homing_client.peers import learn_peers, refused_there

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

    from homing_agent.registry import Registry
    from homing_core.addresses import Address
    from homing_core.clock import Clock
    from homing_core.provenance import Sensitivity
    from homing_core.tools import ToolSpec
    from homing_crypto.nodes import KnownNode, NodeBook

    from homing_client.config import ClientConfig
    from homing_client.homes import HomeLinks
    from homing_client.keys import Keys
    from homing_client.link import NodeLink, Verified
    from homing_client.local_engine import LocalEngine
    from homing_client.readiness import Readiness
    from homing_client.sessions import Sessions

_CHECK_S = 3.0


@dataclass(frozen=True, slots=True)
class NodeReport:
    """A node, and what came of calling it.

    Attributes:
        node: as the book knows it.
        verified: its answer; None if it was not called or did not answer.
        error: why it did not answer.
    """

    node: KnownNode
    verified: Verified | None = None
    error: HomingError | None = None


@dataclass(frozen=True, slots=True)
class PhoneStatus:
    """How the resident process is; see `GetStatusResponse` of phone.proto."""

    version: str
    pid: int
    model: str
    stand_in: bool
    ready: bool
    activity: str
    error: HomingError | None
    device_id: str
    idle_seconds: int
    running: int
    wanted_model: str
    stand_in_allowed: bool


@dataclass(frozen=True, slots=True)
class PhoneParts:
    """What a `Phone` is made of.

    Attributes:
        keys: this device's.
        book: nodes it is paired with.
        homes: the way to them.
        registry: its tools.
        engine: its model.
        sessions: requests in flight.
        readiness: how far the model is.
        clock: wall time.
        config: how it is set.
        idle_seconds: after which it leaves; 0 never.
        touch: says that somebody uses it.
        stop: asks the process to leave.
    """

    keys: Keys
    book: NodeBook
    homes: HomeLinks
    registry: Registry
    engine: LocalEngine
    sessions: Sessions
    readiness: Readiness
    clock: Clock
    config: ClientConfig
    idle_seconds: int
    touch: Callable[[], None]
    stop: Callable[[], None]


class Phone:
    """The resident process, as its local service sees it."""

    def __init__(self, parts: PhoneParts) -> None:
        """Keep the parts."""
        self._parts = parts

    @property
    def sessions(self) -> Sessions:
        """Requests in flight."""
        return self._parts.sessions

    @property
    def default_sensitivity(self) -> Sensitivity:
        """The class of what does not say its own."""
        return self._parts.config.sensitivity

    def status(self) -> PhoneStatus:
        """How it is."""
        parts = self._parts
        info = parts.engine.info
        return PhoneStatus(
            version=version("homing"),
            pid=os.getpid(),
            model=info.model,
            stand_in=info.stand_in,
            ready=parts.readiness.ready,
            activity=parts.readiness.activity,
            error=parts.readiness.error,
            device_id=parts.keys.current.device_id,
            idle_seconds=parts.idle_seconds,
            running=parts.sessions.running,
            wanted_model=canonical_model(parts.config.model.name),
            stand_in_allowed=parts.config.model.stand_in,
        )

    def tools(self) -> tuple[tuple[ToolSpec, ...], tuple[tuple[str, str], ...]]:
        """Tools on offer, and tools that cannot act here with the reason."""
        self._parts.touch()
        registry = self._parts.registry
        return (
            registry.offered(),
            tuple((tool.name, tool.reason) for tool in registry.unavailable()),
        )

    async def pair(self, link: str, device_name: str) -> NodeReport:
        """Pair with the node that a link names; raises as `pairing.pair_with`."""
        parts = self._parts
        parts.touch()
        node = await pair_with(
            link,
            identity=parts.keys.current,
            book=parts.book,
            name=device_name or parts.config.phone.name or default_name(),
            clock=parts.clock,
        )
        return await self._called(node)

    async def pair_by_code(
        self, code: str, at: str, device_name: str
    ) -> AsyncGenerator[PersonAsked | NodeReport, None]:
        """Pair with the node that shows a code; ends with it. Raises as `pair_by_code`.

        Args:
            code: as it was typed.
            at: address of the pairing server; empty looks for the one on the local network.
            device_name: what this phone calls itself; empty takes the configured name.
        """
        parts = self._parts
        parts.touch()
        digits = parse_code(code)
        addresses = (parse_address(at),) if at else await self._pairing_server()
        name = device_name or parts.config.phone.name or default_name()
        here = PhoneHere(parts.keys.current, parts.book, parts.clock, name)
        async with contextlib.aclosing(pair_by_code(digits, addresses, here)) as steps:
            async for step in steps:
                parts.touch()
                yield step if isinstance(step, PersonAsked) else await self._called(step)

    async def nodes(self, *, check: bool) -> tuple[NodeReport, ...]:
        """Every paired node, home before peers; called, if `check` is set."""
        self._parts.touch()
        links = await self._parts.homes.links()
        if not check:
            return tuple(NodeReport(link.node) for link in links)
        reports = await asyncio.gather(*(_report(link) for link in links))
        return await self._lent(reports) if any(map(_not_taken, reports)) else tuple(reports)

    async def _lent(self, reports: Iterable[NodeReport]) -> tuple[NodeReport, ...]:
        """The same, after asking the homes whether they still lend the peers that refused us."""
        found = {report.node.id: report for report in reports}
        homes = {one.node.introduced_by for one in found.values() if _not_taken(one)}
        for link in await self._parts.homes.links():
            if link.node.id in homes and found[link.node.id].verified is not None:
                with contextlib.suppress(HomingError):
                    await learn_peers(link, self._parts.book, self._parts.clock)
        kept = await self._parts.homes.links()
        names = {link.node.id: link.node.name for link in kept}
        return tuple(
            replace(one, error=refused_there(names.get(DeviceId(one.node.introduced_by), "a home")))
            if _not_taken(one)
            else one
            for one in (found[link.node.id] for link in kept if link.node.id in found)
        )

    async def _pairing_server(self) -> tuple[Address, ...]:
        home = self._parts.config.home
        if not home.mdns:
            raise nobody_listens()
        browser = ZeroconfBrowser(interfaces=home.mdns_interfaces, service=PAIRING)
        return only_server(await search(browser))

    async def _called(self, node: KnownNode) -> NodeReport:
        for one in await self._parts.homes.links():
            if one.node.id == node.id:
                return await _report(one)
        return NodeReport(node)

    def stop(self) -> None:
        """Leave soon."""
        self._parts.stop()


def _not_taken(report: NodeReport) -> bool:
    """Whether a peer that a home lends does not let this phone in."""
    return bool(report.node.introduced_by) and isinstance(report.error, UnpairedError)


async def _report(link: NodeLink) -> NodeReport:
    try:
        return NodeReport(link.node, await link.verify(_CHECK_S))
    except HomingError as error:
        return NodeReport(link.node, error=error)
