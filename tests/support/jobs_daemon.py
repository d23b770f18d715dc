"""A node as a process of its own, with the scripted home tools; to be killed.

Prints its port once it answers. Its data, and what its tools write, are in the folder it is given.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from homing_agent.runtime.logs import silence_logging
from homing_node.testing import FixedTools
from support.home_tools import home_tools
from support.node_rig import node_rig


async def main() -> None:
    silence_logging()  # what it prints is read by a program
    folder = Path(sys.argv[1])
    async with node_rig(folder, tools=FixedTools(tools=home_tools(folder))) as rig:
        sys.stdout.write(f"{rig.running.port}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
