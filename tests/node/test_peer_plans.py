"""Whose devices a peer is told of, and when."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from homing_core.access import DeviceRole, Limits, Scope
from homing_core.errors import InvalidDataError
from homing_core.ids import DeviceId
from homing_core.tools import Place
from homing_crypto.introductions import MAX_LEASE_S
from homing_crypto.nodes import KnownNode
from homing_crypto.testing import paired_device, throwaway_identity
from homing_node.config import NodeConfig
from homing_node.peers.ledger import PeerAccount, Told, ToldState
from homing_node.peers.offers import offers
from homing_node.peers.plan import LAPSE_SLACK_S, Plan, digest, plan, shared_devices
from homing_node.peers.section import PeersSection, Share
from homing_node.rpc.peers_codec import (
    decode_device_ids,
    decode_introductions,
    decode_push_answer,
)
from homing_proto.v1 import devices_pb2 as wire

if TYPE_CHECKING:
    from homing_crypto.devices import PairedDevice

NOW, LEASE = 1_800_000_000.0, 6 * 3600
HOME, PEER = DeviceId("a" * 64), DeviceId("b" * 64)
IDENTITIES = {role: throwaway_identity() for role in DeviceRole}
DEVICES = tuple(paired_device(identity, role) for role, identity in IDENTITIES.items())
MEMBER = next(one for one in DEVICES if one.role is DeviceRole.MEMBER)
GUEST = next(one for one in DEVICES if one.role is DeviceRole.GUEST)


def roles(account: PeerAccount, share: Share = Share.HOUSEHOLD) -> set[DeviceRole]:
    return {one.role for one in shared_devices(DEVICES, account, share, NOW)}


def told(device: PairedDevice, left: float = LEASE, **changes: object) -> PeerAccount:
    entry = Told(device.id, digest(HOME, device), int(NOW + left), ToldState.TAKEN)
    return PeerAccount(PEER, told={device.id: dataclasses.replace(entry, **changes)})  # type: ignore[arg-type]


def planned(account: PeerAccount, *wanted: PairedDevice) -> Plan:
    return plan(HOME, wanted, account, NOW, LEASE)


def test_the_household_is_shared_and_guests_where_it_is_said() -> None:
    account = PeerAccount(PEER)
    household = {DeviceRole.OWNER, DeviceRole.MEMBER}
    assert roles(account) == household
    assert roles(account, Share.EVERYONE) == household | {DeviceRole.GUEST}
    assert roles(account, Share.NOBODY) == set()
    assert roles(dataclasses.replace(account, guests=True)) == household | {DeviceRole.GUEST}
    assert roles(dataclasses.replace(account, guests=False), Share.EVERYONE) == household
    chosen = dataclasses.replace(account, choices={GUEST.id: True, MEMBER.id: False})
    assert roles(chosen) == {DeviceRole.OWNER, DeviceRole.GUEST}
    assert roles(chosen, Share.NOBODY) == {DeviceRole.GUEST}
    assert roles(dataclasses.replace(chosen, leaving=True)) == set()


def test_nobody_is_shared_who_is_not_here_by_right() -> None:
    everyone = PeerAccount(PEER, choices={one.id: True for one in DEVICES})
    assert DeviceRole.PEER not in roles(everyone)
    for change in (
        {"introduced_by": HOME, "lease_expires_at": int(NOW) + 60},
        {"revoked_at": NOW - 1},
        {"retires_at": int(NOW) - 1},
        {"limits": Limits(expires_at=int(NOW) - 1)},
        {"scopes": frozenset({Scope.DEVICES})},
    ):
        device = dataclasses.replace(MEMBER, **change)
        account = PeerAccount(PEER, choices={MEMBER.id: True})
        assert shared_devices([device], account, Share.EVERYONE, NOW) == (), change


def test_a_choice_holds_for_every_key_of_a_device() -> None:
    renewed = dataclasses.replace(paired_device(throwaway_identity()), account=MEMBER.id)
    account = PeerAccount(PEER, choices={MEMBER.id: False})
    assert shared_devices([MEMBER, renewed], account, Share.HOUSEHOLD, NOW) == ()


def test_a_device_is_told_once_and_renewed_in_time() -> None:
    first = planned(PeerAccount(PEER), MEMBER)
    ((device, said),) = first.push
    assert (device, said.lease_expires_at) == (MEMBER, int(NOW) + LEASE)
    known = planned(told(MEMBER), MEMBER)
    assert (known.push, known.withdraw, known.next_at) == ((), (), NOW + LEASE / 3)
    assert planned(told(MEMBER, LEASE * 2 / 3 + 1), MEMBER).push == ()
    assert planned(told(MEMBER, LEASE * 2 / 3 - 1), MEMBER).push
    assert planned(PeerAccount(PEER)) == Plan((), (), (), 0.0)


@pytest.mark.parametrize(
    "account",
    [
        told(MEMBER, state=ToldState.SENT),
        told(MEMBER, digest="said otherwise"),
        told(MEMBER, left=LEASE + LAPSE_SLACK_S + 5),
        told(MEMBER, left=-5),
    ],
    ids=["unanswered", "changed", "clock was ahead", "over"],
)
def test_it_is_told_again_where_what_was_told_does_not_hold(account: PeerAccount) -> None:
    assert [one.id for one, _ in planned(account, MEMBER).push] == [MEMBER.id]


def test_another_key_of_the_home_says_everything_again() -> None:
    assert plan(DeviceId("c" * 64), [MEMBER], told(MEMBER), NOW, LEASE).push


@pytest.mark.parametrize("state", list(ToldState))
def test_whoever_is_not_wanted_is_withdrawn_whatever_the_peer_said(state: ToldState) -> None:
    assert planned(told(MEMBER, state=state)).withdraw == (MEMBER.id,)


def test_a_lease_that_is_long_over_needs_no_withdrawal() -> None:
    over = planned(told(MEMBER, left=-LAPSE_SLACK_S - 1))
    assert (over.withdraw, over.lapsed) == ((), (MEMBER.id,))


def test_a_phone_is_offered_only_peers_that_took_it() -> None:
    identity = throwaway_identity()
    peer = KnownNode(
        identity.device_id,
        identity.certificate.der,
        b"",
        "Bo",
        Place.PEER,
        DeviceRole.PEER,
        frozenset({Scope.INTRODUCE}),
        ("10.0.0.1:1", "10.0.0.2:1"),
        last_good_address="10.0.0.2:1",
    )

    def offered(account: PeerAccount, device: PairedDevice = MEMBER, node: KnownNode = peer) -> int:
        return len(offers(device, [node], lambda _: account, NOW))

    (offer,) = offers(MEMBER, [peer], lambda _: told(MEMBER), NOW)
    assert offer.addresses == ("10.0.0.2:1", "10.0.0.1:1")
    assert offer.scopes == {Scope.INFERENCE, Scope.TOOLS, Scope.JOBS}
    assert offered(told(MEMBER, state=ToldState.SENT)) == 0
    assert offered(told(MEMBER, state=ToldState.REFUSED)) == 0
    assert offered(told(MEMBER, left=-1)) == 0
    assert offered(told(GUEST)) == 0
    assert offered(dataclasses.replace(told(MEMBER), leaving=True)) == 0
    assert offered(told(MEMBER), dataclasses.replace(MEMBER, introduced_by=HOME)) == 0
    assert offered(told(MEMBER), node=dataclasses.replace(peer, place=Place.HOME)) == 0


def test_settings_are_held_to_their_ranges() -> None:
    assert PeersSection(lease_hours=24).lease_s < MAX_LEASE_S
    assert NodeConfig().peers.allowed == {Scope.INFERENCE, Scope.TOOLS, Scope.JOBS}
    wrongs: tuple[dict[str, Any], ...] = (
        {"lease_hours": 25.0},
        {"lease_hours": 0.0},
        {"max_devices": 0},
        {"max_devices": 257},
        {"scopes": ("devices",)},
        {"share": "all"},
    )
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"peers\."):
            PeersSection(**wrong)


@pytest.mark.parametrize(
    "change",
    [
        {"device_id": "x"},
        {"home_id": ""},
        {"peer_id": "A" * 64},
        {"certificate_der": bytes(1025)},
        {"hpke_public_key": bytes(1217)},
        {"signature": bytes(129)},
        {"hpke_signature": bytes(129)},
        {"name": "n" * 65},
        {"limits": wire.Limits(hours="always")},
        {"limits": wire.Limits(models=["m"] * 40)},
        {"limits": wire.Limits(tokens_per_day=1 << 60)},
        {"scopes": [1] * 65},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_malformed_introduction_is_refused_before_it_is_verified(
    change: dict[str, object],
) -> None:
    fields: dict[str, object] = {"home_id": HOME, "peer_id": PEER, "device_id": MEMBER.id}
    decode_introductions([wire.Introduction(**fields)])  # type: ignore[arg-type]
    with pytest.raises(InvalidDataError):
        decode_introductions([wire.Introduction(**fields | change)])  # type: ignore[arg-type]


def test_too_much_at_once_is_refused() -> None:
    with pytest.raises(InvalidDataError):
        decode_introductions([wire.Introduction()] * 257)
    with pytest.raises(InvalidDataError):
        decode_device_ids(["a" * 64] * 257)
    with pytest.raises(InvalidDataError):
        decode_device_ids(["nobody"])
    with pytest.raises(InvalidDataError):
        decode_push_answer(wire.PushIntroductionsResponse(accepted=["a" * 64] * 600))


def test_addresses_of_a_peer_are_hints() -> None:
    texts = ["10.0.0.1:5", "rubbish", "[fe80::1%eth0]:5", "10.0.0.1:5", "friend.example:47100"]
    answer = decode_push_answer(wire.PushIntroductionsResponse(addresses=texts, serial=4))
    assert (answer.addresses, answer.serial) == (("10.0.0.1:5", "friend.example:47100"), 4)
