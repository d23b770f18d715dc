"""The nodes that this phone may use: which one a step goes to, and streaming from it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import structlog
from homing_core.errors import (
    HomingError,
    InvalidDataError,
    NotFoundError,
    UnavailableError,
)
from homing_core.provenance import Sensitivity
from homing_core.tools import Place
from homing_discovery.addresses import Address, parse_address
from homing_discovery.candidates import AddressBook
from homing_discovery.hints import instance_token

from homing_client.link import NodeLink, Verified

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_agent.ports import Need, Remote
    from homing_core.clock import Clock
    from homing_core.generation import GenerateRequest, Numbered
    from homing_core.ids import DeviceId, GenerationId
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import KnownNode, NodeBook
    from homing_discovery.boundaries import Browser

    from homing_client.config import HomeSection

_log = structlog.get_logger(__name__)

_RESUME_TRIES = 3
_RESUME_S = 4.0
"""How long one attempt to get back to a node may take in the middle of an answer."""


class HomeLinks:
    """All paired nodes; implements `homing_agent.ports.Homes`.

    Args:
        identity: this phone's.
        book: the nodes it is paired with.
        settings: `[home]` of the configuration.
        browser: hints by mDNS; None where that is off.
        clock: wall time.
    """

    def __init__(
        self,
        identity: DeviceIdentity,
        book: NodeBook,
        settings: HomeSection,
        browser: Browser | None,
        clock: Clock,
    ) -> None:
        """Nothing is dialled yet."""
        self._identity = identity
        self._book = book
        self._settings = settings
        self._browser = browser
        self._clock = clock
        self._links: dict[DeviceId, NodeLink] = {}
        self._static = tuple(parse_address(text) for text in settings.addresses)

    async def pick(self, need: Need) -> Remote:
        """The first node, home before peers, that answers and may have the data.

        Raises:
            UnavailableError: none does; says why.
        """
        if need.sensitivity is Sensitivity.PHONE_ONLY:
            msg = "this may not leave the phone"
            raise UnavailableError(msg, "Allow it to travel home with: --sensitivity home_only")
        links = await self.links()
        if not links:
            msg = "this phone is paired with no node"
            raise UnavailableError(msg, "Pair one: homing pair LINK")
        allowed = [link for link in links if _may_have(link.node, need.sensitivity)]
        if not allowed:
            msg = "none of your nodes may have this"
            raise UnavailableError(msg, "Pair with a home node, or allow it to travel further.")
        checks = [
            asyncio.ensure_future(link.verify(self._settings.reach_seconds)) for link in allowed
        ]
        reasons: list[HomingError] = []
        try:
            for link, check in zip(allowed, checks, strict=True):
                try:
                    verified = await check
                    return HomeRemote(link, verified, self._settings.model)
                except HomingError as error:
                    reasons.append(error)
        finally:
            for check in checks:
                check.cancel()
            await asyncio.gather(*checks, return_exceptions=True)
        raise UnavailableError(reasons[0].what, reasons[0].hint)

    async def links(self) -> tuple[NodeLink, ...]:
        """A link for every paired node, home before peers; forgotten nodes are closed."""
        nodes = await asyncio.to_thread(self._book.nodes)
        for gone in self._links.keys() - {node.id for node in nodes}:
            await self._links.pop(gone).drop()
        for node in nodes:
            link = self._links.get(node.id)
            if link is None or link.node.certificate_der != node.certificate_der:
                self._links[node.id] = self._link(node)
            else:
                link.node = node
        if self._browser is not None:
            self._browser.want(instance_token(node.id) for node in nodes)
        return tuple(self._links[node.id] for node in nodes)

    async def network_changed(self) -> None:
        """Redial everything at its next use: addresses and routes may differ now."""
        await asyncio.gather(*(link.drop() for link in self._links.values()))

    async def close(self) -> None:
        """End all connections."""
        await self.network_changed()

    def _link(self, node: KnownNode) -> NodeLink:
        link: NodeLink

        def candidates() -> tuple[Address, ...]:
            return self._candidates(link.node)

        link = NodeLink(node, self._identity, self._book, candidates, self._clock)
        return link

    def _candidates(self, node: KnownNode) -> tuple[Address, ...]:
        hints = self._browser.hints(instance_token(node.id)) if self._browser else ()
        remembered = [
            parse_address(text, error=InvalidDataError)
            for text in (node.last_good_address, *node.addresses)
            if text
        ]
        last_good = tuple(remembered[:1]) if node.last_good_address else ()
        return AddressBook(last_good, (*self._static, *remembered)).candidates(hints)


def _may_have(node: KnownNode, sensitivity: Sensitivity) -> bool:
    """Data is for home nodes unless its owner says that it may go further."""
    return node.place is Place.HOME or sensitivity in {
        Sensitivity.TRUSTED_PEERS,
        Sensitivity.ANY_PAIRED,
    }


class HomeRemote:
    """A model on a node that answered just now; implements `homing_agent.ports.Remote`."""

    def __init__(self, link: NodeLink, verified: Verified, wanted_model: str) -> None:
        """Keep what the node said of itself."""
        self._link = link
        self._info = verified.info
        self._model = wanted_model or verified.info.default_model

    @property
    def node(self) -> DeviceId:
        """The node's device id."""
        return self._info.id

    @property
    def name(self) -> str:
        """The node's name."""
        return self._info.name

    @property
    def place(self) -> Place:
        """What the phone's own record says, whatever the node claims."""
        return self._link.node.place

    @property
    def model(self) -> str:
        """The model that answers."""
        return self._model

    @property
    def stand_in(self) -> bool:
        """Whether that model stands in for the product's own."""
        return any(model.stand_in for model in self._info.models if model.name == self._model)

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[Numbered, None]:
        """See `homing_agent.ports.Remote.generate`.

        After a break it dials again and resumes behind the last number. A node that has forgotten
        the generation meanwhile (it was restarted) is `UnavailableError`: what came so far stays.
        """
        last = 0
        tries = _RESUME_TRIES
        finished = False
        try:
            while True:
                broke = UnavailableError("the answer broke off", "Try again.")
                try:
                    async with contextlib.aclosing(self._stream(request, last)) as events:
                        async for numbered in events:
                            if numbered.seq <= last:
                                continue
                            _check_next(numbered, last)
                            last = numbered.seq
                            tries = _RESUME_TRIES
                            finished = numbered.final
                            yield numbered
                            if finished:
                                return
                except UnavailableError as error:
                    broke = error
                tries -= 1
                if tries <= 0:
                    raise broke
                _log.info("link.resuming", node=self.node, after=last)
                await self._reach_again()
        except NotFoundError as error:
            if not last:
                raise
            msg = f"{self.name} was restarted and lost the rest of the answer"
            raise UnavailableError(msg, "Ask again.") from error
        finally:
            await self._settle(request.id, last, finished=finished)

    def _stream(self, request: GenerateRequest, last: int) -> AsyncGenerator[Numbered, None]:
        return self._resumed(request.id, last) if last else self._started(request)

    async def _started(self, request: GenerateRequest) -> AsyncGenerator[Numbered, None]:
        calls = await self._link.calls(_RESUME_S)
        async with contextlib.aclosing(calls.generate(request)) as events:
            async for numbered in events:
                yield numbered

    async def _resumed(
        self, generation: GenerationId, after: int
    ) -> AsyncGenerator[Numbered, None]:
        calls = await self._link.calls(_RESUME_S)
        async with contextlib.aclosing(calls.resume(generation, after)) as events:
            async for numbered in events:
                yield numbered

    async def _reach_again(self) -> None:
        await self._link.drop()
        try:
            await self._link.verify(_RESUME_S)
        except UnavailableError as error:
            msg = f"{self.name} went away in the middle of the answer"
            raise UnavailableError(msg, error.hint) from error

    async def _settle(self, generation: GenerationId, last: int, *, finished: bool) -> None:
        """Tell the node what it may forget; if the answer is unwanted, that it may stop."""
        with contextlib.suppress(HomingError):
            calls = await self._link.calls(0.5)
            if not finished:
                await calls.cancel(generation)
            await calls.ack(generation, last)


def _check_next(numbered: Numbered, last: int) -> None:
    if numbered.seq != last + 1:
        msg = "the node left out a part of the answer"
        raise InvalidDataError(msg, "Ask again.")
