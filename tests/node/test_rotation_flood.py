"""A paired device that replaces its key without end is stopped, keeps its key, and fills no log."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_core.access import DeviceRole
from homing_crypto.audit.records import AuditKind
from homing_crypto.audit.store import AUDIT_FILE, AuditFile, Filter
from homing_crypto.rotation import sign_rotation
from homing_crypto.testing import paired_device, throwaway_identity
from homing_node.devices.rotation_count import MOST_A_DAY
from homing_proto.codec.keys import encode_key_change
from homing_proto.v1 import keys_pb2, keys_pb2_grpc, node_pb2
from support.node_rig import DEADLINE_S, LOOPBACK, NodeRig, node_rig

if TYPE_CHECKING:
    from pathlib import Path

    from homing_crypto.identity import DeviceIdentity


async def rotate(rig: NodeRig, old: DeviceIdentity, new: DeviceIdentity) -> None:
    before = keys_pb2_grpc.KeysServiceStub((await rig.dial(old)).channel)
    change = encode_key_change(sign_rotation(rig.certificate.device_id, old, new))
    await before.RotateKey(keys_pb2.RotateKeyRequest(change=change), timeout=DEADLINE_S)
    after = keys_pb2_grpc.KeysServiceStub((await rig.dial(new)).channel)
    await after.FinishRotation(keys_pb2.FinishRotationRequest(), timeout=DEADLINE_S)


def rotations_noted(folder: Path) -> int:
    (path,) = folder.rglob(AUDIT_FILE)
    file = AuditFile(path)
    noted = file.newest(100, Filter(kinds=(AuditKind.KEY_ROTATED.value,)))
    file.close()
    return len(noted)


@pytest.mark.attack
async def test_a_guest_that_rotates_in_a_loop_is_refused_across_a_restart(tmp_path: Path) -> None:
    keys = [throwaway_identity() for _ in range(MOST_A_DAY + 2)]
    for start in range(2):
        async with node_rig(tmp_path, LOOPBACK) as rig:
            if not start:
                rig.running.store.add(paired_device(keys[0], DeviceRole.GUEST))
                for old, new in itertools.pairwise(keys[:-1]):
                    await rotate(rig, old, new)
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await rotate(rig, keys[MOST_A_DAY], keys[MOST_A_DAY + 1])
            assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            phone = await rig.dial(keys[MOST_A_DAY])
            await phone.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
    assert rotations_noted(tmp_path) == MOST_A_DAY
