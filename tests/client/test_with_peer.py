"""A phone, its home and the home's peer: learned, answered by, shown and forgotten."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from homing_core.access import DeviceRole
from homing_core.generation import Done, FinishReason, TextDelta
from homing_crypto.audit.records import CONSOLE
from homing_node.values import Opened
from support.node_rig import node_rig, within
from support.peer_rig import befriend, control_of, named
from support.phone_process import DEADLINE_S, PhoneRig, answer, objects

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path
    from typing import Any

    from support.node_rig import NodeRig


@contextlib.asynccontextmanager
async def opened(node: NodeRig) -> AsyncGenerator[str]:
    control = await node.control()
    async with contextlib.aclosing(control.pair(DeviceRole.MEMBER, 60)) as events:
        first = await within(anext(events))
        assert isinstance(first, Opened)
        yield first.link


async def nodes(rig: PhoneRig) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in objects((await rig.run("nodes", "--json")).out)}


async def until_learned(rig: PhoneRig) -> dict[str, dict[str, Any]]:
    """The home is asked for peers behind the back of whatever called it."""
    async with asyncio.timeout(DEADLINE_S):
        while "Friend" not in (found := await nodes(rig)):
            pass
    return found


async def test_a_phone_learns_of_a_peer_and_is_answered_by_it_once_home_is_gone(
    rig: PhoneRig, tmp_path: Path
) -> None:
    async with (
        rig.scripted(answer("The phone says so.")),
        node_rig(tmp_path / "friend", named("Friend")) as friend,
    ):
        async with node_rig(tmp_path / "attic", named("Attic")) as attic:
            await befriend(attic, friend)
            async with opened(attic) as link:
                assert (await rig.run("pair", link)).status == 0
            found = await until_learned(rig)
            peer = found["Friend"]
            assert (peer["place"], peer["role"], peer["reachable"]) == ("peer", "guest", True)
            assert peer["introduced_by"] == attic.certificate.device_id
            assert peer["introduced_by_name"] == "Attic"
            assert peer["lease_expires_at"] > 0
            assert found["Attic"]["introduced_by"] is None
            table = " ".join((await rig.run("nodes")).out.split())
            assert "vouched for by Attic, until " in table

        # Home is away now. What may not leave home stays on the phone; what may goes to the peer.
        _, last = await rig.ask("--route", "home", "why is the sky blue?")
        assert last["route"] == "phone"
        words = ("--route", "home", "--sensitivity", "trusted_peers", "why is the sky blue?")
        asked = asyncio.create_task(rig.ask(*words))
        request = await within(friend.engine.started.get())
        friend.engine.feed(request.id, TextDelta("Scattering."), Done(FinishReason.STOP))
        done, last = await asyncio.wait_for(asked, DEADLINE_S)
        assert (done.status, last["route"], last["text"]) == (0, "peer", "Scattering.")

        entry = next(one for one in friend.running.store.devices() if one.introduced_by)
        await friend.running.desk.revoke(entry.id, CONSOLE)
        _, last = await rig.ask(*words)
        assert last["route"] == "phone"


async def test_a_phone_that_is_lent_a_peer_no_more_is_told_so_in_fitting_words(
    rig: PhoneRig, tmp_path: Path
) -> None:
    async with (
        node_rig(tmp_path / "friend", named("Friend")) as friend,
        node_rig(tmp_path / "attic", named("Attic")) as attic,
    ):
        await befriend(attic, friend)
        async with opened(attic) as link:
            assert (await rig.run("pair", link)).status == 0
        await until_learned(rig)
        entry = next(one for one in friend.running.store.devices() if one.introduced_by)
        await friend.running.desk.revoke(entry.id, CONSOLE)  # Attic has not heard of it
        lines = " ".join((await rig.run("nodes")).out.split())
        assert "does not take Attic's word for this phone now" in lines
        assert "vouched for by" not in lines
        control = await control_of(attic)
        await control.share("Friend", drop=[entry.id])
        found = await nodes(rig)  # the first look already
        assert set(found) == {"Attic"}
