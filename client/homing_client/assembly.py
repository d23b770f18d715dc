"""The phone, put together: key, nodes, model, tools, agent."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from homing_agent.alarms.notify import default_notifier
from homing_agent.alarms.ringer import Ringer
from homing_agent.alarms.store import AlarmStore
from homing_agent.calibration.book import CalibrationBook
from homing_agent.journal.sqlite import SqliteJournal
from homing_agent.limits import Limits
from homing_agent.loop import Agent
from homing_agent.parts import Parts
from homing_agent.registry import Registry
from homing_agent.runtime.model_host import ModelHost
from homing_agent.runtime.model_source import CatalogSource, Wanted
from homing_agent.runtime.paths import make_private
from homing_agent.tools.builtin import builtin_tools, local_zone
from homing_crypto.approvals import sign_approval
from homing_crypto.keyring_file import KeyRing
from homing_crypto.node_book import NODE_BOOK_FILE, SqliteNodeBook
from homing_discovery.browser import ZeroconfBrowser
from homing_inference.catalog.store import Store

from homing_client.audit import Records
from homing_client.audit_book import AUDIT_BOOK_FILE, AuditBook
from homing_client.audit_watch import RecordWatch
from homing_client.background import Background
from homing_client.homes import HomeLinks
from homing_client.jobs.assembly import JobParts, assemble_jobs
from homing_client.jobs.door import LinkedNodes
from homing_client.key_place import IDENTITY_FOLDER
from homing_client.keys import PhoneKeys
from homing_client.local_engine import LocalEngine
from homing_client.model_choice import expected_name
from homing_client.peers import PeerKeeper
from homing_client.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AsyncExitStack

    from homing_agent.ports import Signer
    from homing_agent.runtime.model_host import ModelSource
    from homing_agent.runtime.paths import ProgramPaths
    from homing_core.approvals import ApprovalStatement, SignedApproval
    from homing_core.clock import Clock
    from homing_core.ids import DeviceId
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import NodeBook
    from homing_crypto.vault import KeyVault

    from homing_client.config import ClientConfig, ModelSection

CALIBRATION_FOLDER = "calibration"
"""Within the data directory."""
_MIB = 1 << 20
_PICK_MARGIN_S = 0.2
"""Looking for a node ends by itself; this much later it is ended."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a phone keeps its things and how it is set.

    Attributes:
        paths: its places.
        config: how it is set.
        clock: where time comes from.
        source: where its model comes from; None takes the catalog.
        vault: how its keys are protected; None is by their file's mode alone.
    """

    paths: ProgramPaths
    config: ClientConfig
    clock: Clock
    source: ModelSource | None = None
    vault: KeyVault | None = None


@dataclass(frozen=True, slots=True)
class Assembly:
    """A phone's parts. Nothing of it runs yet."""

    keys: PhoneKeys
    book: NodeBook
    homes: HomeLinks
    browser: ZeroconfBrowser | None
    registry: Registry
    host: ModelHost
    engine: LocalEngine
    ringer: Ringer
    agent: Agent
    sessions: Sessions
    records: Records
    jobs: JobParts

    @property
    def identity(self) -> DeviceIdentity:
        """The phone's present one."""
        return self.keys.current


async def assemble(
    stack: AsyncExitStack,
    setting: Setting,
    touched: Callable[[], None],
    show_alarm: Callable[[str], bool],
) -> Assembly:
    """Open everything that a phone keeps and put its parts together.

    Args:
        stack: closes what was opened.
        setting: where and how.
        touched: called whenever somebody uses the process.
        show_alarm: shows an alarm's line; False if nobody is there to read it.

    Raises:
        HomingError: something that it keeps is damaged or cannot be used.
    """
    config, clock = setting.config, setting.clock
    folder = setting.paths.data_dir
    data = _data_folder(setting)
    make_private(data)
    ring = await asyncio.to_thread(KeyRing, folder / IDENTITY_FOLDER, clock, setting.vault)
    book = SqliteNodeBook(folder / NODE_BOOK_FILE)
    stack.callback(book.close)
    keys = PhoneKeys(ring, book, clock)
    journal = SqliteJournal.open(folder / "journal.db")
    stack.callback(journal.close)
    alarms = AlarmStore.open(folder / "alarms.db")
    stack.callback(alarms.close)
    ringer = Ringer(alarms, default_notifier(show_alarm), clock, local_zone())
    home = config.home
    browser = ZeroconfBrowser(interfaces=home.mdns_interfaces) if home.mdns else None
    homes = HomeLinks(keys, book, home, browser, clock)
    stack.push_async_callback(homes.close)
    expected = expected_name(config.model.name, stand_in=config.model.stand_in)
    states = folder / "states"
    host = ModelHost(expected, setting.source or _catalog(config.model, expected, states))
    engine = LocalEngine(host, config.model.context_tokens)
    stack.push_async_callback(engine.close)
    records = _records(stack, setting, book, homes, touched)
    registry = Registry(builtin_tools(data, clock, ringer))
    signer = _DeviceSigner(keys)
    jobs = _jobs(stack, setting, homes, keys, signer)
    agent = Agent(
        Parts(
            engine=engine,
            registry=registry,
            journal=journal,
            homes=homes,
            signer=signer,
            clock=clock,
            limits=Limits(pick_s=home.reach_seconds + _PICK_MARGIN_S),
            jobs=jobs.requests,
            calibrations=CalibrationBook(folder / CALIBRATION_FOLDER),
        )
    )
    ending = Background()
    stack.push_async_callback(ending.close, 0.0)
    sessions = Sessions(
        agent, touched, lambda request: ending.run(jobs.desk.cancel_request(request))
    )
    return Assembly(
        keys=keys,
        book=book,
        homes=homes,
        browser=browser,
        registry=registry,
        host=host,
        engine=engine,
        ringer=ringer,
        agent=agent,
        sessions=sessions,
        records=records,
        jobs=jobs,
    )


def _jobs(
    stack: AsyncExitStack,
    setting: Setting,
    homes: HomeLinks,
    keys: PhoneKeys,
    signer: Signer,
) -> JobParts:
    """What looks after jobs on the nodes, also where they or this phone change their keys."""
    nodes = LinkedNodes(homes, keys)
    folder = setting.paths.data_dir
    jobs = assemble_jobs(folder, nodes, signer, lambda: keys.identities, setting.clock)
    stack.push_async_callback(jobs.close)
    homes.prepare(jobs.book.nodes.prepare)
    homes.follow(jobs.book.nodes.succeed)
    keys.keep_while(jobs.book.awaits)
    return jobs


def _records(
    stack: AsyncExitStack,
    setting: Setting,
    book: NodeBook,
    homes: HomeLinks,
    touched: Callable[[], None],
) -> Records:
    """What looks after the records of homes, and keeps the peers that they offer.

    Both look whenever a home has proven itself.
    """
    heads = AuditBook(setting.paths.data_dir / AUDIT_BOOK_FILE)
    stack.callback(heads.close)
    background = Background()
    stack.push_async_callback(background.close, 0.0)
    watch = RecordWatch(heads, setting.clock, background.run)
    homes.subscribe(watch.seen)
    homes.prepare(heads.prepare)
    homes.subscribe(PeerKeeper(book, setting.clock, background.run).seen)
    homes.follow(heads.succeed)
    return Records(book, heads, watch, homes, setting.clock, touched)


def _data_folder(setting: Setting) -> Path:
    chosen = setting.config.phone.data
    return Path(chosen).expanduser() if chosen else setting.paths.data_dir / "data"


def _catalog(model: ModelSection, expected: str, states: Path) -> CatalogSource:
    wanted = Wanted(
        "phone",
        model.name or expected,  # named, so that it is called by its name from the start
        model.stand_in,
        model.context_tokens,
        threads=model.threads,
        max_sequences=model.max_sequences,
        state_folder=states,
        state_bytes=model.state_mib * _MIB,
        checkpoint_bytes=model.checkpoint_mib * _MIB,
    )
    return CatalogSource(wanted, Store())


class _DeviceSigner:
    """The device's present key, as far as approvals go."""

    def __init__(self, keys: PhoneKeys) -> None:
        self._keys = keys

    @property
    def device(self) -> DeviceId:
        return self._keys.current.device_id

    def sign(self, statement: ApprovalStatement) -> SignedApproval:
        return sign_approval(self._keys.current, statement)
