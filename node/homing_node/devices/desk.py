"""The one door for changes to paired devices: each is stored, takes effect, is noted and told.

Whatever changes a device, from the command line, from an owner's phone or from a home that takes
its word back, goes through here, so that no way leaves out a step.

A revocation, in order: refused in memory; stored; the next handshake's bundle is without it; its
live calls end; its work is dropped; engines forget its states; noted; listeners told. Whatever
fails, the steps after it are still taken.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from homing_agent.runtime.logs import get_logger
from homing_core.devices import DeviceState, DeviceView
from homing_core.errors import HomingError, NotFoundError, RefusedError
from homing_crypto.audit.records import AuditKind

from homing_node.devices.revocation import end_work, hanging_on, names_of, not_stored
from homing_node.devices.undivided import Undivided

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from homing_core.access import DeviceRole, Limits, Scope
    from homing_core.canonical import JsonValue
    from homing_core.clock import Clock
    from homing_core.ids import DeviceId
    from homing_crypto.audit.records import Audit
    from homing_crypto.devices import PairedDevice
    from homing_crypto.guard import ShutOut
    from homing_crypto.trust import RewriteT, TrustStore

_log = get_logger(__name__)


class Work(Protocol):
    """What devices have under way on this node."""

    async def end(self, account: DeviceId, error: HomingError | None = None) -> int:
        """End and forget all of an account's; how many live calls there were.

        Args:
            account: whose.
            error: what its callers are told; None says that it was revoked.
        """
        ...


class DeviceDesk:
    """Changes devices. Belongs to one event loop.

    A change that has begun goes on to its end, even if whoever asked for it goes away.

    Args:
        store: whom the node knows.
        shut_out: who is refused at once.
        work: what has to end when a device is shut out.
        audit: where changes are noted.
        clock: for leases and limits in time.
    """

    def __init__(
        self, store: TrustStore, shut_out: ShutOut, work: Work, audit: Audit, clock: Clock
    ) -> None:
        """Nobody listens yet."""
        self._store = store
        self._shut_out = shut_out
        self._work = work
        self._audit = audit
        self._clock = clock
        self._listeners: list[Callable[[], Awaitable[None]]] = []
        # What is stored and who is shut out change together: a pairing that ends while its device
        # is revoked must not let it in again.
        self._changing = asyncio.Lock()
        self._undivided = Undivided()
        self._unstored: dict[DeviceId, str] = {}

    def view(self, device: PairedDevice) -> DeviceView:
        """The device as people see it, and whether it is let in now."""
        state = DeviceState.LET_IN if device.live(self._clock.now()) else DeviceState.OVER
        if device.revoked_at or device in self._shut_out:
            state = DeviceState.SHUT_OUT
        return DeviceView(
            id=device.id,
            name=device.name,
            role=device.role,
            scopes=device.scopes,
            paired_at=int(device.paired_at),
            last_seen_at=int(device.last_seen_at),
            introduced_by=device.introduced_by,
            limits=device.limits,
            state=state,
        )

    def subscribe(self, listener: Callable[[], Awaitable[None]]) -> None:
        """Call this after every change; it looks up by itself what concerns it."""
        self._listeners.append(listener)

    async def admit(self, device: PairedDevice, actor: str, link_id: str = "") -> PairedDevice:
        """Store a device that a person lets in now; repeating it with the same link is harmless.

        Args:
            device: as the pairing made it.
            actor: who let it in, as in the audit log.
            link_id: the secret it used; empty for none.

        Returns:
            What is stored now.

        Raises:
            RefusedError: it was shut out since it used this link.
            HomingError: as `TrustStore.add`.
        """
        return await self._undivided.run(self._admit(device, actor, link_id))

    async def revoke(self, device_id: DeviceId, actor: str) -> tuple[PairedDevice, ...]:
        """Shut a device out with everything that hangs on it; harmless twice.

        Args:
            device_id: whom.
            actor: who says so, as in the audit log.

        Returns:
            Every entry concerned, the named one first.

        Raises:
            NotFoundError: it is unknown.
            HomingError: it is shut out, but only until the node restarts: it could not be stored.
        """
        self._shut_out.add([device_id])
        return await self._undivided.run(self._revoke(device_id, actor))

    async def grant(
        self,
        device_id: DeviceId,
        role: DeviceRole,
        scopes: frozenset[Scope],
        limits: Limits,
        actor: str,
    ) -> PairedDevice:
        """Change what a device may do. What it may do no more ends at once.

        Raises:
            NotFoundError: it is unknown.
            RefusedError: it is revoked.
        """
        return await self._undivided.run(self._grant(device_id, role, scopes, limits, actor))

    async def rewrite(
        self,
        decide: Callable[[tuple[PairedDevice, ...]], RewriteT],
        then: Callable[[RewriteT], Awaitable[bool]],
    ) -> RewriteT:
        """Change many devices at once, as something decides from all of them.

        Args:
            decide: see `TrustStore.rewrite`.
            then: what follows once it is stored: ends and notes; whether listeners are told.

        Raises:
            HomingError: as `TrustStore.rewrite`.
        """
        return await self._undivided.run(self._rewrite(decide, then))

    async def store_again(self) -> None:
        """Try once more to store revocations that a full or broken disk has not taken."""
        for device_id, actor in tuple(self._unstored.items()):
            async with self._changing:
                if device_id not in self._unstored:
                    continue
                try:
                    await asyncio.to_thread(self._store.revoke, device_id)
                except HomingError:
                    continue
                del self._unstored[device_id]
            _log.info("device.revocation_stored", device=device_id)
            self._audit.record(
                AuditKind.REVOKED, actor=actor, device=device_id, detail={"stored": True}
            )

    async def changed(self) -> None:
        """Tell everyone who listens that some device was paired, changed or shut out."""
        for listener in self._listeners:
            try:
                await listener()
            except Exception as error:  # noqa: BLE001  # one that fails keeps no other from it
                _log.error("device.listener_failed", exc_info=error)

    async def _admit(self, device: PairedDevice, actor: str, link_id: str) -> PairedDevice:
        async with self._changing:
            again = bool(link_id) and await asyncio.to_thread(self._store.link_used, link_id)
            stored = await asyncio.to_thread(self._store.add, device, link_id)
            if again and stored in self._shut_out:
                msg = "this device was shut out after it used this link"
                raise RefusedError(msg, "Ask the node's owner for a new link.")
            if not again:
                self._shut_out.remove([stored.id, stored.owner])
                self._unstored.pop(stored.id, None)
        if not again:
            await self._note_paired(stored, actor)
        return stored

    async def _note_paired(self, device: PairedDevice, actor: str) -> None:
        self._audit.record(
            AuditKind.PAIRED,
            actor=actor,
            device=device.id,
            detail={"name": device.name, "role": device.role.value},
        )
        await self.changed()

    async def _revoke(self, device_id: DeviceId, actor: str) -> tuple[PairedDevice, ...]:
        failure: Exception | None = None
        async with self._changing:
            concerned = await asyncio.to_thread(hanging_on, self._store, device_id)
            self._shut_out.add({device_id, *names_of(concerned)})
            try:
                concerned = await asyncio.to_thread(self._store.revoke, device_id)
            except NotFoundError:
                self._shut_out.remove([device_id])
                raise
            except Exception as error:  # noqa: BLE001  # it is shut out, whatever the disk says
                failure = error
                self._unstored[device_id] = actor
            else:
                self._unstored.pop(device_id, None)
            self._shut_out.add(names_of(concerned))
        await end_work(self._work, {device.owner for device in concerned} or {device_id})
        self._audit.record(
            AuditKind.REVOKED, actor=actor, device=device_id, detail={"stored": failure is None}
        )
        await self.changed()
        if failure is not None:
            raise not_stored(failure) from failure
        return concerned

    async def _rewrite(
        self,
        decide: Callable[[tuple[PairedDevice, ...]], RewriteT],
        then: Callable[[RewriteT], Awaitable[bool]],
    ) -> RewriteT:
        async with self._changing:
            decided = await asyncio.to_thread(self._store.rewrite, decide)
        if await then(decided):
            await self.changed()
        return decided

    async def _grant(
        self,
        device_id: DeviceId,
        role: DeviceRole,
        scopes: frozenset[Scope],
        limits: Limits,
        actor: str,
    ) -> PairedDevice:
        async with self._changing:
            before = await asyncio.to_thread(self._store.get, device_id)
            device = await asyncio.to_thread(self._store.grant, device_id, role, scopes, limits)
        self._audit.record(
            AuditKind.GRANTED,
            actor=actor,
            device=device_id,
            detail={
                "role": role.value,
                "scopes": sorted(scope.value for scope in scopes),
                "limits": _said(limits),
            },
        )
        if before.role is not role or before.scopes - scopes:
            msg = "what this device may do here was changed"
            await self._work.end(device.owner, RefusedError(msg, "Ask again."))
        await self.changed()
        return device


def _said(limits: Limits) -> dict[str, JsonValue]:
    """What is limited, as it stands in the audit log."""
    said: dict[str, JsonValue] = {
        "tokens_per_day": limits.tokens_per_day,
        "concurrent_streams": limits.concurrent_streams,
        "jobs": limits.jobs,
        "models": limits.models,
        "tools": limits.tools,
        "expires_at": limits.expires_at,
        "hours": limits.hours,
    }
    return {kind: value for kind, value in said.items() if value}
