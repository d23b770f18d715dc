"""What holds devices to their limits, put together."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_node.devices.admission import Admission
from homing_node.devices.enforcing import Enforcement
from homing_node.devices.ledger import UsageLedger
from homing_node.devices.ledger_rows import USAGE_FILE
from homing_node.devices.ledger_time import machine_boot

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from homing_core.clock import Clock
    from homing_crypto.trust import TrustStore

    from homing_node.config import NodeConfig
    from homing_node.devices.desk import DeviceDesk, Work
    from homing_node.generations.runner import Generations
    from homing_node.models.pool import ModelPool


@dataclass(frozen=True, slots=True)
class LimitParts:
    """What holds devices to their limits.

    Attributes:
        admission: lets generations in, and counts what they use.
        ledger: where that is noted.
    """

    admission: Admission
    ledger: UsageLedger


@contextlib.asynccontextmanager
async def limit_parts(
    folder: Path, config: NodeConfig, store: TrustStore, models: ModelPool, clock: Clock
) -> AsyncGenerator[LimitParts]:
    """Open the ledger for the length of a block; what was used is written at its end.

    Args:
        folder: the node's data directory.
        config: with the operator's ceilings.
        store: whom the node knows.
        models: what is served.
        clock: the machine's.

    Raises:
        HomingError: the ledger cannot be opened.
    """
    ledger = UsageLedger(
        folder / USAGE_FILE, clock, boot=machine_boot(), keep_days=config.limits.usage_days
    )
    try:
        await ledger.open()
        admission = Admission(
            store=store,
            section=config.limits,
            per_device=config.generations.running_per_device,
            models=models,
            ledger=ledger,
            clock=clock,
        )
        yield LimitParts(admission, ledger)
        await admission.flush()
    finally:
        await ledger.close()


@contextlib.asynccontextmanager
async def enforced(
    parts: LimitParts, store: TrustStore, desk: DeviceDesk, generations: Generations, work: Work
) -> AsyncGenerator[None]:
    """Hold what runs to its limits for the length of a block.

    Args:
        parts: what knows the limits.
        store: whom the node knows.
        desk: tells of changes.
        generations: what runs.
        work: how everything of an account ends.
    """
    enforcement = Enforcement(parts.admission, parts.ledger, store, generations, work)
    desk.subscribe(enforcement.look)
    task = asyncio.create_task(enforcement.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
