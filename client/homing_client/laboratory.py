"""A phone put together for trials: its own model and nodes, idle tools, a fixed moment."""

from __future__ import annotations

import contextlib
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from homing_agent.calibration.file import Ties
from homing_agent.evaluation.trial import NoHome, Trials
from homing_agent.journal.memory import MemoryJournal
from homing_agent.limits import Limits
from homing_agent.parts import Parts
from homing_agent.registry import Registry
from homing_agent.runtime.lock import DataDirLock
from homing_agent.runtime.logs import configure_logging
from homing_agent.runtime.paths import prepare_data_dir
from homing_agent.tools.builtin import builtin_tools
from homing_core.clock import SystemClock
from homing_core.errors import UnavailableError, UsageError

from homing_client.assembly import Setting, assemble
from homing_client.attach import end_resident

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from datetime import datetime

    from homing_agent.alarms.base import Alarm
    from homing_agent.ports import Homes, Signer
    from homing_agent.runtime.model_host import ModelSource
    from homing_agent.runtime.paths import ProgramPaths
    from homing_agent.tool import Tool
    from homing_core.approvals import ApprovalStatement, SignedApproval
    from homing_core.ids import DeviceId
    from homing_inference.engine import Engine

    from homing_client.assembly import Assembly
    from homing_client.config import ClientConfig

_WORDS_TOKENS: Final = 128
"""Words are judged by their beginning; a small model may go on for long."""


_PATIENCE_S: Final = 600.0
"""Trials share the machine with the models that they try: no time of theirs is a person's."""
_AT_ONCE_AT_HOME: Final = 3
"""A node writes four answers at once for a device, and one that is left takes a moment to end."""


@dataclass(frozen=True, slots=True)
class Laboratory:
    """What trials are made with.

    Attributes:
        phone: try requests on the phone alone, side by side.
        home: try them at home.
        phone_tools: what is offered.
        parts: of the phone's agent, for trials with other tools.
        engine: the phone's.
        prefix_sha256: of the phone's prefix; see `Ties`.
    """

    phone: tuple[Trials, ...]
    home: tuple[Trials, ...]
    phone_tools: tuple[Tool, ...]
    parts: Parts
    engine: Engine
    prefix_sha256: str

    @property
    def tools(self) -> frozenset[str]:
        """Names of the tools that are offered."""
        return frozenset(tool.spec.name for tool in self.phone_tools)

    @property
    def ties(self) -> Ties:
        """What a calibration made with it holds for."""
        info = self.engine.info
        return Ties(info.model, self.prefix_sha256, info.sha256)


@asynccontextmanager
async def laboratory(  # noqa: PLR0913  # each is another fact about the phone
    paths: ProgramPaths,
    config: ClientConfig,
    now: datetime,
    *,
    every_tool: bool,
    at_once: int = 1,
    source: ModelSource | None = None,
) -> AsyncGenerator[Laboratory]:
    """The phone of this data directory; nothing else may run on it meanwhile.

    Args:
        paths: its places. A resident process is ended: two models would take twice the memory.
        config: how it is set.
        now: the moment at which everything is said, with its zone.
        every_tool: whether to offer also the tools that cannot act on this device.
        at_once: requests that are tried side by side.
        source: where the model comes from; None takes the catalog.

    Raises:
        ConflictError: something else runs on the data directory.
        HomingError: the model cannot be loaded, or something that the phone keeps is damaged.
    """
    with contextlib.suppress(UnavailableError):
        await end_resident(paths)
    prepare_data_dir(paths)
    sequences = max(at_once, config.model.max_sequences)
    config = replace(config, model=replace(config.model, max_sequences=sequences))
    configure_logging(file=paths.log_file)
    async with AsyncExitStack() as stack:
        stack.enter_context(DataDirLock.acquire(paths))
        assembly = await assemble(
            stack, Setting(paths, config, SystemClock(), source), lambda: None, lambda _: False
        )
        assembly.host.start()
        await assembly.host.settled()
        clock = FixedClock(now)
        tools = _offered(builtin_tools(Path(), clock, _NoAlarms(), now.tzinfo), every_tool)
        alone = _parts(assembly, clock, tools, NoHome(), at_home=False)
        phone = tuple(Trials(alone, tools) for _ in range(at_once))
        at_home = _parts(assembly, clock, tools, assembly.homes, at_home=True)
        home = tuple(Trials(at_home, tools) for _ in range(min(at_once, _AT_ONCE_AT_HOME)))
        warmed = await phone[0].warm()
        for trials in phone[1:]:
            await trials.warm()
        yield Laboratory(phone, home, tools, alone, assembly.engine, warmed.sha256)


class FixedClock:
    """A wall clock that stands, and the real time that passes."""

    def __init__(self, now: datetime) -> None:
        """It shows this moment for ever."""
        self._now = now.timestamp()
        self._real = SystemClock()

    def now(self) -> float:
        """As in `Clock`."""
        return self._now

    def monotonic(self) -> float:
        """As in `Clock`."""
        return self._real.monotonic()


def _offered(tools: Sequence[Tool], every: bool) -> tuple[Tool, ...]:  # noqa: FBT001  # private
    return tuple(tool for tool in tools if every or not tool.unavailable())


def _parts(
    assembly: Assembly, clock: FixedClock, tools: Sequence[Tool], homes: Homes, *, at_home: bool
) -> Parts:
    signer: Signer = _NoSigner()
    return Parts(
        engine=assembly.engine,
        registry=Registry(tools),
        journal=MemoryJournal(),
        homes=homes,
        signer=signer,
        clock=clock,
        limits=Limits(
            phone_tokens=_WORDS_TOKENS,
            home_tokens=_WORDS_TOKENS,
            total_s=_PATIENCE_S,
            pick_s=_PATIENCE_S if at_home else Limits().pick_s,
        ),
        jobs=assembly.jobs.requests if at_home else None,
    )


class _NoSigner:
    """Nothing is allowed in a trial, so nothing is signed."""

    @property
    def device(self) -> DeviceId:
        msg = "a trial signs nothing"
        raise UsageError(msg)

    def sign(self, statement: ApprovalStatement) -> SignedApproval:
        del statement
        msg = "a trial signs nothing"
        raise UsageError(msg)


class _NoAlarms:
    """Alarms of which there are none."""

    def add(self, alarm: Alarm) -> None:
        """As in `Alarms`."""
        del alarm

    def pending(self) -> tuple[Alarm, ...]:
        """As in `Alarms`."""
        return ()
