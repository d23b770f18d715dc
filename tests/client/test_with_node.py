"""`homing pair`, `nodes` and a home that answers, with the node's real services."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import pytest
from homing_core.access import DeviceRole
from homing_core.errors import OverloadedError
from homing_core.generation import Done, Failed, FinishReason, TextDelta, ToolCallEvent
from homing_core.ids import new_tool_call_id
from homing_core.tools import ToolCall
from homing_crypto.pairing.link import parse_link
from homing_node.values import Opened
from support.node_rig import NodeRig, node_rig, within
from support.phone_process import DEADLINE_S, PhoneRig, answer, objects, one_line

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from pathlib import Path

STOP = Done(FinishReason.STOP)
LONG = "a start that is long enough to be shown, "


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path / "home") as running:
        yield running


@contextlib.asynccontextmanager
async def opened(node: NodeRig, role: DeviceRole = DeviceRole.OWNER) -> AsyncGenerator[str]:
    """A pairing link that is good for the length of the block."""
    control = await node.control()
    async with contextlib.aclosing(control.pair(role, 60)) as events:
        first = await within(anext(events))
        assert isinstance(first, Opened)
        yield first.link


async def paired(rig: PhoneRig, node: NodeRig) -> None:
    async with opened(node) as link:
        done = await rig.run("pair", link, "--name", "Anna's phone")
    assert done.status == 0, done.err


async def test_pairing_says_what_was_paired_and_what_comes_next(
    rig: PhoneRig, node: NodeRig
) -> None:
    async with rig.scripted():
        async with opened(node, DeviceRole.MEMBER) as link:
            done = await rig.run("pair", link, "--name", "Anna's phone")
        assert (done.status, done.out) == (0, "Paired with den as member.\n")
        assert f"127.0.0.1:{node.running.port}" in done.err
        assert "fed-1b:bf16" in done.err
        assert "homing ask --route home" in done.err
    (device,) = node.running.store.devices()
    assert (device.name, device.role) == ("Anna's phone", DeviceRole.MEMBER)


async def test_the_link_can_be_kept_from_the_machines_other_users(
    rig: PhoneRig, node: NodeRig
) -> None:
    async with rig.scripted(), opened(node) as link:
        done = await rig.run("pair", "-", "--json", stdin=f"{link}\n".encode())
    (found,) = objects(done.out)
    assert (found["event"], found["name"], found["role"]) == ("paired", "den", "owner")
    assert found["reachable"] is True
    assert found["models"] == [
        {"name": "fed-1b:bf16", "quantization": "BF16", "stand_in": True, "loaded": True}
    ]


async def test_a_damaged_link_starts_nothing(rig: PhoneRig) -> None:
    for text in ("hello", "homing://pair?v=1&a=x", "homing://pair?v=9"):
        done = await rig.run("pair", text)
        assert done.status == 2
        assert "pairing link" in one_line(done)
    assert rig.resident_pid() == 0
    empty = await rig.run("pair", "-")
    assert (empty.status, "there is no link" in one_line(empty)) == (2, True)


async def test_a_link_can_be_typed_at_a_prompt(rig: PhoneRig, node: NodeRig) -> None:
    async with rig.scripted(), opened(node) as link, rig.terminal("pair", "-") as screen:
        await screen.expect("Link or code:")
        screen.type(f"{link}\n")
        await screen.expect("Paired with")
        await screen.expect(f"--data-dir {rig.data_dir}")  # of the command that is named next
        assert await screen.end() == 0


async def test_a_link_that_was_used_is_refused(rig: PhoneRig, node: NodeRig) -> None:
    async with rig.scripted():
        await paired(rig, node)
        async with opened(node) as link:
            used = parse_link(link)
        done = await rig.run("pair", used.to_text())
    assert done.status == 1
    assert "paired with den already" in one_line(done)


async def test_nodes_shows_how_each_one_is(rig: PhoneRig, node: NodeRig) -> None:
    async with rig.scripted():
        none = await rig.run("nodes")
        assert "homing-node pair" in none.out
        await paired(rig, node)
        (found,) = objects((await rig.run("nodes", "--json")).out)
        assert found["reachable"] is True
        assert found["round_trip_ms"] > 0
        assert found["address"] == f"127.0.0.1:{node.running.port}"
        table = (await rig.run("nodes")).out
        assert all(word in table for word in ("den", "home", "owner", "answers", "fed-1b:bf16"))
        rig.env["COLUMNS"] = "45"
        lines = (await rig.run("nodes")).out.splitlines()
        assert lines[0] == "den (home; you are owner)"
        assert lines[2:] == [f"  127.0.0.1:{node.running.port}", "  fed-1b:bf16 (stand-in)"]
        (remembered,) = objects((await rig.run("nodes", "--no-check", "--json")).out)
        assert (remembered["reachable"], remembered["error"]) == (False, None)
        assert remembered["last_verified_at"] > 0
        device = node.running.store.devices()[0]
        node.running.store.revoke(device.id)
        (revoked,) = objects((await rig.run("nodes", "--json")).out)
        assert revoked["error"]["code"] == "unpaired"
        assert "pair it again" in revoked["error"]["hint"]
        spoken = await rig.run("nodes")
        told = " ".join(spoken.out.split())
        assert "den does not know this phone any more; last verified 2" in told
        assert "homing-node pair" in spoken.err


async def test_a_paired_node_is_remembered_by_a_killed_phone(rig: PhoneRig, node: NodeRig) -> None:
    async with rig.scripted() as resident:
        await paired(rig, node)
        await resident.kill()
    async with rig.scripted():
        (found,) = objects((await rig.run("nodes", "--json")).out)
    assert (found["name"], found["reachable"]) == ("den", True)


async def test_an_answer_from_home_streams_and_says_so(rig: PhoneRig, node: NodeRig) -> None:
    async with rig.scripted():
        await paired(rig, node)
        arguments = ("ask", "--data-dir", rig.data_dir, "--route", "home", "why is the sky blue?")
        async with rig.started(*arguments) as process:
            request = await within(node.engine.started.get())
            node.engine.feed(request.id, TextDelta(LONG))
            assert process.stdout is not None
            assert await process.stdout.readexactly(len(LONG)) == LONG.encode()
            node.engine.feed(request.id, TextDelta("and an end"), STOP)
            out, err = await asyncio.wait_for(process.communicate(), DEADLINE_S)
    assert (process.returncode, out) == (0, b"and an end\n")
    lines = err.decode().splitlines()
    assert lines[0].startswith("→ home (den): ")
    assert lines[-1].startswith("home (den) · fed-1b:bf16 (stand-in) · first token ")


async def test_a_tool_that_home_wants_acts_on_the_phone_if_the_person_allows(
    rig: PhoneRig, node: NodeRig
) -> None:
    async with rig.scripted():
        await paired(rig, node)
        async with rig.terminal("ask", "--route", "home", "note: buy milk") as screen:
            request = await within(node.engine.started.get())
            wish = ToolCall(new_tool_call_id(), "save_note", {"text": "buy milk"})
            node.engine.feed(request.id, ToolCallEvent(wish), Done(FinishReason.TOOL_CALLS))
            await screen.expect('text: "buy milk"')
            await screen.expect("Allow it?")
            screen.type("y\n")
            after = await within(node.engine.started.get())
            node.engine.feed(after.id, TextDelta("I noted it."), STOP)
            assert await screen.end() == 0
            assert "I noted it." in screen.text
    assert len(list((rig.data_dir / "data" / "notes").glob("*.md"))) == 1


async def test_a_node_that_stops_in_the_middle_leaves_an_honest_answer(
    rig: PhoneRig, node: NodeRig
) -> None:
    async with rig.scripted(answer("The phone says: scattering.")):
        await paired(rig, node)
        arguments = ("--route", "home", "why is the sky blue?")
        async with rig.started("ask", "--data-dir", rig.data_dir, "--json", *arguments) as process:
            request = await within(node.engine.started.get())
            node.engine.feed(request.id, TextDelta(LONG))
            assert process.stdout is not None
            while b'"text"' not in await process.stdout.readline():
                pass
            await within(node.running.generations.stop(0.0))
            out, _ = await asyncio.wait_for(process.communicate(), DEADLINE_S)
    last = objects(out.decode())[-1]
    assert (process.returncode, last["route"], last["exit_status"]) == (0, "phone", 0)
    assert "home stopped answering" in last["reason"]


async def test_with_home_out_of_reach_the_phone_answers_within_two_seconds_and_says_so(
    rig: PhoneRig, node: NodeRig
) -> None:
    async with rig.scripted(answer("The phone says: scattering.")):
        await paired(rig, node)
        device = node.running.store.devices()[0]
        node.running.store.revoke(device.id)
        done, last = await rig.ask("--route", "home", "why is the sky blue?")
    assert (done.status, last["route"]) == (0, "phone")
    assert last["total_ms"] < 2000
    assert "home cannot be reached" in last["reason"]
    assert "revoked" in last["reason"]


async def test_a_home_that_is_too_busy_leaves_the_answer_to_the_phone_and_says_so(
    rig: PhoneRig, node: NodeRig
) -> None:
    full = OverloadedError("64 requests wait already", "Try again in a moment.", 1500)
    async with rig.scripted(answer("The phone says: scattering.")):
        await paired(rig, node)
        asked = asyncio.create_task(rig.ask("--route", "home", "why is the sky blue?"))
        request = await within(node.engine.started.get())
        node.engine.feed(request.id, Failed.from_error(full))
        done, last = await asyncio.wait_for(asked, DEADLINE_S)
    assert (done.status, last["route"]) == (0, "phone")
    assert last["reason"] == "home could not answer: 64 requests wait already"
    assert last["text"] == "The phone says: scattering."
