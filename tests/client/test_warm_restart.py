"""A phone that was killed does not read its tools again: their state is on disk."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_inference.synthetic import TINY, write_qwen35
from support.phone_process import DEADLINE_S, PhoneRig
from support.templates import HERMES

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator
    from pathlib import Path

# A letter is a token in this model, so the phone's tools take many.
SETTINGS = """
[model]
name = {name}
context_tokens = 32768
max_sequences = 1

[home]
mdns = false
"""


@pytest.fixture(scope="module")
def roomy_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    return write_qwen35(folder / "roomy.gguf", HERMES, replace(TINY, context=32768))


async def ready(process: Process) -> None:
    assert process.stdout is not None
    async with asyncio.timeout(DEADLINE_S):
        while line := await process.stdout.readline():
            found = json.loads(line)
            assert found["event"] != "problem", found
            if found["event"] == "ready":
                return
    msg = "it ended before it was ready"
    raise AssertionError(msg)


@contextlib.asynccontextmanager
async def serving(rig: PhoneRig) -> AsyncGenerator[Process]:
    async with rig.started("serve", "--json", "--data-dir", rig.data_dir) as process:
        await ready(process)
        yield process
        process.kill()  # as Android does
        await asyncio.wait_for(process.wait(), DEADLINE_S)


def saved(rig: PhoneRig) -> dict[str, int]:
    """Saved states and the numbers of their files, which change when they are written again."""
    folder = rig.data_dir / "states"
    return {path.name: path.stat().st_ino for path in folder.glob("*.prefix")}


async def written(rig: PhoneRig) -> dict[str, int]:
    """The same, once there is one: it is written behind the answers."""
    async with asyncio.timeout(DEADLINE_S):
        while not (found := saved(rig)):
            await rig.run("serve", "--status")
    return found


async def test_a_killed_phone_starts_with_its_tools_read(rig: PhoneRig, roomy_model: Path) -> None:
    rig.configure(SETTINGS.format(name=json.dumps(str(roomy_model))))
    async with serving(rig):
        first = await written(rig)
    assert len(first) == 1
    async with serving(rig):
        done = await rig.run("serve", "--status")
        assert "ready" in done.out
    assert saved(rig) == first
    assert (rig.data_dir / "states").stat().st_mode & 0o077 == 0
