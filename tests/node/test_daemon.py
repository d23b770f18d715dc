from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import socket
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from homing_agent.runtime import sdnotify
from homing_agent.runtime.model_host import ModelStatus, Phase
from homing_agent.runtime.paths import program_paths
from homing_agent.runtime.testing import HeldSource
from homing_core.errors import UnavailableError
from homing_core.generation import Failed, GenerateRequest, Numbered, TextDelta
from homing_core.ids import DeviceId, new_generation_id
from homing_core.messages import user
from homing_discovery.hints import Announcement, instance_token
from homing_discovery.testing import FakeAnnouncer, FakeLan
from homing_node.assembly import NodeOptions, RunningNode
from homing_node.cli.options import Setup
from homing_node.cli.screen import JsonLines, Screen
from homing_node.config import DiscoverySection
from homing_node.daemon import run_daemon
from rich.console import Console
from support.fed_engine import FedEngine
from support.node_rig import LOOPBACK, node_rig, only, send_raw, within

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from homing_node.config import NodeConfig
    from homing_node.daemon import Spectator

SERVING = b"\x08\x01"
NOT_SERVING = b"\x08\x02"
CHECK = "/grpc.health.v1.Health/Check"


class Watcher:
    """A `Spectator` that remembers, and that a test can wait on."""

    def __init__(self) -> None:
        self.node: asyncio.Future[RunningNode] = asyncio.get_running_loop().create_future()
        self.phases: list[Phase] = []
        self.ready = asyncio.Event()
        self.told_to_stop = asyncio.Event()

    def up(self, node: RunningNode) -> None:
        self.node.set_result(node)

    def model(self, status: ModelStatus) -> None:
        self.phases.append(status.phase)
        if status.phase is Phase.READY:
            self.ready.set()

    def stopping(self) -> None:
        self.told_to_stop.set()


class Daemon:
    """`run_daemon` as a task."""

    def __init__(  # noqa: PLR0913  # each has a default but the first
        self,
        folder: Path,
        *,
        ready: bool = True,
        config: NodeConfig = LOOPBACK,
        spectator: Spectator | None = None,
        announcer: Callable[[Announcement, tuple[str, ...]], FakeAnnouncer] | None = None,
        resident: bool = False,
    ) -> None:
        self.engine = FedEngine()
        self.source = HeldSource(self.engine, ready=ready)
        self.watcher = Watcher()
        paths = program_paths("homing-node", "node", folder / "node", environ={})
        models = tuple(replace(model, resident=resident) for model in only(self.source))
        options = NodeOptions(paths, config, models)
        if announcer is not None:
            options = replace(options, announcer=announcer)
        self.task = asyncio.create_task(run_daemon(options, spectator or self.watcher))

    async def up(self) -> RunningNode:
        return await asyncio.wait_for(self.watcher.node, 30)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_well(tmp_path: Path, number: signal.Signals) -> None:
    daemon = Daemon(tmp_path)
    await daemon.up()
    await within(daemon.watcher.ready.wait())
    os.kill(os.getpid(), number)
    await asyncio.wait_for(daemon.task, 30)
    assert daemon.watcher.told_to_stop.is_set()
    assert daemon.engine.is_closed
    assert daemon.watcher.phases[-1] is Phase.READY


async def test_what_runs_is_finished_first(tmp_path: Path) -> None:
    config = replace(LOOPBACK, node=replace(LOOPBACK.node, drain_seconds=60.0))
    daemon = Daemon(tmp_path, config=config)
    node = await daemon.up()
    await within(daemon.watcher.ready.wait())
    request = GenerateRequest(new_generation_id(), (user("hello"),))
    log = node.generations.start(DeviceId("a" * 64), request)
    await within(daemon.engine.started.get())
    os.kill(os.getpid(), signal.SIGTERM)
    # It is told to stop, and waits for the engine: a second signal would end it at once.
    await within(daemon.watcher.told_to_stop.wait())
    daemon.engine.feed(request.id, TextDelta("done"), Failed("internal", "x"))
    await asyncio.wait_for(daemon.task, 30)
    assert log.after(0)[0] == Numbered(1, TextDelta("done"))
    assert log.ended


async def test_a_model_that_fails_ends_it_with_the_reason(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, ready=False)
    await daemon.up()
    await within(daemon.source.asked.wait())
    daemon.source.finish(UnavailableError("the hub does not answer", "Use --stand-in."))
    with pytest.raises(UnavailableError, match="hub does not answer"):
        await asyncio.wait_for(daemon.task, 30)
    assert daemon.watcher.phases[-1] is Phase.FAILED


async def test_a_server_that_is_away_does_not_end_it(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, ready=False, resident=True)
    node = await daemon.up()
    await within(daemon.source.asked.wait())
    daemon.source.finish(UnavailableError("the model server does not answer", "Start it."))
    with pytest.raises(UnavailableError, match="does not answer"):
        await within(node.models.settled())
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(daemon.task, 30)
    assert daemon.watcher.phases[-1] is Phase.FAILED
    assert daemon.watcher.told_to_stop.is_set()


async def test_systemd_hears_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.setblocking(False)  # noqa: FBT003  # its only way
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "60000000")
        daemon = Daemon(tmp_path)
        await daemon.up()
        loop = asyncio.get_running_loop()
        first = {await within(loop.sock_recv(listener, 99)) for _ in range(2)}
        assert first == {sdnotify.READY.encode(), sdnotify.WATCHDOG.encode()}
        os.kill(os.getpid(), signal.SIGTERM)
        assert await within(loop.sock_recv(listener, 99)) == sdnotify.STOPPING.encode()
        await asyncio.wait_for(daemon.task, 30)


async def test_it_announces_itself_and_says_goodbye(tmp_path: Path) -> None:
    lan = FakeLan()
    made: asyncio.Queue[tuple[Announcement, FakeAnnouncer]] = asyncio.Queue()

    def announcer(announcement: Announcement, interfaces: tuple[str, ...]) -> FakeAnnouncer:
        assert interfaces == ("127.0.0.1",)
        one = FakeAnnouncer(lan, announcement)
        made.put_nowait((announcement, one))
        return one

    section = DiscoverySection(mdns=True, interfaces=("127.0.0.1",))
    daemon = Daemon(tmp_path, config=replace(LOOPBACK, discovery=section), announcer=announcer)
    node = await daemon.up()
    announcement, one = await within(made.get())
    assert announcement == Announcement(instance_token(node.facts.id), node.port)
    await within(daemon.watcher.ready.wait())
    assert one.active
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(daemon.task, 30)
    assert not one.active


async def test_health_follows_the_model(tmp_path: Path) -> None:
    async with node_rig(tmp_path, ready=False) as rig:
        phone = await rig.phone()
        assert await send_raw(phone.channel, CHECK, b"") == NOT_SERVING
        rig.source.finish()
        async with asyncio.timeout(30):
            while await send_raw(phone.channel, CHECK, b"") != SERVING:
                pass


async def test_a_script_can_follow_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ready = asyncio.Event()

    class Lines(JsonLines):
        def model(self, status: ModelStatus) -> None:
            super().model(status)
            super().model(status)
            if status.phase is Phase.READY:
                ready.set()

    daemon = Daemon(tmp_path, spectator=Lines())
    await within(ready.wait())
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(daemon.task, 30)
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    events = [json.loads(line) for line in said]
    assert [event["event"] for event in (events[0], events[-1])] == ["up", "stopping"]
    models = events[1:-1]
    assert models[-1] == {
        "event": "model",
        "state": "ready",
        "name": "fed-1b:bf16",
        "percent": 100,
        "stand_in": True,
    }
    assert all(one != other for one, other in pairwise(models))


async def test_a_person_sees_what_to_do_next(tmp_path: Path) -> None:
    terminal = io.StringIO()
    console = Console(file=terminal, force_terminal=True, width=200, color_system=None)
    async with node_rig(tmp_path) as rig:
        with Screen(console, Setup(tmp_path / "d"), tmp_path / "log.jsonl") as screen:
            screen.up(rig.running)
            screen.model(ModelStatus("big", Phase.FETCHING, "fetching big", 40, 100))
            screen.model(ModelStatus("big", Phase.READY, quantization="BF16", stand_in=True))
            screen.model(ModelStatus("big", Phase.READY))
            screen.stopping()
        said = terminal.getvalue()
        assert "den is up" in said
        assert rig.running.facts.id[:12] in said
        assert f"127.0.0.1:{rig.running.port}" in said
        assert f"homing-node pair --data-dir {tmp_path}/d" in said
        assert str(tmp_path / "log.jsonl") in said
        assert "none paired" in said
        assert said.count("big, BF16, ready (stand-in)") == 1
        assert "fetching big" in said


async def test_a_server_that_is_away_is_named_without_a_bar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = io.StringIO()
    console = Console(file=terminal, force_terminal=True, width=200, color_system=None)
    async with node_rig(tmp_path) as rig:
        slot = rig.running.models.slots[0]
        monkeypatch.setattr(slot, "resident", True)
        monkeypatch.setattr(
            slot.host, "error", UnavailableError("10.0.0.9 cannot be reached", "Check it.")
        )
        with Screen(console, Setup(tmp_path / "d"), None) as screen:
            screen.up(rig.running)
            screen.model(ModelStatus("attic", Phase.FAILED))
            screen.model(ModelStatus("attic", Phase.FETCHING))
            screen.model(ModelStatus("attic", Phase.FAILED))
        said = terminal.getvalue()
    assert said.count("attic is not available: 10.0.0.9 cannot be reached. Check it.") == 1
    assert "━" not in said.partition("is not available")[2]
