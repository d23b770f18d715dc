"""The nodes that this phone may use, and which one a step goes to."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from homing_agent.runtime.logs import get_logger
from homing_core.addresses import Address, parse_address
from homing_core.errors import HomingError, InvalidDataError, UnavailableError
from homing_core.provenance import Sensitivity
from homing_core.tools import Place
from homing_discovery.candidates import AddressBook
from homing_discovery.hints import instance_token

from homing_client.background import Background
from homing_client.link import NodeLink
from homing_client.remote import RESUME_S, HomeRemote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from homing_agent.ports import Need
    from homing_core.clock import Clock
    from homing_core.ids import DeviceId
    from homing_core.nodes import NodeInfo
    from homing_crypto.nodes import KnownNode, NodeBook
    from homing_discovery.boundaries import Browser

    from homing_client.config import HomeSection
    from homing_client.keys import Keys
    from homing_client.link import Verified

_log = get_logger(__name__)

_RENEW_S = 10.0
"""Deadline of each call that tells a node of a new key, in seconds."""
_FAREWELL_S = 1.0
"""How long closing waits for what is still to be told to nodes."""


class HomeLinks:
    """All paired nodes; implements `homing_agent.ports.Homes`.

    Args:
        keys: this phone's.
        book: the nodes it is paired with.
        settings: `[home]` of the configuration.
        browser: hints by mDNS; None where that is off.
        clock: wall time.
        resume_s: how long a node may be gone in the middle of an answer, in seconds.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # each is another collaborator
        self,
        keys: Keys,
        book: NodeBook,
        settings: HomeSection,
        browser: Browser | None,
        clock: Clock,
        resume_s: float = RESUME_S,
    ) -> None:
        """Nothing is dialled yet."""
        self._keys = keys
        self._book = book
        self._settings = settings
        self._browser = browser
        self._clock = clock
        self._resume_s = resume_s
        self._links: dict[DeviceId, NodeLink] = {}
        self._static = tuple(parse_address(text) for text in settings.addresses)
        self._background = Background()
        self._listeners: list[Callable[[NodeLink, Verified], None]] = []
        self._followers: list[Callable[[DeviceId, DeviceId], None]] = []
        self._preparations: list[Callable[[DeviceId, DeviceId], None]] = []

    def subscribe(self, listener: Callable[[NodeLink, Verified], None]) -> None:
        """Call this whenever a node has proven itself; it must return at once."""
        self._listeners.append(listener)

    def follow(self, follower: Callable[[DeviceId, DeviceId], None]) -> None:
        """Call this with a node's old and new id whenever one has replaced its key."""
        self._followers.append(follower)

    def prepare(self, preparation: Callable[[DeviceId, DeviceId], None]) -> None:
        """Call this with a node's old and new id before it is known by the new one.

        It is called in another thread, may be repeated, and if it raises, nothing has changed.
        """
        self._preparations.append(preparation)

    async def pick(self, need: Need) -> HomeRemote:
        """The first node, home before peers, that answers and may have the data.

        One that says that it has nothing to answer with now comes after those that have.

        Raises:
            UnavailableError: none does; says why.
            UnpairedError: the only one does not know this phone any more.
            IntegrityError: another computer answers at the only one's address.
        """
        if need.sensitivity is Sensitivity.PHONE_ONLY:
            msg = "this may not leave the phone"
            raise UnavailableError(msg, "Allow it to travel home with: --sensitivity home_only")
        links = await self.links()
        if not links:
            msg = "this phone is paired with no node"
            hint = "On the home computer: homing-node pair. Then here: homing pair LINK"
            raise UnavailableError(msg, hint)
        allowed = [link for link in links if _may_have(link.node, need.sensitivity)]
        allowed = [link for link in allowed if link.node.id not in need.avoid]
        if not allowed and need.avoid:
            msg = "no other node may have this"
            raise UnavailableError(msg, "Try again.")
        if not allowed:
            msg = "this may not go to a peer, and no home node is paired"
            hint = "Pair with a home node, or let it travel: --sensitivity trusted_peers"
            raise UnavailableError(msg, hint)
        checks = [
            asyncio.ensure_future(link.verify(self._settings.reach_seconds)) for link in allowed
        ]
        reasons: list[HomingError] = []
        unready: list[HomeRemote] = []
        try:
            for link, check in zip(allowed, checks, strict=True):
                try:
                    remote = self._remote(link, await check)
                    if _can_answer(remote.model, check.result().info):
                        return remote
                    unready.append(remote)
                except HomingError as error:
                    reasons.append(error)
        finally:
            for check in checks:
                check.cancel()
            await asyncio.gather(*checks, return_exceptions=True)
        if unready:
            return unready[0]  # the node itself says best why it cannot
        raise reasons[0]

    async def links(self) -> tuple[NodeLink, ...]:
        """A link for every paired node, home before peers; forgotten nodes are closed."""
        nodes = await asyncio.to_thread(self._book.nodes)
        kept = {node.id: node.certificate_der for node in nodes}
        for known, link in tuple(self._links.items()):
            if kept.get(known) != link.node.certificate_der:
                del self._links[known]
                self._background.run(link.drop())
        for node in nodes:
            if node.id in self._links:
                self._links[node.id].node = node
            else:
                self._links[node.id] = self._link(node)
        if self._browser is not None:
            self._browser.want(instance_token(node.id) for node in nodes)
        return tuple(self._links[node.id] for node in nodes)

    async def network_changed(self) -> None:
        """Redial everything at its next use: addresses and routes may differ now."""
        await asyncio.gather(*(link.drop() for link in self._links.values()))

    async def close(self) -> None:
        """Tell nodes what is still to be told, for a moment, and end all connections."""
        await self._background.close(_FAREWELL_S)
        await self.network_changed()

    def _remote(self, link: NodeLink, verified: Verified) -> HomeRemote:
        wanted = self._settings.model
        served = {model.name for model in verified.info.models}
        if wanted and wanted not in served:
            msg = f"{verified.info.name} does not serve the model that [home] model names"
            hint = f"It serves {', '.join(sorted(served))}." if served else "It serves none."
            raise UnavailableError(msg, hint)
        return HomeRemote(link, verified, wanted, self._background.run, self._resume_s)

    def _link(self, node: KnownNode) -> NodeLink:
        link: NodeLink

        def candidates() -> tuple[Address, ...]:
            return self._candidates(link.node)

        link = NodeLink(node, self._keys, self._book, candidates, self._clock)
        link.on_verified = self._verified
        link.on_succeeding = self._succeeding
        link.on_succeeded = self._succeeded
        return link

    def _verified(self, link: NodeLink, verified: Verified) -> None:
        if link.behind:
            self._background.run(_renew(link))
        for listener in self._listeners:
            listener(link, verified)

    def _succeeding(self, old: DeviceId, new: DeviceId) -> None:
        for preparation in self._preparations:
            preparation(old, new)

    def _succeeded(self, old: DeviceId, new: DeviceId) -> None:
        if (link := self._links.pop(old, None)) is not None:
            self._links[new] = link
        for follower in self._followers:
            follower(old, new)

    def _candidates(self, node: KnownNode) -> tuple[Address, ...]:
        hints = self._browser.hints(instance_token(node.id)) if self._browser else ()
        last_good = _readable((node.last_good_address,))
        static = (*self._static, *_readable(node.addresses))
        return AddressBook(last_good, static).candidates(hints)


async def _renew(link: NodeLink) -> None:
    try:
        await link.renew(_RENEW_S)
    except HomingError as error:  # tried again whenever the node is called
        _log.info("link.not_renewed", node=link.node.id, code=error.code.value, what=error.what)


def _readable(texts: Iterable[str]) -> tuple[Address, ...]:
    """Remembered addresses are hints: one that cannot be read is left out."""
    found: list[Address] = []
    for text in texts:
        with contextlib.suppress(InvalidDataError):
            found.append(parse_address(text, error=InvalidDataError))
    return tuple(found)


def _can_answer(model: str, info: NodeInfo) -> bool:
    """Whether a node's own words leave hope: a model, and something left of our limits there."""
    own = info.own
    spent = own.limits.tokens_per_day > 0 and own.tokens_left <= 0
    return bool(model) and not spent and not own.opens_in_s


def _may_have(node: KnownNode, sensitivity: Sensitivity) -> bool:
    """Data is for home nodes unless its owner says that it may go further."""
    return node.place is Place.HOME or sensitivity in {
        Sensitivity.TRUSTED_PEERS,
        Sensitivity.ANY_PAIRED,
    }
