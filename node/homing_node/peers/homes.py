"""Homes whose devices this node takes: what they push and withdraw, held to the owner's terms."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from homing_agent.runtime.logs import get_logger
from homing_core.errors import OverloadedError, UnpairedError
from homing_crypto.audit.records import NODE, AuditKind
from homing_crypto.pushes import Taken, take
from homing_crypto.withdrawals import Ended, tighten, withdraw

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from homing_core.clock import Clock
    from homing_core.errors import HomingError
    from homing_core.ids import DeviceId
    from homing_crypto.audit.records import Audit
    from homing_crypto.devices import PairedDevice
    from homing_crypto.guard import Caller
    from homing_crypto.introductions import Introduction
    from homing_crypto.vouching import Terms

    from homing_node.devices.desk import DeviceDesk, Work

MOST_PUSHES: Final = 120
"""Pushes of one home in an hour; a home needs three in a lease, and one for each change."""
MOST_WITHDRAWALS: Final = 600
"""Withdrawals of one home in an hour."""
_HOUR_S = 60 * 60.0

_TAKEN_BACK = UnpairedError(
    "your home took its word for this device back", "Ask your home node's owner."
)
_NOT_ALLOWED = UnpairedError(
    "this node takes your home's devices no more", "Ask your home node's owner."
)

_log = get_logger(__name__)


class Homes:
    """Takes introductions. Belongs to one event loop.

    Args:
        desk: changes devices.
        work: what has to end when a device is shut out.
        terms: what this node's owner allows; asked anew each time.
        clock: for leases and rates.
        audit: where refusals are noted.
    """

    def __init__(
        self,
        *,
        desk: DeviceDesk,
        work: Work,
        terms: Callable[[], Terms],
        clock: Clock,
        audit: Audit,
    ) -> None:
        """Nobody has pushed anything yet."""
        self._desk = desk
        self._work = work
        self._terms = terms
        self._clock = clock
        self._audit = audit
        self._pushes = _Rate(MOST_PUSHES, clock)
        self._withdrawals = _Rate(MOST_WITHDRAWALS, clock)

    async def push(self, caller: Caller, introductions: Sequence[Introduction]) -> Taken:
        """Take what a home says of its devices.

        Raises:
            OverloadedError: it pushes too often.
        """
        self._pushes.count(caller.account)
        terms = self._terms()

        def decide(everyone: tuple[PairedDevice, ...]) -> Taken:
            return take(introductions, caller.id, everyone, self._clock.now(), terms)

        async def then(taken: Taken) -> bool:
            for device in taken.fresh:
                self._audit.record(
                    AuditKind.INTRODUCED,
                    actor=caller.id,
                    device=device.id,
                    detail={"name": device.name},
                )
            return bool(taken.fresh)

        taken = await self._desk.rewrite(decide, then)
        if taken.refused:
            reasons = sorted({error.what for _, error in taken.refused})
            _log.warning("peers.refused", home=caller.id, count=len(taken.refused))
            self._audit.record(
                AuditKind.INTRODUCTION_REFUSED,
                actor=caller.id,
                detail={"count": len(taken.refused), "reasons": reasons[:4]},
            )
        return taken

    async def withdraw(
        self, caller: Caller, device_ids: Collection[DeviceId], serial: int
    ) -> Ended:
        """A home takes its word back: what these devices have under way here ends.

        Raises:
            OverloadedError: it does so too often.
        """
        self._withdrawals.count(caller.account)

        def decide(everyone: tuple[PairedDevice, ...]) -> Ended:
            return withdraw(device_ids, serial, caller.id, everyone, self._clock.now())

        return await self._shut_out(decide, caller.id, _TAKEN_BACK)

    async def tighten(self) -> None:
        """After any change: introduced devices may do no more than their homes may let them."""
        terms = self._terms()

        def decide(everyone: tuple[PairedDevice, ...]) -> Ended:
            return tighten(everyone, self._clock.now(), terms)

        await self._shut_out(decide, NODE, _NOT_ALLOWED)

    async def _shut_out(
        self,
        decide: Callable[[tuple[PairedDevice, ...]], Ended],
        actor: str,
        error: HomingError,
    ) -> Ended:
        async def then(ended: Ended) -> bool:
            for account in ended.idle:
                await self._work.end(account, error)
            for device in ended.ended:
                self._audit.record(AuditKind.WITHDRAWN, actor=actor, device=device.id)
            return bool(ended.ended)

        return await self._desk.rewrite(decide, then)


class _Rate:
    """So many in an hour for each home."""

    def __init__(self, most: int, clock: Clock) -> None:
        self._most = most
        self._clock = clock
        self._when: dict[str, deque[float]] = {}

    def count(self, home: str) -> None:
        now = self._clock.monotonic()
        when = self._when.setdefault(home, deque())
        while when and now - when[0] >= _HOUR_S:
            when.popleft()
        if len(when) >= self._most:
            msg = "this home says too much about its devices"
            wait_ms = int((_HOUR_S - (now - when[0])) * 1000)
            raise OverloadedError(msg, "It may go on in a while.", wait_ms)
        when.append(now)
