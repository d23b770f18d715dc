"""The phone's resident process: what runs, from the lock on the data directory to the last word."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import grpc.aio
from homing_agent.runtime.localsocket import add_local_port
from homing_agent.runtime.lock import DataDirLock
from homing_agent.runtime.logs import configure_logging, get_logger
from homing_agent.runtime.paths import prepare_data_dir
from homing_agent.runtime.signals import stop_on_signals
from homing_core.clock import SystemClock
from homing_core.errors import HomingError
from homing_crypto.rpc_guard import RpcGuard
from homing_discovery.follow import follow_network
from homing_discovery.watcher import SystemNetworkWatcher

from homing_client.assembly import Setting, assemble
from homing_client.background import running
from homing_client.devices import HomeDevices
from homing_client.key_desk import KeyDesk
from homing_client.pairing import resume_pairings
from homing_client.phone import Phone, PhoneParts
from homing_client.readiness import BringUp, Happening, Readiness
from homing_client.rpc.audit_service import add_phone_audit_service
from homing_client.rpc.pairing_phone import add_phone_pairing
from homing_client.rpc.phone_devices import add_phone_devices
from homing_client.rpc.phone_jobs import add_phone_jobs
from homing_client.rpc.phone_keys import add_phone_keys
from homing_client.rpc.phone_service import add_phone_service

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable

    from homing_agent.request import FinalAnswer
    from homing_agent.runtime.model_host import ModelSource
    from homing_agent.runtime.paths import ProgramPaths
    from homing_crypto.vault import KeyVault

    from homing_client.assembly import Assembly
    from homing_client.config import ClientConfig
    from homing_client.homes import HomeLinks
    from homing_client.readiness import Tell

_log = get_logger(__name__)

_LOOK_S = 5.0
"""How often it is looked whether the process is idle."""
_GRACE_S = 1.0
_KEYS_LOOK_S = 6 * 60 * 60.0
"""How often it is looked whether the key is old, and whether older ones are needed."""


class Resident:
    """One resident process.

    Args:
        paths: where it keeps its things.
        config: how it is set.
        idle_s: leave after this long without use, in seconds; 0 never.
        tell: shows what happens.
        source: where the model comes from; None takes the catalog.
        vault: how its keys are protected; None is by their file's mode alone.
    """

    def __init__(  # noqa: PLR0913  # one for each thing it is made of
        self,
        paths: ProgramPaths,
        config: ClientConfig,
        *,
        idle_s: int,
        tell: Tell,
        source: ModelSource | None = None,
        vault: KeyVault | None = None,
    ) -> None:
        """Touch nothing yet."""
        self._setting = Setting(paths, config, SystemClock(), source, vault)
        self._idle_s = idle_s
        self._tell = tell
        self._used = 0.0
        self._readiness = Readiness()

    async def run(self) -> None:
        """Run until a signal, a `Stop`, or idleness.

        Raises:
            HomingError: it could not start.
        """
        paths = self._setting.paths
        prepare_data_dir(paths)
        with DataDirLock.acquire(paths):
            configure_logging(file=paths.log_file)
            stop = asyncio.Event()
            with stop_on_signals(stop):
                async with contextlib.AsyncExitStack() as stack:
                    await self._start(stack, stop)
                    self._tell(Happening.LISTENING, "Homing is here; ask it from any terminal.")
                    await stop.wait()
            self._tell(Happening.STOPPED, "Homing has left.")

    async def _start(self, stack: contextlib.AsyncExitStack, stop: asyncio.Event) -> None:
        setting = self._setting
        self._touch()
        parts = await assemble(stack, setting, self._touch, self._show_alarm)
        phone = Phone(
            PhoneParts(
                keys=parts.keys,
                book=parts.book,
                homes=parts.homes,
                registry=parts.registry,
                engine=parts.engine,
                sessions=parts.sessions,
                readiness=self._readiness,
                clock=setting.clock,
                config=setting.config,
                idle_seconds=self._idle_s,
                touch=self._touch,
                stop=stop.set,
            )
        )
        for end in parts.agent.recover():
            self._tell_end(end)
        await stack.enter_async_context(
            _listening(phone, setting.paths, _services(parts, self._touch))
        )
        # Before the socket closes: whoever waits for an answer gets a clear end.
        stack.push_async_callback(parts.sessions.close)
        parts.host.start()
        watcher = SystemNetworkWatcher()
        await watcher.start()
        stack.push_async_callback(watcher.close)
        await stack.enter_async_context(running(self._work(parts, watcher, stop)))

    def _work(
        self, parts: Assembly, watcher: SystemNetworkWatcher, stop: asyncio.Event
    ) -> list[Coroutine[object, object, None]]:
        """What goes on by itself."""
        bring_up = BringUp(parts.host, parts.agent.warm, self._readiness, self._tell)
        work: list[Coroutine[object, object, None]] = [
            bring_up.run(),
            parts.ringer.run(),
            parts.jobs.keeper.run(),
            resume_pairings(identity=parts.identity, book=parts.book, clock=self._setting.clock),
            _on_network_change(parts.homes, watcher, bring_up),
            self._leave_when_idle(parts, stop),
            _keep_keys(parts, self._setting.config.keys.rotate_days),
        ]
        if parts.browser is not None:
            work.append(follow_network(parts.browser, watcher))
        return work

    async def _leave_when_idle(self, parts: Assembly, stop: asyncio.Event) -> None:
        clock = self._setting.clock
        while self._idle_s:
            await asyncio.sleep(min(_LOOK_S, self._idle_s))
            busy = parts.sessions.running or parts.ringer.pending() or self._readiness.busy
            if not busy and clock.monotonic() - self._used >= self._idle_s:
                _log.info("resident.idle")
                stop.set()
                return

    def _touch(self) -> None:
        self._used = self._setting.clock.monotonic()

    def _show_alarm(self, line: str) -> bool:
        self._tell(Happening.ALARM, line)
        return True

    def _tell_end(self, end: FinalAnswer) -> None:
        """A request that an earlier process left half done has got its honest end."""
        if end.error is not None:
            self._tell(Happening.PROBLEM, str(end.error.to_error()))


def _services(
    parts: Assembly, touch: Callable[[], None]
) -> list[Callable[[grpc.aio.Server], None]]:
    """Further services of the local socket."""
    devices = HomeDevices(parts.keys, parts.homes, parts.book)
    desk = KeyDesk(parts.keys, parts.homes, parts.book, touch)
    return [
        add_phone_audit_service(parts.records),
        add_phone_devices(devices, touch),
        add_phone_jobs(parts.jobs.desk, touch),
        add_phone_keys(desk),
    ]


@contextlib.asynccontextmanager
async def _listening(
    phone: Phone, paths: ProgramPaths, more: Iterable[Callable[[grpc.aio.Server], None]]
) -> AsyncGenerator[None]:
    # A malformed message is then told as such, and not in a library's words.
    server = grpc.aio.server(interceptors=[RpcGuard(None)])
    add_phone_service(server, phone)
    add_phone_pairing(server, phone)
    for add in more:
        add(server)
    path = add_local_port(server, paths)
    await server.start()
    try:
        yield
    finally:
        # First the path, so that nobody comes any more, then whoever is still being answered.
        path.unlink(missing_ok=True)
        await server.stop(_GRACE_S)


async def _keep_keys(parts: Assembly, rotate_days: float) -> None:
    """Replace the key when it is old enough, and destroy what nobody needs any more."""
    while True:
        with contextlib.suppress(HomingError):  # the disk may do better next time
            await parts.keys.tidy()
            await parts.keys.keep_fresh(rotate_days)
        await asyncio.sleep(_KEYS_LOOK_S)


async def _on_network_change(
    homes: HomeLinks, watcher: SystemNetworkWatcher, bring_up: BringUp
) -> None:
    with contextlib.suppress(HomingError):  # the list can be read later, if not now
        await homes.links()  # says to the browser which nodes matter
    async with contextlib.aclosing(watcher.changes()) as changes:
        async for _ in changes:
            bring_up.nudge()
            await homes.network_changed()
