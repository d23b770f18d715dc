"""Ends what devices have under way whose time runs out while it runs.

Every call is checked when it begins. An open stream outlives that check, so what has a time of its
own (a lease, a limit, hours of use) is looked at again every few seconds.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from homing_agent.runtime.logs import get_logger
from homing_core.errors import HomingError, UnpairedError
from homing_crypto.guard import check_live

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.clock import Clock
    from homing_core.ids import DeviceId
    from homing_crypto.devices import PairedDevice
    from homing_crypto.guard import ShutOut
    from homing_crypto.live_calls import LiveCalls
    from homing_crypto.trust import TrustStore

    from homing_node.devices.desk import DeviceDesk, Work

WATCH_S = 2.0
"""How often it is looked, in seconds: how late an open stream may end."""

Over: TypeAlias = "Callable[[PairedDevice], None]"
"""One more reason why a device's time is over; raises `HomingError` if it is."""

_log = get_logger(__name__)


class Watch:
    """Looks after calls that are under way.

    Args:
        calls: the calls.
        store: whom the node knows.
        shut_out: who is refused whatever the store says.
        work: how everything of an account ends.
        desk: stores again what could not be stored.
        clock: for leases and time limits.
        over: further reasons, asked after all others.
    """

    def __init__(  # noqa: PLR0913  # each is a boundary of its own
        self,
        *,
        calls: LiveCalls,
        store: TrustStore,
        shut_out: ShutOut,
        work: Work,
        desk: DeviceDesk,
        clock: Clock,
        over: tuple[Over, ...] = (),
    ) -> None:
        """Keep where to look."""
        self._calls = calls
        self._store = store
        self._shut_out = shut_out
        self._work = work
        self._desk = desk
        self._clock = clock
        self._over = over

    async def run(self) -> None:
        """Look every `WATCH_S` seconds, for ever."""
        while True:
            await asyncio.sleep(WATCH_S)
            try:
                await self.look()
            except Exception as error:  # noqa: BLE001  # the next look may do better
                _log.error("watch.failed", error_type=type(error).__name__)

    async def look(self) -> None:
        """End what must not go on now."""
        await self._desk.store_again()
        for account, keys in self._calls.keys().items():
            reasons = {key: await asyncio.to_thread(self._reason, key) for key in keys}
            ended = {key: reason for key, reason in reasons.items() if reason is not None}
            if not ended:
                continue
            _log.info("device.time_over", device=account, keys=len(ended))
            if len(ended) == len(keys):  # no other key of it is in use: its work goes too
                await self._work.end(account, next(iter(ended.values())))
                continue
            for key, reason in ended.items():
                await self._calls.end_calls(account, reason, key)

    def _reason(self, key: DeviceId) -> HomingError | None:
        """Why calls with this key must end; None if they may go on.

        While the store cannot be read, they may: new calls are refused by then, and a busy disk
        must not cut off everyone.
        """
        try:
            device = self._store.lookup(key)
        except HomingError:
            return None
        if device is None or device in self._shut_out:
            msg = "this device is not paired with the node any more"
            return UnpairedError(msg, "Ask the node's owner to pair it again.")
        try:
            # A device that replaced its key is the same one: what it began with the old key goes
            # on, and no new call is let in with it.
            check_live(replace(device, retires_at=0), self._clock.now())
            for over in self._over:
                over(device)
        except HomingError as error:
            return error
        return None
