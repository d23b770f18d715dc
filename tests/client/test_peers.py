"""What a phone makes of the peers that its home offers."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest
from homing_client import peers
from homing_client.background import Background
from homing_client.peers import EVERY_S, PeerKeeper
from homing_client.rpc.peers_calls import MAX_PEERS, OfferedPeer, decode_peers
from homing_core.access import DeviceRole, Scope
from homing_core.errors import HomingError, NotFoundError, UnavailableError
from homing_core.testing import FakeClock
from homing_core.tools import Place
from homing_crypto.nodes import KnownNode
from homing_crypto.testing import MemoryNodeBook, throwaway_identity
from homing_proto.v1 import devices_pb2

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from homing_client.link import NodeLink, Verified
    from homing_crypto.identity import DeviceIdentity

HOME, PEER, OTHER = (throwaway_identity() for _ in range(3))


def known(identity: DeviceIdentity, place: Place = Place.HOME) -> KnownNode:
    return KnownNode(
        identity.device_id,
        identity.certificate.der,
        identity.hpke.public_bytes,
        "Attic",
        place,
        DeviceRole.MEMBER,
        frozenset({Scope.INFERENCE}),
        paired_at=1.0,
    )


def offered(identity: DeviceIdentity = PEER, name: str = "Friend") -> OfferedPeer:
    return OfferedPeer(
        identity.device_id,
        identity.certificate.der,
        name,
        ("10.0.0.1:47100",),
        900,
        frozenset({Scope.INFERENCE}),
    )


class Link:
    """A link to a home that offers what a test says."""

    def __init__(self, node: KnownNode) -> None:
        self.node = node

    async def channel(self, timeout_s: float) -> object:
        del timeout_s
        return self


class World:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock, self.book, self.background = FakeClock(), MemoryNodeBook(), Background()
        self.answer: tuple[OfferedPeer, ...] | HomingError = ()
        self.asked = 0
        self.keeper = PeerKeeper(self.book, self.clock, self.begin)
        self.home = self.book.add(known(HOME))
        monkeypatch.setattr(peers, "list_peers", self.list_peers)

    def begin(self, work: Coroutine[object, object, None]) -> None:
        self.background.run(work)

    async def list_peers(self, channel: object) -> tuple[OfferedPeer, ...]:
        del channel
        self.asked += 1
        if isinstance(self.answer, HomingError):
            raise self.answer
        return self.answer

    async def seen(self, node: KnownNode | None = None) -> None:
        """The node has answered the phone, and what that set off is over."""
        link = cast("NodeLink", Link(node or self.home))
        self.keeper.seen(link, cast("Verified", None))
        await asyncio.sleep(0)
        await self.background.close(5.0)
        self.background = Background()

    def names(self) -> list[str]:
        return [node.name for node in self.book.nodes()]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


async def test_offered_peers_are_kept_while_they_are_offered(world: World) -> None:
    world.answer = (offered(),)
    await world.seen()
    entry = world.book.get(PEER.device_id)
    assert (entry.place, entry.role, entry.introduced_by, entry.lease_expires_at) == (
        Place.PEER,
        DeviceRole.GUEST,
        HOME.device_id,
        900,
    )
    world.answer = ()
    await world.seen()
    assert (world.asked, world.names()) == (1, ["Attic", "Friend"]), "asked only now and then"
    world.clock.advance(EVERY_S)
    await world.seen()
    assert world.names() == ["Attic"]


async def test_only_homes_are_asked(world: World) -> None:
    world.answer = (offered(OTHER),)
    await world.seen(known(PEER, Place.PEER))
    await world.seen(replace(known(PEER), introduced_by=HOME.device_id))
    assert (world.asked, world.names()) == (0, ["Attic"])


async def test_a_failure_changes_nothing_and_is_tried_again(world: World) -> None:
    world.answer = (offered(),)
    await world.seen()
    world.clock.advance(EVERY_S)
    world.answer = UnavailableError("gone")
    await world.seen()
    assert world.names() == ["Attic", "Friend"]
    world.answer = ()
    await world.seen()
    assert world.names() == ["Attic"]


async def test_an_older_home_is_not_asked_over_and_over(world: World) -> None:
    world.answer = NotFoundError("this node cannot do that")
    await world.seen()
    await world.seen()
    assert world.asked == 1


async def test_a_home_that_was_paired_just_now_is_asked_more_often(world: World) -> None:
    node = world.book.add(replace(known(OTHER), paired_at=world.clock.now()))
    for _ in range(3):
        await world.seen(node)
        world.clock.advance(2)
    assert world.asked == 3


@pytest.mark.attack
async def test_a_home_cannot_take_the_place_of_another_node_by_offering_it(world: World) -> None:
    direct = world.book.add(replace(known(OTHER, Place.PEER), name="mine"))
    world.answer = (offered(OTHER, "theirs"), offered(HOME, "theirs too"))
    await world.seen()
    assert world.book.get(OTHER.device_id) == direct
    assert world.book.get(HOME.device_id) == world.home


def message(**changes: object) -> devices_pb2.ListPeersResponse:
    fields: dict[str, object] = {
        "node_id": PEER.device_id,
        "certificate_der": PEER.certificate.der,
        "name": "Friend\x1b[31m",
        "addresses": ["10.0.0.1:5", "rubbish", "[fe80::1%eth0]:5"],
        "lease_expires_at": 900,
    }
    peer = devices_pb2.Peer(**fields | changes)  # type: ignore[arg-type]
    return devices_pb2.ListPeersResponse(peers=[peer])


def test_what_a_home_says_of_a_peer_is_cleaned() -> None:
    (peer,) = decode_peers(message())
    assert (peer.name, peer.addresses) == ("Friend[31m", ("10.0.0.1:5",))
    assert decode_peers(message(name=""))[0].name == "peer"


@pytest.mark.parametrize(
    "change",
    [
        {"node_id": OTHER.device_id},
        {"node_id": "x"},
        {"certificate_der": OTHER.certificate.der},
        {"certificate_der": b"rubbish"},
        {"certificate_der": b""},
        {"certificate_der": bytes(2000)},
        {"addresses": ["10.0.0.1:5"] * 99},
        {"scopes": [1] * 99},
    ],
    ids=[
        "another's id",
        "no id",
        "another's certificate",
        "no certificate",
        "an empty certificate",
        "a long certificate",
        "many addresses",
        "many scopes",
    ],
)
def test_what_cannot_be_a_peer_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(HomingError):
        decode_peers(message(**change))


def test_too_many_peers_are_refused() -> None:
    (one,) = message().peers
    with pytest.raises(HomingError):
        decode_peers(devices_pb2.ListPeersResponse(peers=[one] * (MAX_PEERS + 1)))
