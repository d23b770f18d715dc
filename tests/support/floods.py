"""Floods for a test or a benchmark: see `flooder`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from typing import TYPE_CHECKING

from support.commands import ROOT

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator

    from homing_crypto.certificates import CheckedCertificate

START_S = 30.0


class Flood:
    """One that runs.

    Attributes:
        opened: how many connections it made, once it has ended.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        self.opened = 0

    async def begin(self, node: CheckedCertificate | None) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write((node.der.hex() if node else "").encode() + b"\n")
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), START_S)
        assert line == b"ready\n", line

    async def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        out, _ = await asyncio.wait_for(self._process.communicate(), START_S)
        self.opened = int(out.split()[-1])


@contextlib.asynccontextmanager
async def flood(  # noqa: PLR0913, PLR0917  # a flood has that many sides
    port: int,
    kind: str = "silent",
    source: str = "127.0.0.2",
    rate: float = 0,
    most: int = 400,
    node: CheckedCertificate | None = None,
    enough: int = 0,
) -> AsyncGenerator[Flood]:
    """Strangers at work for the length of a block.

    Args:
        port: of the node.
        kind: `silent`, `hello` or `handshake`.
        source: where they call from.
        rate: connections a second; 0 for as many as they can.
        most: connections that they hold at once.
        node: its certificate, for `handshake`.
        enough: how many connections there must have been before the block begins; 0 for some.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "support.flooder", str(port), source, kind, str(rate), str(most), str(enough)),
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests"), "GRPC_VERBOSITY": "NONE"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    running = Flood(process)
    try:
        await running.begin(node)
        yield running
        await running.end()
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await process.wait()
