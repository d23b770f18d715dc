"""The node is killed with SIGKILL in the middle of a revocation.

Expected: whatever was said to be shut out is out after a restart, with everything that hangs on it;
where nothing was said yet it is wholly in or wholly out; nobody else is out; repeating works.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_core.clock import SystemClock
from homing_crypto.credentials import client_channel
from homing_crypto.identity import DeviceIdentity
from homing_crypto.testing import paired_device, throwaway_identity
from homing_crypto.truststore import TRUST_STORE_FILE, SqliteTrustStore
from homing_proto.v1 import node_pb2, node_pb2_grpc
from support.commands import ROOT
from support.node_process import environment, finished, started
from support.node_rig import DEADLINE_S, within

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.mark.attack(9)
def test_a_kill_at_any_line_of_a_revocation_lets_nobody_back_in(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603  # our own script
        [sys.executable, str(SUPPORT / "revocation_killer.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    result = json.loads(done.stdout)
    assert result["problems"] == []
    assert result["killed"] > 100
    assert 0 < result["stored"] < result["killed"]
    assert result["said"] == 1  # the one that was let run to its end


@contextlib.asynccontextmanager
async def daemon(folder: Path) -> AsyncGenerator[tuple[Process, int]]:
    """A node as a process, and its port."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(SUPPORT / "held_daemon.py"), str(folder)),
        env=dict(os.environ) | {"PYTHONPATH": str(ROOT / "tests")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        while not (line := (await within(process.stdout.readline())).strip()).isdigit():
            assert line, "the node did not come up"
        yield process, int(line)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await within(process.communicate())


async def gets_in(port: int, identity: DeviceIdentity, folder: Path) -> bool:
    """Whether the node answers it, on a new connection."""
    node = DeviceIdentity.load_or_create(folder / "node", SystemClock()).certificate
    async with client_channel(f"127.0.0.1:{port}", identity, node) as channel:
        try:
            stub = node_pb2_grpc.NodeServiceStub(channel)
            await stub.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
        except grpc.aio.AioRpcError:
            return False
        return True


@pytest.mark.attack(9)
@pytest.mark.parametrize("waits_for_the_answer", [True, False])
async def test_a_node_that_is_killed_once_it_said_so_starts_without_the_device(
    tmp_path: Path, *, waits_for_the_answer: bool
) -> None:
    stolen, honest = throwaway_identity(), throwaway_identity()
    folder, env = tmp_path / "node", environment(tmp_path)
    words = ("devices", "revoke", stolen.device_id, "--data-dir", folder, "--json")
    async with daemon(tmp_path) as (process, port):
        store = SqliteTrustStore(folder / TRUST_STORE_FILE, SystemClock())
        for identity in (stolen, honest):
            store.add(paired_device(identity))
        store.close()
        assert await gets_in(port, stolen, tmp_path)
        async with started(*words, env=env) as command:
            if waits_for_the_answer:
                assert (await command.event("revoked"))["device"]["id"] == stolen.device_id
            process.kill()
            await within(process.wait())
            said = await command.end() == 0
    assert said or not waits_for_the_answer
    async with daemon(tmp_path) as (_, port):
        assert not (said and await gets_in(port, stolen, tmp_path))
        assert await gets_in(port, honest, tmp_path)
        assert (await finished(*words, env=env)).status == 0
        assert not await gets_in(port, stolen, tmp_path)
