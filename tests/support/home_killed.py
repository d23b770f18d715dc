"""A home that revokes a phone and is killed around telling its peer; run on its data directory.

Arguments: the data directory's parent as in `node_rig`, the device to revoke, and when to die:
`before` the withdrawal is sent, or `after` the peer answered it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from homing_core.ids import DeviceId
from homing_crypto.audit.records import CONSOLE
from homing_node.rpc.peer_calls import PeerCalls
from support.node_rig import node_rig

if TYPE_CHECKING:
    from collections.abc import Iterable

_withdraw = PeerCalls.withdraw


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def killed_before(self: PeerCalls, device_ids: Iterable[DeviceId], serial: int) -> int:
    del self, device_ids, serial
    die()
    return 0


async def killed_after(self: PeerCalls, device_ids: Iterable[DeviceId], serial: int) -> int:
    await _withdraw(self, device_ids, serial)
    die()
    return 0


async def main(folder: Path, device: DeviceId, when: str) -> None:
    PeerCalls.withdraw = killed_before if when == "before" else killed_after  # type: ignore[method-assign]
    async with node_rig(folder) as home:
        await home.running.desk.revoke(device, CONSOLE)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), DeviceId(sys.argv[2]), sys.argv[3]))
