"""A node in a process of its own with a tiny model and one paired phone; its memory is watched."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from homing_core.access import DeviceRole
from homing_core.clock import SystemClock
from homing_crypto.credentials import client_channel
from homing_crypto.identity import DeviceIdentity
from homing_crypto.testing import paired_device, throwaway_identity
from homing_crypto.truststore import TRUST_STORE_FILE, SqliteTrustStore
from homing_inference.synthetic import write_qwen35
from support.node_process import environment, started
from support.templates import HERMES

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import grpc.aio

GET_NODE = "/homing_proto.v1.NodeService/GetNode"


class LoneNode:
    """It runs."""

    def __init__(self, pid: int, port: int, phone: DeviceIdentity, node: DeviceIdentity) -> None:
        self.pid, self.port, self.phone, self.node = pid, port, phone, node

    def peak_bytes(self) -> int:
        """The most memory that it had at once, so far."""
        for line in Path(f"/proc/{self.pid}/status").read_text("utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
        raise AssertionError

    @contextlib.asynccontextmanager
    async def channel(self, *options: tuple[str, int]) -> AsyncGenerator[grpc.aio.Channel]:
        target = f"127.0.0.1:{self.port}"
        async with client_channel(target, self.phone, self.node.certificate, options) as channel:
            yield channel

    async def answers(self) -> None:
        """It goes on."""
        async with self.channel() as channel:
            call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(GET_NODE)
            assert await call(b"", timeout=10)


@contextlib.asynccontextmanager
async def lone_node(folder: Path, **settings: str) -> AsyncGenerator[LoneNode]:
    """Run one for the length of a block.

    Args:
        folder: for everything that it keeps.
        settings: environment variables of its configuration.
    """
    model = write_qwen35(folder / "tiny.gguf", HERMES)
    data = folder / "node"
    data.mkdir(mode=0o700)
    clock, phone = SystemClock(), throwaway_identity()
    node = DeviceIdentity.load_or_create(data, clock)
    store = SqliteTrustStore(data / TRUST_STORE_FILE, clock)
    store.add(paired_device(phone, DeviceRole.MEMBER))
    store.close()
    words = ("--data-dir", data, "--port", "0", "--host", "127.0.0.1", "--model", model)
    env = environment(folder, **settings)
    async with started("run", "--json", "--no-mdns", *words, env=env) as run:
        up = await run.event("up")
        await run.model("ready")
        port = int(up["addresses"][0].rpartition(":")[2])
        made = LoneNode(run.process.pid, port, phone, node)
        await made.answers()
        yield made
