"""A node in a process of its own whose model answers at once: `python -m trust.served DIR DOOR`.

`DIR` is its data directory, `DOOR` is `door` or `direct`. It prints its port, and ends with its
standard input.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from homing_agent.runtime.logs import silence_logging
from homing_agent.runtime.model_host import ModelStatus, Phase
from homing_agent.runtime.paths import program_paths
from homing_agent.runtime.testing import HeldSource
from homing_core.access import DeviceRole
from homing_core.clock import SystemClock
from homing_core.generation import TextDelta
from homing_crypto.credentials import client_channel
from homing_crypto.identity import DeviceIdentity
from homing_crypto.testing import paired_device, throwaway_identity
from homing_crypto.truststore import TRUST_STORE_FILE, SqliteTrustStore
from homing_inference.testing import ScriptedEngine
from homing_node.assembly import NodeOptions, running_node
from homing_node.config import DiscoverySection, ListenSection, NodeConfig
from homing_node.door_section import DoorSection
from homing_node.limit_sections import LimitsSection
from homing_node.models.slots import ConfiguredModel
from support.commands import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import grpc.aio
    from homing_crypto.certificates import CheckedCertificate

WORDS = 4
"""Of every answer."""


class Served:
    """A running node, and a phone that is paired with it."""

    def __init__(self, port: int, node: CheckedCertificate, phone: DeviceIdentity) -> None:
        """Keep who is who."""
        self.port, self.node, self.phone = port, node, phone

    def dial(self) -> grpc.aio.Channel:
        """A fresh channel."""
        return client_channel(f"127.0.0.1:{self.port}", self.phone, self.node)


@contextlib.asynccontextmanager
async def served(*, door: bool) -> AsyncGenerator[Served]:
    """Run one for the length of a block."""
    with TemporaryDirectory(prefix="homing-bench-") as name:
        folder, clock, phone = Path(name), SystemClock(), throwaway_identity()
        node = DeviceIdentity.load_or_create(folder, clock)
        store = SqliteTrustStore(folder / TRUST_STORE_FILE, clock)
        store.add(paired_device(phone, DeviceRole.OWNER))
        store.close()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "trust.served", name, "door" if door else "direct"),
            env=os.environ
            | {
                "PYTHONPATH": f"{ROOT / 'tests'}{os.pathsep}{ROOT / 'bench'}",
                "GRPC_VERBOSITY": "NONE",
            },
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        if process.stdin is None or process.stdout is None:
            raise AssertionError
        try:
            port = json.loads(await process.stdout.readline())["port"]
            yield Served(port, node.certificate, phone)
        finally:
            process.stdin.close()
            await process.wait()


async def _run(folder: Path, *, door: bool) -> None:
    engine = ScriptedEngine()
    engine.answer(*(TextDelta("word ") for _ in range(WORDS)), times=None)
    config = NodeConfig(
        listen=ListenSection(host="127.0.0.1", port=0),
        discovery=DiscoverySection(mdns=False),
        door=DoorSection(enabled=door),
        limits=LimitsSection(calls_per_second=10_000, calls_burst=10_000, calls_at_once=1_000),
    )
    status = ModelStatus("default", Phase.UNLOADED)
    models = (ConfiguredModel(status, HeldSource(engine)),)
    paths = program_paths("homing-node", "node", folder, environ={})
    async with running_node(NodeOptions(paths, config, models), asyncio.Event()) as node:
        await node.models.settled()
        sys.stdout.write(json.dumps({"port": node.port}) + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    silence_logging()
    asyncio.run(_run(Path(sys.argv[1]), door=sys.argv[2] == "door"))
