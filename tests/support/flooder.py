"""Strangers who take connections, in a process of their own.

`python -m support.flooder PORT SOURCE KIND RATE MOST ENOUGH` connects to 127.0.0.1 from a source
address until its standard input closes; it prints `ready` once `ENOUGH` were opened, or some if
that is 0, and at its end how many in all. Kinds: `silent` says nothing; `hello` greets well and
says no more; `handshake` does whole handshakes with certificates that nobody knows, with the node
whose certificate standard input holds.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import socket
import sys
from typing import TYPE_CHECKING

import grpc
from homing_crypto.certificates import CheckedCertificate, check_certificate
from homing_crypto.credentials import client_channel
from homing_crypto.testing import throwaway_identity
from support.hellos import GOOD

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_crypto.identity import DeviceIdentity

READY_AT = 50
BATCH = 16


class Flood:
    """Opens connections at a rate, and keeps the newest."""

    def __init__(
        self, port: int, source: str, kind: str, most: int, node: CheckedCertificate | None
    ) -> None:
        self.port, self.source, self.kind, self.node = port, source, kind, node
        self.opened = 0
        self.ended = False
        self.ready = min(most, READY_AT) if kind != "handshake" else 1
        self._held: collections.deque[socket.socket] = collections.deque()
        self._most = most

    async def run(self, rate: float) -> None:
        loop = asyncio.get_running_loop()
        started, batch = loop.time(), BATCH if rate > BATCH or not rate else 1
        async with contextlib.AsyncExitStack() as stack:
            relay = await stack.enter_async_context(self._relay())
            strangers = [throwaway_identity() for _ in range(4)]
            while not self.ended:
                for number in range(batch):
                    if self.kind == "handshake":
                        await self._handshake(relay, strangers[number % 4])
                    else:
                        await self._open()
                    self.opened += 1
                    if self.opened == self.ready:
                        say("ready")
                ahead = started + self.opened / rate - loop.time() if rate else 0
                await asyncio.sleep(max(ahead, 0))

    async def _open(self) -> None:
        made = socket.socket()
        made.setblocking(False)  # noqa: FBT003  # the method takes nothing else
        made.bind((self.source, 0))
        with contextlib.suppress(OSError):
            async with asyncio.timeout(5):
                await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", self.port))
            if self.kind == "hello":
                made.send(GOOD)
        self._held.append(made)
        if len(self._held) > self._most:
            self._held.popleft().close()

    async def _handshake(self, relay: int, stranger: DeviceIdentity) -> None:
        assert self.node is not None
        async with client_channel(f"127.0.0.1:{relay}", stranger, self.node) as channel:
            call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/x/y")
            with contextlib.suppress(grpc.aio.AioRpcError):
                await call(b"", timeout=2)

    @contextlib.asynccontextmanager
    async def _relay(self) -> AsyncGenerator[int]:
        """GRPC cannot choose where it calls from; this passes bytes on from the source address."""

        async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError, asyncio.CancelledError):
                far_reader, far_writer = await asyncio.open_connection(
                    "127.0.0.1", self.port, local_addr=(self.source, 0)
                )
                await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))

        async with await asyncio.start_server(take, "127.0.0.1", 0) as server:
            yield int(server.sockets[0].getsockname()[1])


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
    writer.close()


def say(word: object) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


async def main() -> None:
    port, source, kind, rate, most, enough = sys.argv[1:]
    line = await asyncio.to_thread(sys.stdin.readline)
    node = check_certificate(bytes.fromhex(line.strip())) if line.strip() else None
    flood = Flood(int(port), source, kind, int(most), node)
    flood.ready = int(enough) or flood.ready
    running = asyncio.create_task(flood.run(float(rate)))
    ending = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    await asyncio.wait({running, ending}, return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        running.result()
    flood.ended = True
    running.cancel()
    say(flood.opened)


if __name__ == "__main__":
    asyncio.run(main())
