"""A host that is about to be killed: it says when its server is up, and waits."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from support.mcp_servers.rig import running, scripted


async def main(folder: Path) -> None:
    server = scripted("stubborn", STATE=str(folder / "pids"))
    async with running(folder, server) as rig:
        await rig.ready("stubborn")
        sys.stdout.write("up\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
