"""`homing devices`, with the node's real services."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_agent.runtime.localsocket import open_local_channel
from homing_agent.runtime.moments import moment
from homing_client.cli.devices_view import show_revoked
from homing_client.devices import NodeDevices
from homing_client.key_place import IDENTITY_FOLDER
from homing_core.access import DEFAULT_SCOPES, DeviceRole, Limits
from homing_core.clock import SystemClock
from homing_core.devices import DeviceState, DeviceView
from homing_core.errors import HomingError
from homing_core.limit_words import LimitChange
from homing_crypto.identity import DeviceIdentity
from homing_crypto.node_book import NODE_BOOK_FILE, SqliteNodeBook
from homing_crypto.recovery_secret import new_recovery_secret
from homing_crypto.testing import paired_device, throwaway_identity
from homing_node.rpc.recovery_service import RecoveryClient
from homing_proto.codec.devices import (
    decode_device,
    decode_devices,
    decode_limit_change,
    encode_device,
    encode_limit_change,
)
from homing_proto.v1 import devices_pb2, node_pb2, phone_devices_pb2
from hypothesis import given
from hypothesis import strategies as st
from support.fake_home import FakeHome
from support.node_rig import NodeRig, node_rig, send_raw
from support.phone_process import PhoneRig, objects, one_line

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from homing_core.ids import DeviceId


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path / "home") as running:
        yield running


def paired(rig: PhoneRig, node: NodeRig, role: DeviceRole = DeviceRole.OWNER) -> DeviceId:
    """Phone and node know each other; the phone's id."""
    rig.data_dir.mkdir(mode=0o700, exist_ok=True)
    identity = DeviceIdentity.load_or_create(rig.data_dir / IDENTITY_FOLDER, SystemClock())
    node.running.store.add(paired_device(identity, role, name="mine"))
    known = dataclasses.replace(
        FakeHome(name=node.running.facts.name).known(f"127.0.0.1:{node.running.port}"),
        certificate_der=node.certificate.der,
        id=node.running.facts.id,
    )
    book = SqliteNodeBook(rig.data_dir / NODE_BOOK_FILE)
    book.add(known)
    book.close()
    return identity.device_id


async def test_an_owners_phone_lists_limits_and_shuts_out(rig: PhoneRig, node: NodeRig) -> None:
    own = paired(rig, node)
    member = await node.phone(DeviceRole.MEMBER)
    device = member.identity.device_id
    async with rig.scripted():
        listed = {found["id"]: found for found in objects((await rig.run("devices", "--json")).out)}
        assert {one["this_phone"] for one in listed.values() if one["id"] == own} == {True}
        assert (listed[device]["role"], listed[device]["this_phone"]) == ("member", False)
        assert listed[device]["state"] == "let in"
        scopes, over = DEFAULT_SCOPES[DeviceRole.MEMBER], Limits(expires_at=1)
        node.running.store.grant(device, DeviceRole.MEMBER, scopes, over)
        assert "its time is over" in (await rig.run("devices", "list")).out
        found = {one["id"]: one for one in objects((await rig.run("devices", "--json")).out)}
        assert found[device]["state"] == "over"
        node.running.store.grant(device, DeviceRole.MEMBER, scopes, Limits())
        table = (await rig.run("devices", "list")).out
        assert all(word in table for word in (device[:12], "mine (this phone)", "member"))

        words = [
            "--tokens-per-day",
            "500",
            "--hours",
            "08:00-22:00",
            "--models",
            "small*,big",
            "--streams",
            "2",
        ]
        done = await rig.run("devices", "limit", device[:8], *words, "--json")
        (limited,) = objects(done.out)
        assert limited["device"]["limits"]["tokens_per_day"] == 500
        stored = node.running.store.get(device)
        assert stored.limits == Limits(500, 2, 0, ("small*", "big"), (), 0, "08:00-22:00")
        assert stored.scopes == DEFAULT_SCOPES[DeviceRole.MEMBER]
        # What is not named stays.
        assert (await rig.run("devices", "limit", device, "--hours", "any")).status == 0
        assert node.running.store.get(device).limits.hours == ""
        assert node.running.store.get(device).limits.tokens_per_day == 500

        done = await rig.run("devices", "revoke", device[:8])
        assert done.out.startswith("Shut out of den: ")
        assert node.running.store.get(device).revoked_at


async def test_another_owner_needs_the_secret(rig: PhoneRig, node: NodeRig) -> None:
    paired(rig, node)
    other = (await node.phone()).identity.device_id
    async with open_local_channel(node.paths, "homing-node run") as channel:
        secret, made_at = await RecoveryClient(channel).make()
        await RecoveryClient(channel).confirm(made_at)
    async with rig.scripted():
        done = await rig.run("devices", "revoke", other)
        assert done.status == 3
        assert "recovery secret" in one_line(done)
        words = ("devices", "revoke", other, "--recovery")
        done = await rig.run(*words)
        assert (done.status, "--recovery -" in one_line(done)) == (2, True)
        done = await rig.run(*words, "-", stdin=b"no secret at all\n")
        assert (done.status, "8 groups" in one_line(done)) == (2, True)
        done = await rig.run(*words, "-", stdin=new_recovery_secret().encode())
        assert (done.status, "not this node's" in one_line(done)) == (3, True)
        assert secret not in done.err
        assert not node.running.store.get(other).revoked_at
        async with rig.terminal(*words) as terminal:
            await terminal.expect("Recovery secret (not shown): ")
            terminal.type(f"{secret.lower()}\n")
            await terminal.expect("Shut out of den")
            assert await terminal.end() == 0
            assert secret.lower() not in terminal.text.lower()
    assert node.running.store.get(other).revoked_at


async def test_a_phone_that_is_no_owner_is_told_and_may_leave(rig: PhoneRig, node: NodeRig) -> None:
    own = paired(rig, node, DeviceRole.MEMBER)
    async with rig.scripted():
        for words in (("devices",), ("devices", "revoke", throwaway_identity().device_id)):
            done = await rig.run(*words)
            assert done.status == 3
            assert "may not look after" in one_line(done)
            assert "owner's phone" in one_line(done)
        done = await rig.run("devices", "revoke", own[:12], "--json")
        (left,) = objects(done.out)
        assert left["device"]["id"] == own
        assert node.running.store.get(own).revoked_at
        assert objects((await rig.run("nodes", "--no-check", "--json")).out) == []


async def test_the_only_owner_is_asked_before_it_leaves_a_node_without_one(
    rig: PhoneRig, node: NodeRig
) -> None:
    own = paired(rig, node)
    words = ("devices", "revoke", own[:12])
    async with rig.scripted():
        done = await rig.run(*words)
        assert (done.status, "only owner of den" in one_line(done)) == (2, True), done.err
        assert "--yes" in one_line(done)
        async with rig.terminal(*words) as terminal:
            await terminal.expect("Leave it all the same?")
            terminal.type("n\n")
            assert await terminal.end() == 1
        assert not node.running.store.get(own).revoked_at
        done = await rig.run(*words, "--yes")
        assert done.out.startswith("Shut out of den: mine, ")
    assert node.running.store.get(own).revoked_at


async def test_one_of_two_owners_leaves_unasked(rig: PhoneRig, node: NodeRig) -> None:
    own = paired(rig, node)
    await node.phone()
    async with rig.scripted():
        assert (await rig.run("devices", "revoke", "MINE")).status == 0
    assert node.running.store.get(own).revoked_at


def test_what_goes_with_a_device_is_said_in_plain_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def row(name: str, by: str = "") -> DeviceView:
        device = throwaway_identity().device_id
        limits = Limits()
        return DeviceView(device, name, DeviceRole.PEER, frozenset(), 0, 0, by, limits)

    home = row("Gina's")
    key = row("Gina's")
    rows = (home, key, row("Kid", home.id), row("Tab", key.id))
    show_revoked(NodeDevices("Attic", home.id, rows), as_json=False)
    said = " ".join(capsys.readouterr().out.split())
    assert "with 1 other key of its own, and the 2 devices that it introduced: Kid, Tab." in said


async def test_which_node_is_meant(rig: PhoneRig, node: NodeRig, tmp_path: Path) -> None:
    async with rig.scripted():
        done = await rig.run("devices")
        assert (done.status, "no home node" in one_line(done)) == (1, True)
    async with node_rig(tmp_path / "second") as second:
        paired(rig, node)
        own = paired(rig, second)
        async with rig.scripted():
            done = await rig.run("devices")
            assert (done.status, "--node" in one_line(done)) == (2, True)
            done = await rig.run("devices", "--node", second.running.facts.id[:10], "--json")
            assert [one["id"] for one in objects(done.out)] == [own]
            done = await rig.run("devices", "list", "--node", "nowhere", "--json")
            assert done.status == 1


async def test_what_makes_no_sense_is_told(rig: PhoneRig, node: NodeRig) -> None:
    paired(rig, node)
    async with rig.scripted():
        for words, status in (
            (("limit", "abcdef"), 2),
            (("limit", "abcdef", "--until", "yesterday"), 2),
            (("limit", "abcdef", "--models", ""), 2),
            (("limit", "abcdef", "--hours", " "), 2),
            (("limit", "abcdef", "--hours", "late"), 2),
            (("limit", "abcdef", "--tokens-per-day", "-1"), 2),
            (("revoke", "abcdef", "123456"), 2),
            (("revoke", "nobody"), 1),
            (("revoke", "abcdef" * 100, "--yes"), 2),
            (("revoke", "ffffffffffff"), 1),
        ):
            done = await rig.run("devices", *words)
            assert (done.status, bool(one_line(done))) == (status, True), words


@pytest.mark.attack
async def test_malformed_messages_on_the_phones_socket_about_devices(rig: PhoneRig) -> None:
    async with rig.scripted(), open_local_channel(rig.paths, "homing serve") as channel:
        for method in ("ListNodeDevices", "RevokeNodeDevice", "LimitNodeDevice"):
            path = f"/homing_proto.v1.PhoneDevicesService/{method}"
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await send_raw(channel, path, b"\xff\xff\xff")
            assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


@given(
    st.builds(
        LimitChange,
        tokens_per_day=st.none() | st.integers(0, 1 << 53),
        concurrent_streams=st.none() | st.integers(0, 1 << 31),
        jobs=st.none() | st.integers(0, 1 << 31),
        models=st.none() | st.lists(st.text("abc*", max_size=5), max_size=3).map(tuple),
        tools=st.none() | st.lists(st.text("abc*", max_size=5), max_size=3).map(tuple),
        expires_at=st.none() | st.integers(0, 1 << 53),
        hours=st.none() | st.sampled_from(["", "none", "08:00-22:00"]),
    )
)
def test_a_change_comes_over_the_wire_whole(change: LimitChange) -> None:
    raw = encode_limit_change(change).SerializeToString()
    assert decode_limit_change(phone_devices_pb2.LimitChange.FromString(raw)) == change


def test_a_change_that_is_too_much_is_refused() -> None:
    names = phone_devices_pb2.NameList(names=["x"] * 1000)
    long = phone_devices_pb2.NameList(names=["x" * 1000])
    for message in (
        phone_devices_pb2.LimitChange(models=names),
        phone_devices_pb2.LimitChange(tools=long),
        phone_devices_pb2.LimitChange(hours="x" * 1000),
    ):
        with pytest.raises(HomingError):
            decode_limit_change(message)
    with pytest.raises(HomingError):
        encode_limit_change(LimitChange(tokens_per_day=-1))


@pytest.mark.attack
def test_what_a_node_says_of_devices_is_not_taken_on_trust() -> None:
    good = devices_pb2.Device(
        id=throwaway_identity().device_id,
        name="a\x1b[2Jb\u202e",
        role=node_pb2.DEVICE_ROLE_GUEST,
        last_seen_at=1 << 62,
    )
    row = decode_device(good)
    assert "\x1b" not in row.name
    assert "\u202e" not in row.name
    assert moment(row.last_seen_at) == "?"
    assert row.state is DeviceState.LET_IN
    assert decode_device(encode_device(row)) == row
    bad = [
        devices_pb2.Device(id="x" * 64, role=node_pb2.DEVICE_ROLE_GUEST),
        devices_pb2.Device(id=good.id),
        devices_pb2.Device(id=good.id, role=node_pb2.DEVICE_ROLE_GUEST, introduced_by="../x"),
        devices_pb2.Device(
            id=good.id,
            role=node_pb2.DEVICE_ROLE_GUEST,
            limits=devices_pb2.Limits(models=["m"] * 10_000),
        ),
    ]
    for message in bad:
        with pytest.raises(HomingError):
            decode_device(message)
    with pytest.raises(HomingError):
        decode_devices([good] * 5000)
