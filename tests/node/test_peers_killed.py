"""A home that is killed around a withdrawal: whoever was revoked goes from the peer anyway."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING

import pytest
from homing_core.clock import SystemClock
from support.commands import ROOT
from support.node_rig import node_rig, within
from support.peer_rig import Three, befriend, control_of, named

if TYPE_CHECKING:
    from pathlib import Path

KILLED = ROOT / "tests" / "support" / "home_killed.py"


@pytest.mark.attack(26)
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_withdrawal_outlives_kill_9_of_the_home(tmp_path: Path, when: str) -> None:
    attic = tmp_path / "attic"
    async with node_rig(tmp_path / "friend", named("Friend")) as friend:
        async with node_rig(attic, named("Attic")) as home:
            await befriend(home, friend)
            trio = Three(home, friend, await control_of(home), SystemClock())
            phone, kept = await trio.phone(), await trio.phone()
            await trio.until_known(phone)
            await trio.until_known(kept)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, KILLED, attic, phone.identity.device_id, when),
            env={"PYTHONPATH": str(ROOT / "tests"), "HOME": str(tmp_path)},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert await within(process.wait()) == -signal.SIGKILL
        assert trio.lives_at_peer(phone.identity) is (when == "before")
        async with node_rig(attic, named("Attic")) as home:
            trio = Three(home, friend, await control_of(home), SystemClock())
            await trio.until(lambda: not trio.lives_at_peer(phone.identity))
            view = await trio.control.share("Friend")
            assert [one.id for one in view.devices] == [kept.identity.device_id]
        assert trio.lives_at_peer(kept.identity)
