"""A home that lies, an introduced device that wants more, and an old word said again.

Expected: a peer believes only what the calling home itself signed for this peer, newer than all
before, for a day at most. Whom it introduces is a guest within the peer's terms, never takes the
place of anyone the peer knows better, introduces nobody, and goes when its home goes.
"""

from __future__ import annotations

import asyncio
import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from homing_core.access import DeviceRole, Limits, Scope
from homing_core.errors import HomingError, OverloadedError, RefusedError, UnpairedError
from homing_core.generation import GenerateRequest, TextDelta
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_crypto.audit.records import CONSOLE
from homing_crypto.devices import Rewrite
from homing_crypto.introductions import Introduction, introduce, transcript
from homing_crypto.keys import device_id_of
from homing_crypto.rotation import sign_rotation
from homing_crypto.rpc_errors import error_from_rpc
from homing_crypto.testing import paired_device, throwaway_identity
from homing_node.door_section import SecuritySection
from homing_node.peers.homes import MOST_PUSHES
from homing_node.peers.section import PeersSection
from homing_node.rpc.peers_codec import encode_introduction
from homing_proto.codec.generation import encode_generate_request
from homing_proto.codec.keys import encode_key_change
from homing_proto.v1 import devices_pb2, devices_pb2_grpc, keys_pb2, keys_pb2_grpc, node_pb2
from support.certs import Recipe
from support.node_rig import DEADLINE_S, LOOPBACK, NodeRig, Phone, next_event, node_rig, within
from support.raw_h2 import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PREFACE,
    SETTINGS,
    frame,
    headers,
    raw_client,
    tls,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from homing_crypto.devices import PairedDevice
    from homing_crypto.identity import DeviceIdentity
    from homing_node.config import NodeConfig

HOUR = 3600
CONFIG: NodeConfig = dataclasses.replace(LOOPBACK, peers=PeersSection(max_devices=4))


@dataclass
class Home:
    """A home whose every message is written by hand."""

    peer: NodeRig
    identity: DeviceIdentity
    channel: grpc.aio.Channel
    serial: int = 1

    def says(
        self,
        device: DeviceIdentity,
        *,
        peer: NodeRig | None = None,
        lease: float = HOUR,
        limits: Limits = Limits(),  # noqa: B008  # frozen
        **changes: object,
    ) -> Introduction:
        """An introduction as the home's program makes it; `changes` are signed too."""
        self.serial += 1
        entry = dataclasses.replace(paired_device(device, DeviceRole.OWNER), limits=limits)
        made = introduce(
            self.identity,
            (peer or self.peer).certificate.device_id,
            entry,
            lease_expires_at=int(now() + lease),
            serial=self.serial,
        )
        return self.signed(dataclasses.replace(made, **changes)) if changes else made  # type: ignore[arg-type]

    def signed(self, made: Introduction) -> Introduction:
        """The same with a true signature of this home's."""
        return dataclasses.replace(made, signature=self.identity.sign(transcript(made)))

    async def push(self, *introductions: Introduction) -> devices_pb2.PushIntroductionsResponse:
        stub = devices_pb2_grpc.PeersServiceStub(self.channel)
        request = devices_pb2.PushIntroductionsRequest(
            introductions=map(encode_introduction, introductions)
        )
        return await stub.PushIntroductions(request, timeout=DEADLINE_S)

    async def withdraw(self, *devices: DeviceIdentity) -> None:
        self.serial += 1
        request = devices_pb2.WithdrawIntroductionsRequest(
            device_ids=[device.device_id for device in devices], serial=self.serial
        )
        stub = devices_pb2_grpc.PeersServiceStub(self.channel)
        await stub.WithdrawIntroductions(request, timeout=DEADLINE_S)

    async def refused(self, introduction: Introduction, words: str) -> None:
        """The peer takes nobody, and says why; who was to come in stays out."""
        answer = await self.push(introduction)
        assert not answer.accepted
        (refusal,) = answer.refusals
        assert words in refusal.error.what
        assert not lives(self.peer, introduction.device_id)


def now() -> float:
    import time  # noqa: PLC0415  # the nodes' own clock

    return time.time()


def lives(peer: NodeRig, device_id: str) -> bool:
    entry = entry_of(peer, device_id)
    return entry is not None and entry.live(now())


def entry_of(peer: NodeRig, device_id: str) -> PairedDevice | None:
    return next((one for one in peer.running.store.devices() if one.id == device_id), None)


async def home_of(peer: NodeRig) -> Home:
    phone = await peer.phone(DeviceRole.PEER)
    return Home(peer, phone.identity, phone.channel)


async def told(call: object) -> HomingError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call  # type: ignore[misc]
    return error_from_rpc(caught.value)


@pytest.fixture
async def peer(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path / "peer", CONFIG) as running:
        yield running


@pytest.fixture
async def home(peer: NodeRig) -> Home:
    return await home_of(peer)


@pytest.fixture
def phone() -> DeviceIdentity:
    return throwaway_identity()


@pytest.mark.attack(26)
async def test_a_forged_or_altered_introduction_lets_nobody_in(
    home: Home, phone: DeviceIdentity
) -> None:
    stranger = throwaway_identity()
    entry, peer_id = paired_device(phone), home.peer.certificate.device_id
    end = int(now() + HOUR)
    forged = introduce(stranger, peer_id, entry, lease_expires_at=end, serial=9)
    await home.refused(forged, "another home")
    named = dataclasses.replace(forged, home_id=home.identity.device_id)
    await home.refused(named, "signature")
    await home.refused(dataclasses.replace(home.says(phone), name="Owner"), "signature")
    await home.refused(dataclasses.replace(home.says(phone), signature=b"\x30\x06"), "signature")
    assert (await home.push(home.says(phone))).accepted == [phone.device_id]


@pytest.mark.attack(26)
@pytest.mark.parametrize("lease", [-60, 0, 24 * HOUR + 60, 40 * 365 * 24 * HOUR])
async def test_a_lease_that_is_over_or_longer_than_a_day_lets_nobody_in(
    home: Home, phone: DeviceIdentity, lease: float
) -> None:
    await home.refused(home.says(phone, lease=lease), "lease")


@pytest.mark.attack(26)
async def test_an_introduction_for_one_peer_is_worth_nothing_at_another(
    home: Home, phone: DeviceIdentity, tmp_path: Path
) -> None:
    async with node_rig(tmp_path / "other") as other:
        other.running.store.add(paired_device(home.identity, DeviceRole.PEER))
        there = Home(other, home.identity, (await other.dial(home.identity)).channel)
        await there.refused(home.says(phone), "another node")
        stolen = await home_of(other)
        await stolen.refused(home.says(phone, peer=other), "another home")


@pytest.mark.attack(26)
async def test_an_old_word_brings_nobody_back_after_a_withdrawal(
    home: Home, phone: DeviceIdentity
) -> None:
    old = home.says(phone)
    assert (await home.push(old)).accepted
    assert (await home.push(old)).accepted, "the very same push again is harmless"
    await home.withdraw(phone)
    assert not lives(home.peer, phone.device_id)
    await home.refused(old, "older")


@pytest.mark.attack(26)
async def test_introduced_devices_introduce_nobody(home: Home, phone: DeviceIdentity) -> None:
    assert (await home.push(home.says(phone))).accepted
    dialled = await home.peer.dial(phone)
    chained = Home(home.peer, phone, dialled.channel)
    third = throwaway_identity()
    assert isinstance(await told(chained.push(chained.says(third))), RefusedError)
    assert isinstance(await told(chained.withdraw(third)), RefusedError)
    role, scopes = DeviceRole.PEER, frozenset({Scope.INTRODUCE})
    with pytest.raises(RefusedError):  # nor can an operator make it a home by mistake
        await home.peer.running.desk.grant(phone.device_id, role, scopes, Limits(), CONSOLE)
    assert not lives(home.peer, third.device_id)


@pytest.mark.attack(26)
async def test_role_scopes_and_limits_are_the_peers_whatever_the_message_says(
    home: Home, phone: DeviceIdentity
) -> None:
    tight = Limits(tokens_per_day=100, concurrent_streams=1, models=("small",))
    scopes = frozenset({Scope.INTRODUCE})
    home.peer.running.store.grant(home.identity.device_id, DeviceRole.PEER, scopes, tight)
    greedy = home.says(phone, limits=Limits(tokens_per_day=10**9), scopes=frozenset(Scope))
    assert (await home.push(greedy)).accepted
    entry = entry_of(home.peer, phone.device_id)
    assert entry is not None
    assert (entry.role, entry.scopes) == (DeviceRole.GUEST, frozenset({Scope.INFERENCE}))
    assert entry.limits == tight


@pytest.mark.attack(26)
@pytest.mark.parametrize("role", [DeviceRole.OWNER, DeviceRole.MEMBER, DeviceRole.GUEST])
async def test_a_phone_cannot_push_or_withdraw_introductions(
    home: Home, phone: DeviceIdentity, role: DeviceRole
) -> None:
    assert (await home.push(home.says(phone))).accepted
    other = await home.peer.phone(role, frozenset(Scope))
    liar = Home(home.peer, other.identity, other.channel, serial=home.serial)
    assert isinstance(await told(liar.push(liar.says(throwaway_identity()))), RefusedError)
    assert isinstance(await told(liar.withdraw(phone)), RefusedError)
    assert lives(home.peer, phone.device_id)
    peers = devices_pb2_grpc.PeersServiceStub(home.channel)
    answer = peers.ListPeers(devices_pb2.ListPeersRequest(), timeout=DEADLINE_S)
    assert isinstance(await told(answer), RefusedError), "and a home is no phone"


@pytest.mark.attack(26)
async def test_nobody_whom_the_peer_knows_better_is_touched(home: Home) -> None:
    owner, revoked = await home.peer.phone(DeviceRole.OWNER), throwaway_identity()
    before = entry_of(home.peer, owner.identity.device_id)
    await home.push(home.says(owner.identity))
    await home.withdraw(owner.identity)
    after = entry_of(home.peer, owner.identity.device_id)
    assert after is not None
    assert before is not None
    assert (after.role, after.scopes, after.introduced_by) == (before.role, before.scopes, "")
    await owner.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
    assert (await home.push(home.says(revoked))).accepted
    await home.peer.running.desk.revoke(revoked.device_id, CONSOLE)
    await home.refused(home.says(revoked), "revoked here")
    rival = await home_of(home.peer)
    theirs = throwaway_identity()
    assert (await rival.push(rival.says(theirs))).accepted
    answer = await home.push(home.says(theirs))
    assert "another node already vouches" in answer.refusals[0].error.what
    await home.withdraw(theirs)
    assert lives(home.peer, theirs.device_id)


@pytest.mark.attack(26)
async def test_a_flood_of_introductions_is_bounded(home: Home) -> None:
    devices = [throwaway_identity() for _ in range(6)]
    answer = await home.push(*map(home.says, devices))
    assert (len(answer.accepted), len(answer.refusals)) == (4, 2)
    await home.withdraw(*devices[:4])
    answer = await home.push(*map(home.says, devices[4:]))
    assert not answer.accepted, "withdrawing does not make room for others on the same day"
    known = [one for one in home.peer.running.store.devices() if one.introduced_by]
    assert len(known) == 4
    too_many = [home.says(devices[0])] * 300
    assert isinstance(await told(home.push(*too_many)), HomingError)
    for _ in range(MOST_PUSHES - 2):
        await home.push()
    assert isinstance(await told(home.push()), OverloadedError)
    await home.withdraw(devices[0])  # which still gets through


@pytest.mark.attack(26)
async def test_devices_that_leave_make_no_room_and_leave_no_rows_for_good(home: Home) -> None:
    phones = [throwaway_identity() for _ in range(4)]
    assert len((await home.push(*map(home.says, phones))).accepted) == 4
    for phone in phones:
        dialled = await home.peer.dial(phone)
        devices = devices_pb2_grpc.DevicesServiceStub(dialled.channel)
        request = devices_pb2.RevokeDeviceRequest(id=phone.device_id)
        await devices.RevokeDevice(request, timeout=DEADLINE_S)
        assert not lives(home.peer, phone.device_id)
        entry = entry_of(home.peer, phone.device_id)
        assert entry is not None
        assert not entry.revoked_at, "it lapses: nothing of it stays for good"
    await home.refused(home.says(throwaway_identity()), "in a day")
    await home.peer.running.desk.revoke(phones[0].device_id, CONSOLE)
    await home.refused(home.says(phones[0]), "revoked here")
    await home.refused(home.says(throwaway_identity()), "in a day")


@pytest.mark.attack(26)
async def test_an_introduced_device_cannot_replace_its_key_at_the_peer(
    home: Home, phone: DeviceIdentity
) -> None:
    assert (await home.push(home.says(phone))).accepted
    own, new = await home.peer.dial(phone), throwaway_identity()
    keys = keys_pb2_grpc.KeysServiceStub(own.channel)
    change = encode_key_change(sign_rotation(home.peer.certificate.device_id, phone, new))
    rotate = keys.RotateKey(keys_pb2.RotateKeyRequest(change=change), timeout=DEADLINE_S)
    assert isinstance(await told(rotate), RefusedError)
    finish = keys.FinishRotation(keys_pb2.FinishRotationRequest(), timeout=DEADLINE_S)
    assert isinstance(await told(finish), RefusedError)
    assert entry_of(home.peer, new.device_id) is None


def follow(peer: NodeRig, phone: DeviceIdentity, new: DeviceIdentity) -> None:
    """The peer knows another key of an introduced device, as an older version let it replace it."""
    entry = entry_of(peer, phone.device_id)
    assert entry is not None
    later = paired_device(new)
    later = dataclasses.replace(
        entry, id=later.id, certificate_der=later.certificate_der, account=phone.device_id
    )
    retired = dataclasses.replace(entry, retires_at=1)
    peer.running.store.rewrite(lambda _: Rewrite((later, retired)))


@pytest.mark.attack(26)
async def test_a_withdrawal_ends_every_key_of_the_device_and_what_it_runs(
    home: Home, phone: DeviceIdentity
) -> None:
    new = throwaway_identity()
    assert (await home.push(home.says(phone))).accepted
    follow(home.peer, phone, new)
    await home.push(home.says(phone, limits=Limits(tokens_per_day=10_000)))
    entry = entry_of(home.peer, new.device_id)
    assert entry is not None
    assert entry.limits.tokens_per_day == 10_000, "what the home says holds for each key"
    call = await _streaming(home.peer, new)
    async with asyncio.timeout(1.0):
        await home.withdraw(phone)
        assert isinstance(await told(next_event(call)), UnpairedError)  # type: ignore[arg-type]
    assert not lives(home.peer, new.device_id)
    again = (await home.peer.dial(new)).node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
    assert isinstance(await told(again), HomingError)


@pytest.mark.attack(26)
async def test_no_home_takes_the_name_under_which_anothers_device_is_counted(
    home: Home, phone: DeviceIdentity
) -> None:
    new = throwaway_identity()
    assert (await home.push(home.says(phone))).accepted
    follow(home.peer, phone, new)
    call = await _streaming(home.peer, new)
    rival = await home_of(home.peer)
    await rival.refused(rival.says(phone), "goes on under")
    await rival.withdraw(phone)
    assert lives(home.peer, new.device_id)
    assert not call.done()  # type: ignore[attr-defined]


@pytest.mark.attack(26)
async def test_a_malformed_certificate_is_refused_and_harms_nobody(
    home: Home, phone: DeviceIdentity
) -> None:
    stranger = await home.peer.phone()
    key = ec.generate_private_key(ec.SECP256R1())
    name = device_id_of(key.public_key())
    bad = {
        "garbage": b"\x30\x82garbage",
        "authority": Recipe(key, name, authority=True, cert_sign=True).der(),
        "another's": stranger.identity.certificate.der,
        "minted": Recipe(key, name, issuer_name=phone.device_id, signer=phone.private_key).der(),
        "other curve": Recipe(ec.generate_private_key(ec.SECP384R1()), name).der(),
        "empty": b"",
    }
    for what, der in bad.items():
        made = home.says(phone, device_id=name, certificate_der=der, hpke_public_key=b"")
        answer = await home.push(home.signed(dataclasses.replace(made, hpke_signature=b"")))
        assert not answer.accepted, what
        assert entry_of(home.peer, name) is None, what
    await stranger.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
    assert (await home.push(home.says(phone))).accepted
    await (await home.peer.dial(phone)).node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)


async def _streaming(peer: NodeRig, phone: DeviceIdentity) -> object:
    dialled: Phone = await peer.dial(phone)
    request = GenerateRequest(new_generation_id(), (user("go on"),), "")
    call = dialled.inference.Generate(encode_generate_request(request), timeout=DEADLINE_S)
    await within(peer.engine.started.get())
    peer.engine.feed(request.id, TextDelta("a"))
    assert await next_event(call) is not None
    return call


@pytest.mark.attack(26)
@pytest.mark.parametrize("how", ["home revoked", "withdrawn", "scope taken"])
async def test_open_streams_end_within_a_second_when_the_word_ends(
    home: Home, phone: DeviceIdentity, how: str
) -> None:
    assert (await home.push(home.says(phone))).accepted
    call = await _streaming(home.peer, phone)
    desk, home_id = home.peer.running.desk, home.identity.device_id
    async with asyncio.timeout(1.0):
        if how == "withdrawn":
            await home.withdraw(phone)
        elif how == "home revoked":
            await desk.revoke(home_id, CONSOLE)
        else:
            await desk.grant(home_id, DeviceRole.PEER, frozenset(), Limits(), CONSOLE)
        assert isinstance(await told(next_event(call)), UnpairedError)  # type: ignore[arg-type]
    again = await home.peer.dial(phone)
    assert isinstance(
        await told(again.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)), HomingError
    )
    assert not lives(home.peer, phone.device_id)


@pytest.mark.attack(26)
async def test_a_withdrawn_device_cannot_sit_on_its_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no call under way, so there is none to end; its connection is cut all the same."""
    monkeypatch.setattr("homing_node.entrance.TOLD_S", 0.1)
    config = dataclasses.replace(CONFIG, security=SecuritySection("preferred"))
    async with node_rig(tmp_path, config) as peer:
        home, phone = await home_of(peer), throwaway_identity()
        assert (await home.push(home.says(phone))).accepted
        async with raw_client(peer.running.port, tls(phone)) as client:
            await client.send(
                PREFACE,
                frame(SETTINGS, 0, 0),
                frame(HEADERS, END_HEADERS, 1, headers("/homing_proto.v1.NodeService/GetNode")),
                frame(DATA, END_STREAM, 1, bytes(5)),
            )
            assert await client.end_of(1)
            await home.withdraw(phone)
            await client.closed()
        assert not lives(peer, phone.device_id)
