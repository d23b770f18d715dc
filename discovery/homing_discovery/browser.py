"""The real browser, on zeroconf's record listener.

zeroconf's own service browser keeps a refresh timer for every name it ever heard, so a flood of
names would grow without bound; and it calls back for each. This listener looks only at names of our
form, keeps a bounded set of them, and handles them in batches. Records are still read from
zeroconf's cache, which holds 10,000 at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_core.clock import Clock, SystemClock
from zeroconf import Error as ZeroconfError
from zeroconf import RecordUpdateListener
from zeroconf.asyncio import AsyncServiceInfo

from homing_discovery.addresses import parse_hint_address
from homing_discovery.board import HintBoard
from homing_discovery.hints import NODES, decode_txt, instance_name
from homing_discovery.mdns import close_mdns, current_selection, open_mdns
from homing_discovery.records import pointed_name, query, question
from homing_discovery.sightings import Sighting

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from zeroconf import RecordUpdate, Zeroconf
    from zeroconf.asyncio import AsyncZeroconf

    from homing_discovery.hints import Hint, Service

COALESCE_S = 0.1
"""Seconds between two batches of news."""
MAX_PENDING = 256
"""Names of unknown nodes that wait for the next batch; more are dropped."""
RESOLVE_S = 3.0
"""Seconds for the missing records of a wanted node to arrive."""
MAX_QUERY_PAUSE_S = 3600.0
"""Most seconds between two questions to everybody; the pause doubles from 1 (RFC 6762, 5.2)."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _News:
    """What was heard of one name since the last batch."""

    appeared: bool = False
    gone: bool = False


class _Ear(RecordUpdateListener):
    """Picks names of our form out of whatever arrives; called by zeroconf in the event loop."""

    def __init__(self, board: HintBoard, wake: asyncio.Event, service: Service) -> None:
        self._service = service
        self._board = board
        self._wake = wake
        self.pending: dict[str, _News] = {}

    def async_update_records(self, zc: Zeroconf, now: float, records: list[RecordUpdate]) -> None:
        """Note the names; their records are in zeroconf's cache only after this returns."""
        del zc
        for update in records:
            record = update.new
            pointed = pointed_name(record, self._service)
            token = self._service.token_of(pointed or record.name)
            gone = record.is_expired(now)
            if token is None or (gone and pointed is None):
                continue
            news = self._news(token)
            if news is not None:
                news.gone = gone
                news.appeared |= pointed is not None and not gone and update.old is None
                self._wake.set()

    def async_update_records_complete(self) -> None:
        """Nothing to do: the batch reads the cache later."""

    def _news(self, token: str) -> _News | None:
        if token not in self.pending:
            if len(self.pending) >= MAX_PENDING and token not in self._board.wanted:
                return None
            self.pending[token] = _News()
        return self.pending[token]

    def take(self) -> dict[str, _News]:
        """What was heard, once."""
        taken, self.pending = self.pending, {}
        return taken


class ZeroconfBrowser:
    """Listens for nodes.

    Args:
        interfaces: names or IP addresses to listen on; none means every one but loopback.
        wanted: tokens of the nodes that matter.
        clock: where the time of hearing comes from.
        service: what to listen for.
    """

    def __init__(
        self,
        *,
        interfaces: Iterable[str] = (),
        wanted: Iterable[str] = (),
        clock: Clock | None = None,
        service: Service = NODES,
    ) -> None:
        """Nothing is opened before `start`."""
        self._service = service
        self._chosen = tuple(interfaces)
        self._clock = clock or SystemClock()
        self._board = HintBoard(wanted)
        self._mdns: AsyncZeroconf | None = None
        self._loopback = False
        self._ear: _Ear | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._lock = asyncio.Lock()
        self._closed = False

    async def start(self) -> None:
        """Open the sockets and ask who is there; raises `UnavailableError`."""
        await self.refresh()

    async def refresh(self) -> None:
        """Listen on the network as it is now and ask again; raises `UnavailableError`."""
        async with self._lock:
            await self._stop()
            if self._closed:
                return
            selection = current_selection(self._chosen)
            # All anew: what the old network's nodes said would keep the new one's from answering.
            self._mdns = await open_mdns(selection)
            self._loopback = selection.loopback
            wake = asyncio.Event()
            self._ear = _Ear(self._board, wake, self._service)
            # With a question, so that what arrived while the sockets opened is heard as well.
            self._mdns.zeroconf.async_add_listener(self._ear, question(self._service))
            loop = asyncio.get_running_loop()
            self._tasks = [
                loop.create_task(self._work(self._ear, wake)),
                loop.create_task(self._keep_asking(self._mdns.zeroconf)),
            ]

    async def close(self) -> None:
        """Stop; readers of `watch` come to their end."""
        async with self._lock:
            self._closed = True
            await self._stop()
            self._board.close()

    def want(self, tokens: Iterable[str]) -> None:
        """Say which nodes matter."""
        self._board.want(tokens)

    def hints(self, token: str | None = None) -> tuple[Hint, ...]:
        """What is known now, newest first."""
        return self._board.hints(token)

    def watch(self) -> AsyncGenerator[Hint, None]:
        """Everything known, then whatever changes or appears again."""
        return self._board.watch()

    async def find(self, token: str, timeout_s: float) -> Hint | None:
        """Ask for one node by name and wait for a hint."""
        if not self._board.hints(token):
            self._ask_for(token)
        return await self._board.find(token, timeout_s)

    async def _work(self, ear: _Ear, wake: asyncio.Event) -> None:
        while True:
            await wake.wait()
            wake.clear()
            for token, news in ear.take().items():
                if news.gone:
                    self._board.lost(token)
                elif not self._read(token, appeared=news.appeared) and token in self._board.wanted:
                    self._ask_for(token)
            await asyncio.sleep(COALESCE_S)

    def _read(self, token: str, *, appeared: bool) -> bool:
        """Take a node's records from the cache; False if some are missing or none is usable."""
        if self._mdns is None:
            return False
        info = AsyncServiceInfo(self._service.type, instance_name(token, self._service))
        info.load_from_cache(self._mdns.zeroconf)
        read = (
            parse_hint_address(host, info.port or 0, loopback=self._loopback)
            for host in info.parsed_scoped_addresses()
        )
        usable = tuple(address for address in read if address is not None)
        version = decode_txt(info.text or b"")
        now = self._clock.now()
        self._board.saw(Sighting(token, info.get_name(), usable, version, now, appeared))
        return bool(usable)

    def _ask_for(self, token: str) -> None:
        if self._mdns is not None and token not in self._asking:
            task = asyncio.get_running_loop().create_task(self._resolve(self._mdns.zeroconf, token))
            self._asking[token] = task
            task.add_done_callback(lambda _: self._asking.pop(token, None))

    async def _resolve(self, mdns: Zeroconf, token: str) -> None:
        info = AsyncServiceInfo(self._service.type, instance_name(token, self._service))
        with contextlib.suppress(OSError, ZeroconfError):
            await info.async_request(mdns, RESOLVE_S * 1000)
            self._read(token, appeared=False)

    async def _keep_asking(self, mdns: Zeroconf) -> None:
        pause = 1.0
        while True:
            with contextlib.suppress(OSError, ZeroconfError):
                mdns.async_send(query(self._service))
            await asyncio.sleep(pause)
            pause = min(pause * 2, MAX_QUERY_PAUSE_S)

    async def _stop(self) -> None:
        tasks = [*self._tasks, *self._asking.values()]
        self._tasks = []
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                _log.error("listening for nodes ended early", exc_info=outcome)
        mdns, self._mdns, ear, self._ear = self._mdns, None, self._ear, None
        if mdns is not None:
            if ear is not None:
                mdns.zeroconf.async_remove_listener(ear)
            await close_mdns(mdns)
