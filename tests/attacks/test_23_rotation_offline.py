"""Keys are replaced while the other side is away, and statements about new keys are abused.

Expected: whoever comes back in time goes on without a person, with everything that it had; old keys
are refused afterwards; a statement that is replayed, made for another node, signed by another
device or by one of both keys only changes nothing.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import grpc.aio
import pytest
from homing_core.access import DeviceRole, Limits, Scope
from homing_core.errors import HomingError, IntegrityError, RefusedError, UnpairedError
from homing_crypto.credentials import client_channel
from homing_crypto.rotation import sign_rotation, sign_succession
from homing_crypto.rpc_errors import error_from_rpc
from homing_crypto.testing import throwaway_identity
from homing_proto.codec.keys import encode_key_change
from homing_proto.v1 import keys_pb2, keys_pb2_grpc, node_pb2, node_pb2_grpc
from support.key_world import DAY_S, REACH_S, SetClock, introduce, key_node, key_phone
from support.node_rig import DEADLINE_S

if TYPE_CHECKING:
    from pathlib import Path

    from homing_core.keys import KeyChange
    from homing_crypto.identity import DeviceIdentity
    from support.node_rig import NodeRig

LIMITS = Limits(tokens_per_day=1000, concurrent_streams=2)


async def refused(rig: NodeRig, key: DeviceIdentity, node: DeviceIdentity | None = None) -> None:
    """A call with this key does not get through."""
    with pytest.raises(grpc.aio.AioRpcError):
        await _get_node(rig, key, node)


async def _get_node(rig: NodeRig, key: DeviceIdentity, node: DeviceIdentity | None = None) -> None:
    certificate = (node or rig.running.keys.current).certificate
    async with client_channel(f"127.0.0.1:{rig.running.port}", key, certificate) as channel:
        stub = node_pb2_grpc.NodeServiceStub(channel)
        await stub.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)


async def says(rig: NodeRig, key: DeviceIdentity, change: KeyChange) -> HomingError | None:
    """What the node answers to a statement that comes over a connection with `key`."""
    node = rig.running.keys.current
    async with client_channel(f"127.0.0.1:{rig.running.port}", key, node.certificate) as channel:
        stub = keys_pb2_grpc.KeysServiceStub(channel)
        request = keys_pb2.RotateKeyRequest(change=encode_key_change(change))
        try:
            await stub.RotateKey(request, timeout=DEADLINE_S)
        except grpc.aio.AioRpcError as error:
            return error_from_rpc(error)
        return None


@pytest.mark.attack(23)
async def test_a_phone_that_rotates_while_the_node_is_down_is_known_again_when_it_is_up(
    tmp_path: Path,
) -> None:
    async with key_phone(tmp_path / "phone") as phone:
        async with key_node(tmp_path / "node") as rig:
            introduce(phone, rig)
            first = phone.current
            rig.running.store.grant(
                first.device_id, DeviceRole.GUEST, frozenset({Scope.INFERENCE}), LIMITS
            )
            await phone.call()
        own, (den,) = await phone.desk.rotate()
        assert own[0].id == phone.current.device_id != first.device_id
        assert den.known_as == first.device_id
        assert den.problem
        async with key_node(tmp_path / "node") as rig:
            verified = await phone.call()
            assert verified.info.role is DeviceRole.GUEST
            entry = rig.running.store.get(phone.current.device_id)
            assert (entry.role, entry.limits, entry.owner) == (
                DeviceRole.GUEST,
                LIMITS,
                first.device_id,
            )
            assert phone.node.known_as == phone.current.device_id
            assert phone.ring.earlier == ()
            await refused(rig, first)
            await _get_node(rig, phone.current)


@pytest.mark.attack(23)
async def test_a_node_that_rotates_while_the_phone_is_down_is_followed_when_it_is_back(
    tmp_path: Path,
) -> None:
    async with key_node(tmp_path / "node") as rig:
        async with key_phone(tmp_path / "phone") as phone:
            introduce(phone, rig)
            await phone.call()
            before = phone.node
        old = rig.running.keys.current
        await rig.running.keys.rotate()
        await rig.running.keys.rotate()
        new = rig.running.keys.current
        async with key_phone(tmp_path / "phone") as phone:
            verified = await phone.call()
            assert verified.info.id == new.device_id
            assert phone.node == dataclasses.replace(
                before,
                id=new.device_id,
                certificate_der=new.certificate.der,
                hpke_public_key=new.hpke.public_bytes,
                last_verified_at=phone.node.last_verified_at,
            )
        async with key_phone(tmp_path / "phone") as phone:
            await phone.call()
            await _get_node(rig, phone.current, old)


@pytest.mark.attack(23)
async def test_both_rotate_while_they_do_not_see_each_other_and_then_meet(tmp_path: Path) -> None:
    clock = SetClock()
    async with key_phone(tmp_path / "phone") as phone:
        async with key_node(tmp_path / "node", clock) as rig:
            introduce(phone, rig, DeviceRole.OWNER)
            await phone.call()
            node_before, phone_before = rig.running.keys.current, phone.current
        await phone.desk.rotate()
        await phone.desk.rotate()
        async with key_node(tmp_path / "node", clock) as rig:
            await rig.running.keys.rotate()
            verified = await phone.call()
            now = rig.running.keys.current
            assert verified.info.role is DeviceRole.OWNER
            assert (phone.node.id, phone.node.known_as) == (
                now.device_id,
                phone.current.device_id,
            )
            listed = [device for device in rig.running.store.devices() if device.listed]
            assert [device.id for device in listed] == [phone.current.device_id]
            assert listed[0].owner == phone_before.device_id
            await refused(rig, phone_before)
            clock.ahead += 31 * DAY_S
            await refused(rig, phone.current, node_before)
            await _get_node(rig, phone.current)


@pytest.mark.attack(23)
async def test_a_phone_that_misses_the_nodes_whole_overlap_is_told_to_pair_again(
    tmp_path: Path,
) -> None:
    clock = SetClock()
    async with key_node(tmp_path / "node", clock) as rig, key_phone(tmp_path / "phone") as phone:
        introduce(phone, rig)
        await phone.call()
        await phone.homes.network_changed()
        await rig.running.keys.rotate()
        clock.ahead += 31 * DAY_S
        await rig.running.keys.destroy_old()
        with pytest.raises(IntegrityError) as failed:
            await (await phone.link()).verify(REACH_S)
        assert "pair again" in failed.value.hint
        assert len(rig.running.keys.own()) == 1


@pytest.mark.attack(23)
async def test_an_old_key_ends_with_its_overlap_even_if_the_phone_never_says_that_it_is_done(
    tmp_path: Path,
) -> None:
    clock = SetClock()
    async with key_node(tmp_path / "node", clock) as rig, key_phone(tmp_path / "phone") as phone:
        introduce(phone, rig)
        old, new = phone.current, throwaway_identity()
        node = rig.running.keys.current.device_id
        assert await says(rig, old, sign_rotation(node, old, new)) is None
        await _get_node(rig, old)
        clock.ahead += 7 * DAY_S - 60
        await _get_node(rig, old)
        clock.ahead += 120
        await refused(rig, old)
        await _get_node(rig, new)


@pytest.mark.attack(23)
async def test_a_statement_for_another_node_or_by_another_device_or_by_one_key_is_refused(
    tmp_path: Path,
) -> None:
    async with key_node(tmp_path / "node") as rig, key_phone(tmp_path / "phone") as phone:
        introduce(phone, rig)
        old, new, other = phone.current, throwaway_identity(), throwaway_identity()
        node = rig.running.keys.current.device_id
        right = sign_rotation(node, old, new)
        elsewhere = sign_rotation(other.device_id, old, new)
        by_other = sign_rotation(node, other, new)
        wrong = [
            elsewhere,
            by_other,
            sign_succession(old, new),
            dataclasses.replace(right, old_signature=by_other.old_signature),
            dataclasses.replace(right, old_signature=right.new_signature),
            dataclasses.replace(right, new_signature=right.old_signature),
            dataclasses.replace(right, certificate_der=other.certificate.der),
            dataclasses.replace(
                right,
                hpke_public_key=other.hpke.public_bytes,
                hpke_signature=other.hpke_signature,
            ),
        ]
        for change in wrong:
            assert isinstance(await says(rig, old, change), IntegrityError)
        assert [device.id for device in rig.running.store.devices()] == [old.device_id]


@pytest.mark.attack(23)
async def test_a_replayed_statement_changes_nothing_and_an_old_key_names_no_second_successor(
    tmp_path: Path,
) -> None:
    async with key_node(tmp_path / "node") as rig, key_phone(tmp_path / "phone") as phone:
        introduce(phone, rig)
        old, new, thief = phone.current, throwaway_identity(), throwaway_identity()
        node = rig.running.keys.current.device_id
        change = sign_rotation(node, old, new)
        assert await says(rig, old, change) is None
        stored = rig.running.store.devices()
        assert await says(rig, old, change) is None
        assert [device.id for device in rig.running.store.devices()] == [d.id for d in stored]
        assert await says(rig, new, change) is not None
        second = await says(rig, old, sign_rotation(node, old, thief))
        assert second is not None
        assert "successor" in second.what
        assert rig.running.store.lookup(thief.device_id) is None


@pytest.mark.attack(23)
async def test_a_revoked_device_cannot_rotate_and_revoking_any_key_shuts_all_of_them_out(
    tmp_path: Path,
) -> None:
    async with key_node(tmp_path / "node") as rig, key_phone(tmp_path / "phone") as phone:
        introduce(phone, rig)
        old, new, third = phone.current, throwaway_identity(), throwaway_identity()
        node = rig.running.keys.current.device_id
        assert await says(rig, old, sign_rotation(node, old, new)) is None
        async with client_channel(
            f"127.0.0.1:{rig.running.port}", new, rig.running.keys.current.certificate
        ) as channel:
            stub = keys_pb2_grpc.KeysServiceStub(channel)
            await stub.FinishRotation(keys_pb2.FinishRotationRequest(), timeout=DEADLINE_S)
            await rig.running.desk.revoke(old.device_id, "console")
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await stub.RotateKey(
                    keys_pb2.RotateKeyRequest(
                        change=encode_key_change(sign_rotation(node, new, third))
                    ),
                    timeout=DEADLINE_S,
                )
        assert isinstance(error_from_rpc(caught.value), UnpairedError | RefusedError)
        for key in (old, new, third):
            await refused(rig, key)
        assert rig.running.store.lookup(third.device_id) is None


@pytest.mark.attack(23)
async def test_a_phone_does_not_follow_a_node_whose_old_key_did_not_speak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with key_node(tmp_path / "node") as rig, key_phone(tmp_path / "phone") as phone:
        introduce(phone, rig)
        await phone.call()
        before = phone.node
        await rig.running.keys.rotate()
        impostor = throwaway_identity()
        forged = sign_succession(impostor, rig.running.keys.current)

        def lie(known_id: str) -> KeyChange:
            del known_id
            return forged

        monkeypatch.setattr(rig.running.keys, "since", lie)
        with pytest.raises(IntegrityError):
            await (await phone.link()).verify(REACH_S)
        assert phone.node == before
