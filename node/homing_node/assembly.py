"""A whole node, put together: data directory, trust, model, servers, announcement."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from typing import TYPE_CHECKING, Any

from homing_agent.runtime.localsocket import add_local_port
from homing_agent.runtime.lock import DataDirLock
from homing_agent.runtime.logs import get_logger
from homing_agent.runtime.paths import prepare_data_dir
from homing_core.clock import SystemClock
from homing_core.labels import clean_label
from homing_crypto.credentials import server_credentials
from homing_crypto.guard import Guard
from homing_crypto.keyring_file import KeyRing
from homing_crypto.live_calls import LiveCalls
from homing_crypto.truststore import TRUST_STORE_FILE, SqliteTrustStore
from homing_discovery.announcer import ZeroconfAnnouncer
from homing_discovery.hints import PAIRING, Announcement, random_token

from homing_node.addresses import dialable
from homing_node.audit import broken_record, open_audit
from homing_node.background import end, sweep, tell_health
from homing_node.describe import NodeFacts
from homing_node.devices.checks import CallChecks
from homing_node.devices.console import DeviceConsole
from homing_node.devices.limit_parts import enforced, limit_parts
from homing_node.devices.parts import device_parts
from homing_node.devices.refusals import Refusals
from homing_node.devices.rotation import DeviceRotation
from homing_node.devices.work import NodeWork
from homing_node.entrance import Entrance, hybrid_required
from homing_node.generations.runner import Generations
from homing_node.generations.table import GenerationLimits, GenerationTable
from homing_node.jobs.brains import PoolBrains
from homing_node.jobs.console import JobConsole
from homing_node.jobs.parts import job_parts
from homing_node.jobs.sealers import Sealers
from homing_node.keys import DAY_S, NodeKeys
from homing_node.keys_announced import announce_keys
from homing_node.models.memory import memory_budget
from homing_node.models.pool import ModelPool
from homing_node.pairing.door import PairingDoor
from homing_node.pairing.window import PairingParts
from homing_node.peers.parts import peer_parts
from homing_node.rpc.audit_service import add_audit_control, add_audit_service
from homing_node.rpc.code_pairing_service import add_pairing_control
from homing_node.rpc.control_service import ControlService
from homing_node.rpc.device_control import add_device_control
from homing_node.rpc.devices_service import add_devices_service
from homing_node.rpc.health import Health
from homing_node.rpc.inference_service import InferenceService
from homing_node.rpc.jobs_control import add_jobs_control
from homing_node.rpc.jobs_service import add_jobs_service
from homing_node.rpc.keys_control import add_keys_control
from homing_node.rpc.keys_service import add_keys_service
from homing_node.rpc.node_service import NodeService, ToolsService
from homing_node.rpc.recovery_service import add_recovery_service
from homing_node.rpc.rules import MAIN_RULES
from homing_node.rpc.servers import control_server, main_server
from homing_node.rpc.tools_control import add_tools_control
from homing_node.tools import NoTools, started
from homing_node.tools_views import console_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine

    from homing_agent.runtime.paths import ProgramPaths
    from homing_core.clock import Clock
    from homing_crypto.trust import TrustStore
    from homing_crypto.vault import KeyVault
    from homing_discovery.boundaries import Announcer

    from homing_node.config import NodeConfig
    from homing_node.devices.desk import DeviceDesk
    from homing_node.jobs.desk import JobDesk
    from homing_node.jobs.workflows import Workflows
    from homing_node.models.slots import ConfiguredModel
    from homing_node.peers.parts import PeerParts
    from homing_node.tools import HomeTools

_GRACE_S = 1.0
"""How long a call may go on after the generations have ended: long enough for its last event."""

_log = get_logger(__name__)


def _announcer(announcement: Announcement, interfaces: tuple[str, ...]) -> Announcer:
    return ZeroconfAnnouncer(announcement, interfaces=interfaces)


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """What a node is made of.

    Attributes:
        paths: where it keeps its things.
        config: how it is set.
        models: what it may serve, the default first.
        announcer: makes what announces it on the local network.
        clock: for everything it stores.
        tools: what it can run.
        vault: how its keys are protected; None is by their file's mode alone.
        workflows: what drives attempts at jobs; None is DBOS, which takes one node to a process.
    """

    paths: ProgramPaths
    config: NodeConfig
    models: tuple[ConfiguredModel, ...]
    announcer: Callable[[Announcement, tuple[str, ...]], Announcer] = _announcer
    clock: Clock = field(default_factory=SystemClock)
    tools: HomeTools = field(default_factory=NoTools)
    vault: KeyVault | None = None
    workflows: Workflows | None = None


@dataclass(frozen=True, slots=True)
class RunningNode:
    """A node that answers.

    Attributes:
        facts: who it is.
        port: of its main server.
        addresses: where that is reached, `host:port`, best first; asked anew each time.
        models: what it may serve, and which of it is in memory.
        generations: what it runs.
        store: whom it knows.
        desk: changes that.
        keys: its own.
        peers: homes whose devices it takes, and its peers.
        jobs: what its tools do for devices.
        record_broken: what is wrong with its audit log; empty if it was whole at the start.
    """

    facts: NodeFacts
    port: int
    addresses: Callable[[], tuple[str, ...]]
    models: ModelPool
    generations: Generations
    store: TrustStore
    desk: DeviceDesk
    keys: NodeKeys
    peers: PeerParts
    jobs: JobDesk
    record_broken: str = ""


def node_name(config: NodeConfig) -> str:
    """The configured name, or the machine's."""
    own = config.node.name or socket.gethostname().partition(".")[0]
    return clean_label(own, fallback="home")


def homing_version() -> str:
    """The installed version of Homing."""
    try:
        return metadata.version("homing")
    except metadata.PackageNotFoundError:
        return "unknown"


@contextlib.asynccontextmanager
async def running_node(options: NodeOptions, stop: asyncio.Event) -> AsyncGenerator[RunningNode]:
    """Run a node for the length of a block. It answers at once; its models come when they come.

    Leaving the block lets running generations go on for the configured time, then ends everything.

    Args:
        options: what it is made of.
        stop: set when the local service is told to end the daemon.

    Raises:
        ConflictError: another daemon runs on the data directory, or the port is in use.
        ConfigError: a folder, an address, a model's name or a limit is not usable.
        IntegrityError: the identity or the trust store is damaged.
    """
    config, clock = options.config, options.clock
    dialable(config.listen, 1)  # a wrong advertised address is said now, not when a phone asks
    async with contextlib.AsyncExitStack() as stack:
        prepare_data_dir(options.paths)
        stack.enter_context(DataDirLock.acquire(options.paths))
        ring = KeyRing(options.paths.data_dir, clock, options.vault)
        store = SqliteTrustStore(options.paths.data_dir / TRUST_STORE_FILE, clock)
        stack.callback(store.close)

        facts = NodeFacts(ring, node_name(config), homing_version())
        models = ModelPool(
            options.models, budget_bytes=memory_budget(config.model.memory_mib), clock=clock
        )
        generations = Generations(GenerationTable(_limits(config), clock), models)
        calls, health = LiveCalls(), Health()
        limits = await stack.enter_async_context(
            limit_parts(options.paths.data_dir, config, store, models, clock)
        )
        audit = open_audit(
            options.paths.data_dir,
            clock,
            lambda: ring.current,
            config.audit,
            {"version": facts.version, "post_quantum_required": hybrid_required(config)},
        )
        stack.callback(audit.close)
        keys = NodeKeys(ring, clock, config.keys.overlap_days * DAY_S, audit)

        refusals = Refusals(audit, clock)
        entrance = Entrance(options.paths, config, refusals)
        jobs = await stack.enter_async_context(
            job_parts(
                options.paths.data_dir,
                section=config.jobs,
                tools=options.tools,
                brains=PoolBrains(models, limits.admission),
                trust=store,
                access=limits.admission,
                identities=keys.identities,
                audit=audit,
                clock=clock,
                workflows=options.workflows,
            )
        )
        device_work = entrance.hanging_up(NodeWork(calls, generations, models, jobs.rights))
        devices = device_parts(
            options.paths.data_dir,
            store=store,
            calls=calls,
            work=device_work,
            audit=audit,
            clock=clock,
            over=(limits.admission.over,),
        )
        peers = peer_parts(
            options.paths.data_dir,
            stack,
            section=config.peers,
            keys=keys,
            name=facts.name,
            store=store,
            desk=devices.desk,
            work=device_work,
            audit=audit,
            clock=clock,
            addresses=lambda: addresses(),  # noqa: PLW0108  # known below, once the port is
        )
        rotation = DeviceRotation(
            devices.desk,
            audit,
            clock,
            config.keys.device_overlap_days * DAY_S,
            options.paths.data_dir,
        )
        server = main_server(
            Guard(
                MAIN_RULES,
                store,
                clock,
                require_hybrid=hybrid_required(config),
                shut_out=devices.shut_out,
                checks=(CallChecks(limits.admission, calls, MAIN_RULES, config.limits, clock),),
                on_refused=refusals.call,
            ),
            calls,
            NodeService(facts, models, generations, limits.admission),
            InferenceService(generations, limits.admission),
            ToolsService(options.tools, limits.admission),
            health,
            more=[
                add_devices_service(devices.remote, devices.desk.view, refusals.call),
                add_audit_service(audit, store),
                add_keys_service(keys, rotation),
                peers.service.add_to,
                add_jobs_service(
                    jobs.desk,
                    refusals.call,
                    Sealers(store, keys.identities, clock).certificate_of,
                ),
            ],
            on_allowed=entrance.allowed,
            on_refused=entrance.refused,
        )
        credentials = server_credentials(
            keys.identities, partial(store.roots_pem, devices.shut_out)
        )
        port = entrance.attach(server, credentials)
        stack.push_async_callback(entrance.close, _GRACE_S)

        def addresses() -> tuple[str, ...]:
            return dialable(config.listen, port)

        door = PairingDoor(
            identities=keys,
            parts=PairingParts(store, devices.desk, audit, clock, facts.name),
            config=config,
            addresses=addresses,
            announcer=_pairing_announcer(options),
        )
        control = control_server(
            ControlService(
                facts=facts,
                addresses=addresses,
                models=models,
                generations=generations,
                store=store,
                pairing=door,
                desk=devices.desk,
                stop=stop,
            ),
            health,
            more=[
                add_pairing_control(door),
                add_recovery_service(devices.recovery),
                add_device_control(
                    DeviceConsole(
                        store, devices.desk, limits.admission, limits.ledger, jobs.unended
                    )
                ),
                add_audit_control(audit, store),
                add_keys_control(keys),
                peers.control.add_to,
                add_tools_control(console_of(options.tools)),
                add_jobs_control(JobConsole(jobs.desk, store)),
            ],
        )
        add_local_port(control, options.paths)

        # From here on things run; they end in the opposite order.
        stack.push_async_callback(models.close)
        await stack.enter_async_context(started(options.tools))
        await health.set(serving=False)
        for one in (control, server):
            stack.push_async_callback(one.stop, _GRACE_S)
            await one.start()
        await entrance.start()
        stack.push_async_callback(door.close)
        stack.push_async_callback(generations.stop, config.node.drain_seconds)
        await stack.enter_async_context(
            enforced(limits, store, devices.desk, generations, device_work)
        )
        models.start()
        await stack.enter_async_context(jobs.running(devices.desk))
        await peers.start()
        stack.push_async_callback(peers.sharing.stop)
        for work in (
            devices.watch.run(),
            refusals.run(),
            *_background(options, keys, port, models, generations, health),
        ):
            stack.push_async_callback(end, asyncio.create_task(work))
        _log.info("node.up", node=facts.id, port=port, version=facts.version)
        yield RunningNode(
            facts,
            port,
            addresses,
            models,
            generations,
            store,
            devices.desk,
            keys,
            peers,
            jobs.desk,
            record_broken=await broken_record(audit),
        )
        await health.set(serving=False)
        _log.info("node.stopping", running=generations.running())


def _pairing_announcer(options: NodeOptions) -> Callable[[int], Announcer] | None:
    """Says where an open pairing is, under a name that stands for nobody."""
    section = options.config.discovery
    if not section.mdns:
        return None

    def announcer(port: int) -> Announcer:
        announcement = Announcement(random_token(), port, PAIRING)
        return options.announcer(announcement, section.interfaces)

    return announcer


def _limits(config: NodeConfig) -> GenerationLimits:
    section = config.generations
    return GenerationLimits(
        running=section.running,
        running_per_device=section.running_per_device,
        keep_s=section.keep_minutes * 60,
        device_bytes=section.buffer_mib << 20,
    )


def _background(  # noqa: PLR0913, PLR0917  # everything that goes on by itself, in one place
    options: NodeOptions,
    keys: NodeKeys,
    port: int,
    models: ModelPool,
    generations: Generations,
    health: Health,
) -> list[Coroutine[Any, Any, None]]:
    work: list[Coroutine[Any, Any, None]] = [sweep(generations), tell_health(models, health)]
    work.append(keys.watch())
    if options.config.discovery.mdns:
        interfaces = options.config.discovery.interfaces

        def announcer(token: str) -> Announcer:
            return options.announcer(Announcement(token, port), interfaces)

        work.append(announce_keys(keys, announcer))
    return work
