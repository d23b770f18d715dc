"""Looking after a node's devices from an owner's phone: what it may do, and the doing.

A phone can be stolen. So an owner's phone limits and shuts out members, guests and peers; what
concerns owners, itself included, needs the node's console or the recovery secret, and what it gives
a device is never more than it had, or than its role has by default. Any device may leave by itself;
one that is here on another node's word leaves until that node's next word.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.access import DEFAULT_SCOPES, DeviceRole, Limits, Scope
from homing_core.errors import OverloadedError, RefusedError, UnpairedError
from homing_crypto.audit.records import AuditKind
from homing_crypto.devices import shut_out_with
from homing_crypto.withdrawals import leave

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_core.clock import Clock
    from homing_core.ids import DeviceId
    from homing_crypto.audit.records import Audit
    from homing_crypto.devices import PairedDevice
    from homing_crypto.guard import Caller
    from homing_crypto.trust import TrustStore
    from homing_crypto.withdrawals import Ended

    from homing_node.devices.desk import DeviceDesk, Work
    from homing_node.devices.recovery import Recovery

MOST_CHANGES: Final = 100
"""Grants, and revocations that were made before, that one device may ask for in `DAY_S`."""
DAY_S: Final = 24 * 60 * 60.0
_EXCHANGEABLE = frozenset({DeviceRole.MEMBER, DeviceRole.GUEST})


@dataclass(frozen=True, slots=True)
class Grant:
    """What a device is to be.

    Attributes:
        role: its role.
        scopes: what it may do.
        limits: how much of it.
    """

    role: DeviceRole
    scopes: frozenset[Scope]
    limits: Limits


def looks_after_others(caller: Caller) -> bool:
    """Whether the caller may change any device but itself."""
    return caller.role is DeviceRole.OWNER and Scope.DEVICES in caller.scopes


def check_revoke(
    caller: Caller, device: PairedDevice, known: Iterable[PairedDevice], *, recovery: bool
) -> None:
    """Whether the caller may shut this device out, with everything that hangs on it.

    Args:
        caller: who asks.
        device: whom.
        known: all devices.
        recovery: whether it gave the recovery secret.

    Raises:
        RefusedError: no.
    """
    if device.owner == caller.account:
        return  # it leaves
    if not looks_after_others(caller):
        raise _not_an_owner()
    owners = any(one.role is DeviceRole.OWNER for one in shut_out_with(device, known))
    if owners and not recovery:
        raise _among_owners()


def check_grant(caller: Caller, device: PairedDevice, grant: Grant, *, recovery: bool) -> None:
    """Whether the caller may make this device what it says.

    Raises:
        RefusedError: no.
    """
    if not looks_after_others(caller):
        raise _not_an_owner()
    if DeviceRole.OWNER in {device.role, grant.role} and not recovery:
        raise _among_owners()
    if grant.role is not device.role and DeviceRole.PEER in {device.role, grant.role}:
        msg = "a peer is paired as one, and stays one"
        raise RefusedError(msg, "Revoke it and pair it anew, at the node.")
    had = device.scopes if grant.role is device.role else frozenset[Scope]()
    if not grant.scopes <= DEFAULT_SCOPES[grant.role] | had:
        msg = "that is more than a device of this role may do"
        raise RefusedError(msg, "Allow it at the node: homing-node devices grant")


class RemoteDesk:
    """Changes that phones ask for.

    Args:
        store: whom the node knows.
        desk: through which everything goes.
        recovery: checks recovery secrets.
        work: what ends when a device leaves that is here on another node's word.
        audit: where that is noted.
        clock: for leases.
    """

    def __init__(  # noqa: PLR0913  # each is a boundary of its own
        self,
        *,
        store: TrustStore,
        desk: DeviceDesk,
        recovery: Recovery,
        work: Work,
        audit: Audit,
        clock: Clock,
    ) -> None:
        """Keep where to look."""
        self._store = store
        self._desk = desk
        self._recovery = recovery
        self._work = work
        self._audit = audit
        self._clock = clock
        self._lately: dict[DeviceId, deque[float]] = {}

    async def devices(self) -> tuple[PairedDevice, ...]:
        """Every device that was not revoked, oldest first."""
        devices = await asyncio.to_thread(self._store.devices)
        return tuple(device for device in devices if device.listed)

    async def revoke(
        self, caller: Caller, device_id: DeviceId, secret: str = ""
    ) -> tuple[PairedDevice, ...]:
        """Shut a device out; harmless twice.

        Args:
            caller: who asks.
            device_id: whom.
            secret: the recovery secret; empty for none.

        Raises:
            RefusedError: the caller may not, or the secret is wrong.
            OverloadedError: the caller gave too many wrong secrets, or says it too often.
            NotFoundError: there is no such device.
            HomingError: as `DeviceDesk.revoke`.
        """
        if device_id not in {caller.id, caller.account}:
            if not looks_after_others(caller):  # who may not ask learns nothing about who there is
                raise _not_an_owner()
            recovery = await self._recovered(caller, secret)
            device = await asyncio.to_thread(self._store.get, device_id)
            known = await asyncio.to_thread(self._store.devices)
            check_revoke(caller, device, known, recovery=recovery)
            if device.revoked_at:  # shutting out anybody who is not is never held back
                self._count(caller)
        elif caller.device.introduced_by:
            return await self._leave(caller)
        return await self._desk.revoke(device_id, caller.id)

    async def grant(
        self, caller: Caller, device_id: DeviceId, grant: Grant, secret: str = ""
    ) -> PairedDevice:
        """Change what a device may do; raises as `revoke`. Repeating it changes nothing."""
        if not looks_after_others(caller):
            raise _not_an_owner()
        recovery = await self._recovered(caller, secret)
        device = await asyncio.to_thread(self._store.get, device_id)
        check_grant(caller, device, grant, recovery=recovery)
        self._count(caller)
        return await self._desk.grant(device_id, grant.role, grant.scopes, grant.limits, caller.id)

    async def _leave(self, caller: Caller) -> tuple[PairedDevice, ...]:
        """End what a device has here on another node's word."""
        msg = "this device has left this node"

        async def then(ended: Ended) -> bool:
            for account in ended.idle:
                await self._work.end(account, UnpairedError(msg))
            for device in ended.ended:
                self._audit.record(AuditKind.WITHDRAWN, actor=caller.id, device=device.id)
            return bool(ended.ended)

        decided = await self._desk.rewrite(
            lambda everyone: leave(caller.id, everyone, self._clock.now()), then
        )
        return decided.put or (caller.device,)

    def _count(self, caller: Caller) -> None:
        """Each of these is an entry in the audit log: nobody may fill it."""
        now, when = self._clock.monotonic(), self._lately.setdefault(caller.account, deque())
        while when and now - when[0] >= DAY_S:
            when.popleft()
        if len(when) >= MOST_CHANGES:
            msg = f"this device changed others {MOST_CHANGES} times within a day"
            hint = "Do it at the node: homing-node devices. Shutting a device out still works."
            raise OverloadedError(msg, hint, int((when[0] + DAY_S - now) * 1000))
        when.append(now)

    async def _recovered(self, caller: Caller, secret: str) -> bool:
        if not secret:
            return False
        await self._recovery.check(secret, caller.account, caller.id)
        return True


def _not_an_owner() -> RefusedError:
    msg = "this device is not an owner on this node"
    return RefusedError(msg, "Ask an owner, or do it at the node: homing-node devices")


def _among_owners() -> RefusedError:
    msg = "changes among owners need the node's console or the recovery secret"
    hint = "At the node: homing-node devices. From here: homing devices … --recovery"
    return RefusedError(msg, hint)
