"""A node as a process of its own that lets the first device in that knows its code.

    pairing_daemon.py FOLDER PORT [stored]

Prints one JSON object with link and code. With `stored` it is killed once a device is stored and
before the device is answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from homing_agent.runtime.logs import silence_logging
from homing_core.access import DeviceRole
from homing_node.config import ListenSection
from homing_node.pairing.window import Window
from homing_node.values import CodeOffer, Opened
from support.node_rig import LOOPBACK, node_rig

if TYPE_CHECKING:
    from homing_crypto.devices import PairedDevice

_admit = Window.admit


async def _admit_and_die(self: Window, device: PairedDevice) -> PairedDevice:
    stored = await _admit(self, device)
    os.kill(os.getpid(), signal.SIGKILL)
    return stored


async def main() -> None:
    silence_logging()
    folder, port, *more = sys.argv[1:]
    if more:
        Window.admit = _admit_and_die  # type: ignore[method-assign]
    config = replace(LOOPBACK, listen=ListenSection(host="127.0.0.1", port=int(port)))
    async with node_rig(Path(folder), config) as rig:
        control = await rig.control()
        opening = control.pair(DeviceRole.MEMBER, 180, CodeOffer.ACCEPT)
        async with contextlib.aclosing(opening) as events:
            async for event in events:
                if isinstance(event, Opened):
                    line = json.dumps({"link": event.link, "code": event.code})
                    sys.stdout.write(line + "\n")
                    sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
