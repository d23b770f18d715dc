"""The one door for changes to paired devices: each is stored, takes effect, is noted and told.

Whatever changes a device, from the command line, from an owner's phone or from a home that takes
its word back, goes through here, so that no way leaves out a step.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from homing_agent.runtime.logs import get_logger
from homing_crypto.audit.records import AuditKind

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from homing_core.access import DeviceRole, Limits, Scope
    from homing_core.ids import DeviceId
    from homing_crypto.audit.records import Audit
    from homing_crypto.devices import PairedDevice
    from homing_crypto.guard import ShutOut
    from homing_crypto.trust import TrustStore

_log = get_logger(__name__)


class Work(Protocol):
    """What devices have under way on this node."""

    async def end(self, account: DeviceId) -> int:
        """End and forget all of an account's; how many live calls there were."""
        ...


class DeviceDesk:
    """Changes devices. Belongs to one event loop.

    Args:
        store: whom the node knows.
        shut_out: who is refused at once.
        work: what has to end when a device is shut out.
        audit: where changes are noted.
    """

    def __init__(self, store: TrustStore, shut_out: ShutOut, work: Work, audit: Audit) -> None:
        """Nobody listens yet."""
        self._store = store
        self._shut_out = shut_out
        self._work = work
        self._audit = audit
        self._listeners: list[Callable[[], Awaitable[None]]] = []

    def subscribe(self, listener: Callable[[], Awaitable[None]]) -> None:
        """Call this after every change; it looks up by itself what concerns it."""
        self._listeners.append(listener)

    async def paired(self, device: PairedDevice, actor: str) -> None:
        """A device was paired here just now, and is stored."""
        self._shut_out.remove([device.id, device.owner])
        self._audit.record(
            AuditKind.PAIRED,
            actor=actor,
            device=device.id,
            detail={"name": device.name, "role": device.role.value},
        )
        await self.changed()

    async def revoke(self, device_id: DeviceId, actor: str) -> tuple[PairedDevice, ...]:
        """Shut a device out with everything that hangs on it; harmless twice.

        Args:
            device_id: whom.
            actor: who says so, as in the audit log.

        Returns:
            Every entry concerned, the named one first.

        Raises:
            NotFoundError: it is unknown.
        """
        self._shut_out.add([device_id])
        concerned = await asyncio.to_thread(self._store.revoke, device_id)
        self._shut_out.add(device.owner for device in concerned)
        for account in {device.owner for device in concerned}:
            count = await self._work.end(account)
            _log.info("device.revoked", device=account, count=count)
        self._audit.record(AuditKind.REVOKED, actor=actor, device=device_id)
        await self.changed()
        return concerned

    async def grant(
        self,
        device_id: DeviceId,
        role: DeviceRole,
        scopes: frozenset[Scope],
        limits: Limits,
        actor: str,
    ) -> PairedDevice:
        """Change what a device may do.

        Raises:
            NotFoundError: it is unknown.
            RefusedError: it is revoked.
        """
        device = await asyncio.to_thread(self._store.grant, device_id, role, scopes, limits)
        self._audit.record(AuditKind.GRANTED, actor=actor, device=device_id)
        await self.changed()
        return device

    async def changed(self) -> None:
        """Tell everyone who listens that some device was paired, changed or shut out."""
        for listener in self._listeners:
            await listener()
