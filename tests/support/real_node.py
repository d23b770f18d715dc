"""A node with a real engine in a process of its own, and devices that talk to it directly."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homing_crypto.certificates import check_certificate
from homing_crypto.credentials import client_channel
from homing_crypto.pairing.link import PairingLink, parse_link
from homing_crypto.testing import throwaway_identity
from support.node_pairing import pair
from support.node_process import NodeProcess, environment, started
from support.node_rig import Phone

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

    from homing_crypto.certificates import CheckedCertificate

SETTINGS = """
[node]
name = "den"
drain_seconds = 0.0
log_level = "debug"

[listen]
host = "127.0.0.1"
port = 0

[discovery]
mdns = false

[model]
name = "{model}"
context_tokens = 2048
max_sequences = 4
"""


@dataclass
class RealNode:
    """A running node.

    Attributes:
        folder: its environment's home; the data directory is `d` in it.
        env: of its commands.
        process: the daemon.
        address: of its main port.
        certificate: its own; known once a device was paired.
    """

    folder: Path
    env: Mapping[str, str] = field(repr=False)
    process: NodeProcess
    address: str
    stack: contextlib.AsyncExitStack = field(repr=False)
    certificate: CheckedCertificate | None = None

    @property
    def data(self) -> Path:
        return self.folder / "d"

    @property
    def places(self) -> tuple[str | Path, ...]:
        return ("--data-dir", self.data, "--config", self.folder / "node.toml")

    async def phone(self, *words: str) -> tuple[Phone, PairingLink]:
        """Pair a new device, and connect it."""
        identity = throwaway_identity()
        async with started("pair", "--json", *words, *self.places, env=self.env) as shown:
            link = parse_link((await shown.event("opened"))["link"])
            known = await pair(link, identity)
            await shown.event("paired")
            assert await shown.end() == 0
        self.certificate = check_certificate(known.certificate_der)
        channel = client_channel(self.address, identity, self.certificate)
        return Phone(identity, await self.stack.enter_async_context(channel)), link


@contextlib.asynccontextmanager
async def real_node(
    folder: Path, model: Path, env: Mapping[str, str] | None = None
) -> AsyncGenerator[RealNode]:
    """Run it for the length of a block, then kill it.

    Args:
        folder: for everything of it.
        model: a GGUF file.
        env: further variables.
    """
    settings, data = folder / "node.toml", folder / "d"
    settings.write_text(SETTINGS.format(model=model))
    whole = environment(folder, **(env or {}))
    async with (
        started("run", "--json", "--data-dir", data, "--config", settings, env=whole) as running,
        contextlib.AsyncExitStack() as stack,
    ):
        (address,) = (await running.event("up"))["addresses"]
        await running.model("ready")
        yield RealNode(folder, whole, running, address, stack)
