"""The phone's resident process, put together: key, nodes, model, agent, alarms, local socket."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import grpc.aio
from homing_agent.alarms.notify import default_notifier
from homing_agent.alarms.ringer import Ringer
from homing_agent.alarms.store import AlarmStore
from homing_agent.journal.sqlite import SqliteJournal
from homing_agent.loop import Agent
from homing_agent.parts import Parts
from homing_agent.registry import Registry
from homing_agent.runtime.localsocket import add_local_port
from homing_agent.runtime.lock import DataDirLock
from homing_agent.runtime.logs import configure_logging, get_logger
from homing_agent.runtime.model_host import ModelHost, Phase
from homing_agent.runtime.model_source import CatalogSource, Wanted
from homing_agent.runtime.paths import make_private, prepare_data_dir
from homing_agent.runtime.signals import stop_on_signals
from homing_agent.tools.builtin import builtin_tools, local_zone
from homing_core.clock import SystemClock
from homing_core.errors import HomingError, InternalError
from homing_core.labels import clean_label
from homing_crypto.approvals import sign_approval
from homing_crypto.identity import DeviceIdentity
from homing_crypto.node_book import SqliteNodeBook
from homing_discovery.browser import ZeroconfBrowser
from homing_discovery.follow import follow_network
from homing_discovery.watcher import SystemNetworkWatcher
from homing_inference.catalog.store import Store

from homing_client.homes import HomeLinks
from homing_client.local_engine import LocalEngine
from homing_client.phone import Phone, PhoneParts, Readiness
from homing_client.rpc.phone_service import add_phone_service
from homing_client.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine
    from typing import Any

    from homing_agent.runtime.model_host import ModelSource
    from homing_agent.runtime.paths import ProgramPaths
    from homing_core.approvals import ApprovalStatement, SignedApproval
    from homing_core.ids import DeviceId

    from homing_client.config import ClientConfig

_log = get_logger(__name__)

_LOOK_S = 5.0
"""How often it is looked whether the process is idle."""
_GRACE_S = 1.0


class Happening(Enum):
    """What whoever watches the process is told."""

    LISTENING = "listening"
    ACTIVITY = "activity"
    READY = "ready"
    PROBLEM = "problem"
    ALARM = "alarm"
    STOPPED = "stopped"


class Tell(Protocol):
    """Shows what happens to whoever watches."""

    def __call__(self, happening: Happening, text: str) -> None:
        """One line."""
        ...


class Resident:
    """One resident process.

    Args:
        paths: where it keeps its things.
        config: how it is set.
        idle_s: leave after this long without use, in seconds; 0 never.
        tell: shows what happens.
        source: where the model comes from; None takes the catalog.
    """

    def __init__(
        self,
        paths: ProgramPaths,
        config: ClientConfig,
        *,
        idle_s: int,
        tell: Tell,
        source: ModelSource | None = None,
    ) -> None:
        """Touch nothing yet."""
        self._paths = paths
        self._config = config
        self._idle_s = idle_s
        self._tell = tell
        self._source = source
        self._clock = SystemClock()
        self._used = self._clock.monotonic()
        self._readiness = Readiness()

    async def run(self) -> None:
        """Run until a signal, a `Stop`, or idleness.

        Raises:
            HomingError: it could not start.
        """
        prepare_data_dir(self._paths)
        with DataDirLock.acquire(self._paths):
            configure_logging(file=self._paths.log_file)
            stop = asyncio.Event()
            with stop_on_signals(stop):
                async with contextlib.AsyncExitStack() as stack:
                    await self._start(stack, stop)
                    self._tell(Happening.LISTENING, "Homing is here; ask it from any terminal.")
                    await stop.wait()
            self._tell(Happening.STOPPED, "Homing has left.")

    async def _start(self, stack: contextlib.AsyncExitStack, stop: asyncio.Event) -> None:
        config, paths, clock = self._config, self._paths, self._clock
        data = self._data_folder()
        make_private(data)
        identity = await asyncio.to_thread(
            DeviceIdentity.load_or_create, paths.data_dir / "identity", clock
        )
        book = SqliteNodeBook(paths.data_dir / "nodes.db")
        stack.callback(book.close)
        journal = SqliteJournal.open(paths.data_dir / "journal.db")
        stack.callback(journal.close)
        alarms = AlarmStore.open(paths.data_dir / "alarms.db")
        stack.callback(alarms.close)
        ringer = Ringer(alarms, default_notifier(self._alarm_line), clock, local_zone())
        browser = (
            ZeroconfBrowser(interfaces=config.home.mdns_interfaces) if config.home.mdns else None
        )
        homes = HomeLinks(identity, book, config.home, browser, clock)
        stack.push_async_callback(homes.close)
        host = ModelHost(config.model.name or "default", self._source or self._catalog())
        engine = LocalEngine(host, config.model.context_tokens)
        stack.push_async_callback(engine.close)
        registry = Registry(builtin_tools(data, clock, ringer))
        agent = Agent(
            Parts(
                engine=engine,
                registry=registry,
                journal=journal,
                homes=homes,
                signer=_DeviceSigner(identity),
                clock=clock,
            )
        )
        agent.recover()
        sessions = Sessions(agent, self._touch)
        stack.push_async_callback(sessions.close)
        phone = Phone(
            PhoneParts(
                identity=identity,
                book=book,
                homes=homes,
                registry=registry,
                engine=engine,
                sessions=sessions,
                readiness=self._readiness,
                clock=clock,
                name=clean_label(config.phone.name or socket.gethostname()),
                sensitivity=config.sensitivity,
                idle_seconds=self._idle_s,
                stop=stop.set,
            )
        )
        await stack.enter_async_context(self._listening(phone))
        host.start()
        tasks: list[Coroutine[Any, Any, None]] = [
            self._bring_up(host, agent),
            ringer.run(),
            self._leave_when_idle(sessions, ringer, stop),
        ]
        watcher = SystemNetworkWatcher()
        await watcher.start()
        stack.push_async_callback(watcher.close)
        if browser is not None:
            tasks.append(follow_network(browser, watcher))
        tasks.append(_redial_on_change(homes, watcher))
        await stack.enter_async_context(_running(tasks))
        await homes.links()  # says to the browser which nodes matter

    def _data_folder(self) -> Path:
        chosen = self._config.phone.data
        return Path(chosen).expanduser() if chosen else self._paths.data_dir / "data"

    def _catalog(self) -> CatalogSource:
        model = self._config.model
        wanted = Wanted(
            "phone", model.name, model.stand_in, model.context_tokens, threads=model.threads
        )
        return CatalogSource(wanted, Store())

    @contextlib.asynccontextmanager
    async def _listening(self, phone: Phone) -> AsyncGenerator[None]:
        server = grpc.aio.server()
        add_phone_service(server, phone)
        path = add_local_port(server, self._paths)
        await server.start()
        try:
            yield
        finally:
            await server.stop(_GRACE_S)
            path.unlink(missing_ok=True)

    async def _bring_up(self, host: ModelHost, agent: Agent) -> None:
        readiness = self._readiness
        status = host.status
        while status.phase not in {Phase.READY, Phase.FAILED}:
            text = f"{status.step or status.phase.value}"
            readiness.activity = f"{text}, {status.percent}%" if status.total else text
            self._tell(Happening.ACTIVITY, readiness.activity)
            status = await host.after(status)
        try:
            await host.settled()
            readiness.activity = "reading its tools for the first time"
            self._tell(Happening.ACTIVITY, readiness.activity)
            await agent.warm()
        except HomingError as error:
            readiness.error = error
            readiness.activity = error.what
            self._tell(Happening.PROBLEM, str(error))
            return
        except Exception:  # noqa: BLE001  # logged; the person gets a neutral line
            _log.exception("model.warm_raised")
            readiness.error = InternalError("the model could not be made ready", "See the log.")
            self._tell(Happening.PROBLEM, str(readiness.error))
            return
        readiness.ready = True
        readiness.activity = "ready"
        self._tell(Happening.READY, f"{host.status.name} is ready.")

    async def _leave_when_idle(
        self, sessions: Sessions, ringer: Ringer, stop: asyncio.Event
    ) -> None:
        while self._idle_s:
            await asyncio.sleep(min(_LOOK_S, self._idle_s))
            idle = self._clock.monotonic() - self._used
            if not sessions.busy and not ringer.pending() and idle >= self._idle_s:
                _log.info("resident.idle")
                stop.set()
                return

    def _touch(self) -> None:
        self._used = self._clock.monotonic()

    def _alarm_line(self, line: str) -> bool:
        self._tell(Happening.ALARM, line)
        return True


class _DeviceSigner:
    """The device's key, as far as approvals go."""

    def __init__(self, identity: DeviceIdentity) -> None:
        self._identity = identity

    @property
    def device(self) -> DeviceId:
        return self._identity.device_id

    def sign(self, statement: ApprovalStatement) -> SignedApproval:
        return sign_approval(self._identity, statement)


async def _redial_on_change(homes: HomeLinks, watcher: SystemNetworkWatcher) -> None:
    async with contextlib.aclosing(watcher.changes()) as changes:
        async for _ in changes:
            await homes.network_changed()


@contextlib.asynccontextmanager
async def _running(work: list[Coroutine[Any, Any, None]]) -> AsyncGenerator[None]:
    """Background work; what fails is logged and the process goes on without it."""
    tasks = [asyncio.create_task(_logged(one)) for one in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _logged(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except Exception:  # noqa: BLE001  # logged; the rest of the process goes on
        _log.exception("resident.background_failed")
