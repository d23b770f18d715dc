"""What a running node records, and who may read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_core.access import DeviceRole
from homing_core.errors import RefusedError
from homing_core.generation import GenerateRequest
from homing_core.ids import GenerationId
from homing_core.messages import user
from homing_crypto.audit.head import check_head
from homing_crypto.audit.store import Filter
from homing_crypto.audit.verify import Broken, Verified, verify
from homing_node.rpc.audit_client import AuditClient
from homing_proto.codec.audit import MAX_PAGE, decode_entries, decode_signed_head
from homing_proto.codec.generation import encode_generate_request
from homing_proto.v1 import audit_pb2 as wire
from homing_proto.v1 import audit_pb2_grpc
from support.node_rig import DEADLINE_S, NodeRig, Phone, node_rig, refusal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from homing_core.audit import Entry

MOST = (1 << 64) - 1


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path) as running:
        yield running


def stub(phone: Phone) -> audit_pb2_grpc.AuditServiceAsyncStub:
    return audit_pb2_grpc.AuditServiceStub(phone.channel)


async def page(phone: Phone, after: int = 0, limit: int = 0) -> tuple[Entry, ...]:
    request = wire.ListEntriesRequest(after_seq=after, limit=limit)
    answer = await stub(phone).ListEntries(request, timeout=DEADLINE_S)
    return decode_entries(answer.entries)


async def test_an_owner_reads_the_record_and_can_check_all_of_it(rig: NodeRig) -> None:
    owner = await rig.phone()
    guest = await rig.phone(DeviceRole.GUEST)
    await (await rig.control()).revoke(guest.identity.device_id)
    entries = await page(owner)
    kinds = [entry.kind for entry in entries]
    assert kinds[0] == "started"
    assert "revoked" in kinds
    started = entries[0].facts
    assert started["certificate"] == rig.certificate.sha256.hex()
    assert started["post_quantum_required"] in {True, False}
    answer = await stub(owner).GetHead(wire.GetHeadRequest(), timeout=DEADLINE_S)
    signed = decode_signed_head(answer.signed)
    check_head(signed, rig.certificate)
    assert isinstance(verify(entries, signed=(signed, rig.certificate)), Verified)
    (revoked,) = [entry for entry in entries if entry.kind == "revoked"]
    assert (revoked.actor, revoked.device) == ("console", guest.identity.device_id)


@pytest.mark.attack
@pytest.mark.parametrize("role", [DeviceRole.MEMBER, DeviceRole.GUEST, DeviceRole.PEER])
async def test_nobody_but_an_owner_reads_it(rig: NodeRig, role: DeviceRole) -> None:
    phone = await rig.phone(role)
    for call in (
        stub(phone).GetHead(wire.GetHeadRequest(), timeout=DEADLINE_S),
        stub(phone).ListEntries(wire.ListEntriesRequest(), timeout=DEADLINE_S),
    ):
        assert isinstance(await refusal(call), RefusedError)
    owner = await rig.phone()
    noted = [entry for entry in await page(owner) if entry.kind == "refused"]
    assert phone.identity.device_id in {entry.device or entry.actor for entry in noted} | {
        entry.actor for entry in noted
    }


async def test_pages_are_bounded_whatever_is_asked(rig: NodeRig) -> None:
    owner = await rig.phone()
    everything = await page(owner, 0, (1 << 32) - 1)
    assert 0 < len(everything) <= MAX_PAGE
    assert await page(owner, 0, 1) == everything[:1]
    assert await page(owner, MOST) == ()


async def test_no_request_leaves_its_words_in_the_record(rig: NodeRig) -> None:
    secret = "marzipan-and-gunpowder"  # noqa: S105  # words of a conversation
    owner = await rig.phone()
    wrong = GenerateRequest(GenerationId(f"gen-{secret}"), (user(secret),), secret)
    call = owner.inference.Generate(encode_generate_request(wrong), timeout=DEADLINE_S)
    await refusal(call)
    guest = await rig.phone(DeviceRole.PEER)
    call = guest.inference.Generate(encode_generate_request(wrong), timeout=DEADLINE_S)
    await refusal(call)
    assert secret not in repr(await page(owner))


async def test_the_command_lines_service_follows_and_checks(rig: NodeRig) -> None:
    async with AuditClient.connect(rig.paths, "homing-node run") as client:
        entries, _ = await client.show(10, Filter())
        whole = await client.verify([])
        assert isinstance(whole, Verified)
        assert whole.seq == entries[-1].seq
        following = client.follow(whole.seq, Filter(kinds=("revoked",)))
        phone = await rig.phone()
        await (await rig.control()).revoke(phone.identity.device_id)
        entry, names = await anext(following)
        assert (entry.kind, entry.device) == ("revoked", phone.identity.device_id)
        assert names == {phone.identity.device_id: "phone"}
        await following.aclose()
        assert not isinstance(await client.verify([]), Broken)


async def test_a_revocation_is_recorded_before_it_is_answered(rig: NodeRig) -> None:
    phone = await rig.phone(DeviceRole.MEMBER)
    call = phone.inference.Generate(
        encode_generate_request(GenerateRequest(GenerationId("gen-" + "0a" * 16), (user("x"),))),
        timeout=DEADLINE_S,
    )
    await rig.engine.started.get()
    await (await rig.control()).revoke(phone.identity.device_id)
    async with AuditClient.connect(rig.paths, "homing-node run") as client:
        (last,), _ = await client.show(1, Filter(kinds=("revoked",)))
    assert last.device == phone.identity.device_id
    assert isinstance(await refusal(call), RefusedError)
