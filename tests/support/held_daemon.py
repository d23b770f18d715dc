"""A node as a process of its own, whose model is driven by nobody; to be killed.

Prints its port once it answers.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from support.node_rig import node_rig


async def main() -> None:
    async with node_rig(Path(sys.argv[1])) as rig:
        sys.stdout.write(f"{rig.running.port}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
