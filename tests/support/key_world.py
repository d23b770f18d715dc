"""A real node and a real phone whose keys are replaced, each with a clock that can be set wrong."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from homing_client.config import HomeSection
from homing_client.homes import HomeLinks
from homing_client.key_desk import KeyDesk
from homing_client.keys import PhoneKeys
from homing_core.access import DEFAULT_SCOPES, DeviceRole
from homing_core.tools import Place
from homing_crypto.keyring_file import KeyRing
from homing_crypto.node_book import SqliteNodeBook
from homing_crypto.nodes import KnownNode
from homing_crypto.testing import paired_device
from homing_node.config import NodeConfig
from homing_node.key_section import KeysSection
from support.node_rig import LOOPBACK, NodeRig, node_rig, within

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from homing_client.link import NodeLink, Verified
    from homing_crypto.identity import DeviceIdentity

DAY_S = 24 * 60 * 60
YEARS_S = 20 * 365.25 * DAY_S
REACH_S = 5.0


@dataclass
class SetClock:
    """The machine's clock, set wrong by `ahead` seconds of wall time."""

    ahead: float = 0.0

    def now(self) -> float:
        return time.time() + self.ahead

    def monotonic(self) -> float:
        return time.monotonic()

    def set_to(self, seconds: float) -> None:
        """Let it be this time now, seconds since the epoch."""
        self.ahead = seconds - time.time()


def _nothing() -> None:
    """Nobody counts uses."""


@dataclass
class KeyPhone:
    """What a phone's process holds of keys and nodes. A new one on the same folder is a restart."""

    folder: Path
    clock: SetClock = field(default_factory=SetClock)

    def __post_init__(self) -> None:
        self.ring = KeyRing(self.folder / "identity", self.clock)
        self.book = SqliteNodeBook(self.folder / "nodes.db")
        self.keys = PhoneKeys(self.ring, self.book, self.clock)
        settings = HomeSection(mdns=False, reach_seconds=REACH_S)
        self.homes = HomeLinks(self.keys, self.book, settings, None, self.clock)
        self.desk = KeyDesk(self.keys, self.homes, self.book, _nothing)

    @property
    def current(self) -> DeviceIdentity:
        return self.ring.current

    @property
    def node(self) -> KnownNode:
        """The only node it knows."""
        (node,) = self.book.nodes()
        return node

    async def link(self) -> NodeLink:
        """The way to it."""
        (link,) = await self.homes.links()
        return link

    async def call(self) -> Verified:
        """Call the node; telling it of a new key is over when this returns."""
        link = await self.link()
        verified = await within(link.verify(REACH_S))
        if link.behind:
            await within(link.renew(REACH_S))
        return verified

    async def close(self) -> None:
        await self.homes.close()
        self.book.close()


@contextlib.asynccontextmanager
async def key_phone(folder: Path, clock: SetClock | None = None) -> AsyncGenerator[KeyPhone]:
    """A phone for the length of a block; its files stay."""
    phone = KeyPhone(folder, clock or SetClock())
    try:
        yield phone
    finally:
        await phone.close()


@contextlib.asynccontextmanager
async def key_node(
    folder: Path, clock: SetClock | None = None, *, ready: bool = False
) -> AsyncGenerator[NodeRig]:
    """A node for the length of a block; its files and its port stay."""
    note = folder / "port"
    port = int(note.read_text()) if note.exists() else 0
    config = replace(LOOPBACK, listen=replace(LOOPBACK.listen, port=port), keys=KeysSection())
    assert isinstance(config, NodeConfig)
    async with node_rig(folder, config, ready=ready, clock=clock) as rig:
        _note(note, rig.running.port)
        yield rig


def _note(note: Path, port: int) -> None:
    note.parent.mkdir(exist_ok=True)
    note.write_text(str(port))


def introduce(phone: KeyPhone, rig: NodeRig, role: DeviceRole = DeviceRole.MEMBER) -> None:
    """Let both know each other, as a pairing does."""
    now = rig.running.keys.current
    device = paired_device(phone.current, role)
    rig.running.store.add(replace(device, paired_at=phone.clock.now()))
    phone.book.add(
        KnownNode(
            id=now.device_id,
            certificate_der=now.certificate.der,
            hpke_public_key=now.hpke.public_bytes,
            name="den",
            place=Place.HOME,
            role=role,
            scopes=DEFAULT_SCOPES[role],
            addresses=(f"127.0.0.1:{rig.running.port}",),
            paired_at=phone.clock.now(),
            known_as=phone.current.device_id,
        )
    )
