"""What the node's own command line changes and sees of devices and their use."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_core.errors import HomingError
from homing_crypto.audit.records import CONSOLE

from homing_node.devices.changes import changed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from homing_core.access import Limits
    from homing_core.devices import DeviceView
    from homing_crypto.devices import PairedDevice
    from homing_crypto.trust import TrustStore

    from homing_node.devices.admission import Admission
    from homing_node.devices.changes import DeviceChange
    from homing_node.devices.desk import DeviceDesk
    from homing_node.devices.ledger import UsageLedger
    from homing_node.devices.ledger_rows import DayUse


@dataclass(frozen=True, slots=True)
class Changed:
    """A device after a change.

    Attributes:
        device: with what was granted.
        effective: limits that hold, ceilings included.
        tighter: kinds that come from elsewhere, and from where.
    """

    device: DeviceView
    effective: Limits
    tighter: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Used:
    """What one account used.

    Attributes:
        account: device id of its first key.
        device: as the node knows it; None if it does not any more.
        tokens_24h: tokens that count now.
        tokens_per_day: limit on these; 0 for none.
        running: generations that run.
        days: newest first.
        jobs: its jobs that have not ended.
    """

    account: str
    device: PairedDevice | None
    tokens_24h: int
    tokens_per_day: int
    running: int
    days: tuple[DayUse, ...]
    jobs: int = 0


class DeviceConsole:
    """Does what the console asks; every change goes through the desk.

    Args:
        store: whom the node knows.
        desk: changes devices.
        admission: knows what holds and what is used now.
        ledger: knows what was used.
        unended: how many jobs of each account have not ended; may take a moment.
    """

    def __init__(
        self,
        store: TrustStore,
        desk: DeviceDesk,
        admission: Admission,
        ledger: UsageLedger,
        unended: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        """Keep where to look."""
        self._unended = unended
        self._store = store
        self._desk = desk
        self._admission = admission
        self._ledger = ledger

    async def change(self, prefix: str, change: DeviceChange) -> Changed:
        """Change what is named.

        Raises:
            NotFoundError: no such device.
            RefusedError: it is revoked.
            UsageError: the change makes no limits.
        """
        before = await asyncio.to_thread(self._store.find, prefix)
        role, scopes, limits = changed(before, change)
        device = await self._desk.grant(before.id, role, scopes, limits, CONSOLE)
        standing = self._admission.standing(device)
        return Changed(self._desk.view(device), standing.limits, standing.tighter())

    async def usage(self, prefix: str, days: int) -> tuple[Used, ...]:
        """What devices used, most first; empty prefix takes all.

        Raises:
            NotFoundError: no such device.
        """
        known = await asyncio.to_thread(self._store.devices)
        devices = {device.owner: device for device in known if not device.revoked_at}
        only = (await asyncio.to_thread(self._store.find, prefix)).owner if prefix else None
        await self._admission.flush()
        by_account: dict[str, list[DayUse]] = {account: [] for account in devices}
        for day in await self._ledger.days(days):
            by_account.setdefault(day.account, []).append(day)
        names: dict[str, PairedDevice] = {device.owner: device for device in known}
        jobs = await asyncio.to_thread(self._unended)
        found = [
            self._used(account, names.get(account), tuple(uses), jobs.get(account, 0))
            for account, uses in by_account.items()
            if only in {None, account}
        ]
        return tuple(sorted(found, key=lambda one: -one.tokens_24h))

    def _used(
        self, account: str, device: PairedDevice | None, days: tuple[DayUse, ...], jobs: int
    ) -> Used:
        tokens, running = self._admission.used(account)
        most = 0
        if device is not None:
            try:
                most = self._admission.standing(device).limits.tokens_per_day
            except HomingError:
                most = device.limits.tokens_per_day  # nobody vouches for it any more
        return Used(account, device, tokens, most, running, days, jobs)
