"""The node's own keys: shown to phones, and replaced while it runs.

A new key is a new device id. For an overlap, the node shows the certificate of either: gRPC takes
the one whose id a phone asks for. A phone that knows the old one learns of the new one over the
connection that it trusts already, from a statement that both keys signed. When the overlap is over
the old key is destroyed; a phone that was away all the time pairs again.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from homing_agent.runtime.logs import get_logger
from homing_core.errors import HomingError, NotFoundError
from homing_core.keys import OwnKey
from homing_crypto.audit.records import CONSOLE, AuditKind
from homing_crypto.audit.rotation import node_key_changed
from homing_crypto.rotation import sign_succession

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.clock import Clock
    from homing_core.ids import DeviceId
    from homing_core.keys import KeyChange, KeyProtection
    from homing_crypto.audit.records import Audit
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.identity_file import EarlierKey
    from homing_crypto.keyring_file import KeyRing

DAY_S: Final = 24 * 60 * 60
_LOOK_S = 60 * 60.0
"""How often it is looked whether an overlap is over, at least: the wall clock may jump."""
_LEAST_LOOK_S = 1.0
"""How soon it is looked again after a key could not be destroyed."""

_log = get_logger(__name__)


class NodeKeys:
    """The present key, and those in their overlap. `rotate` and `watch` belong to one event loop.

    Args:
        ring: the keys on disk.
        clock: for when an overlap ends.
        overlap_s: how long an old key goes on, in seconds.
        audit: where a change is noted.
    """

    def __init__(self, ring: KeyRing, clock: Clock, overlap_s: float, audit: Audit) -> None:
        """Nobody listens yet."""
        self._ring = ring
        self._clock = clock
        self._overlap_s = overlap_s
        self._audit = audit
        self._listeners: list[Callable[[], None]] = []
        self._news = asyncio.Event()
        self._changing = asyncio.Lock()

    @property
    def current(self) -> DeviceIdentity:
        """Who this node is."""
        return self._ring.current

    @property
    def protection(self) -> KeyProtection:
        """How the keys are protected on disk."""
        return self._ring.protection

    def identities(self) -> tuple[DeviceIdentity, ...]:
        """What to show, the present one first; from any thread."""
        now = self._clock.now()
        valid = (key.identity for key in self._ring.earlier if not self._over(key, now))
        return (self._ring.current, *valid)

    def own(self) -> tuple[OwnKey, ...]:
        """The same for people."""
        current = self._ring.current
        now = self._clock.now()
        return (
            OwnKey(current.device_id, int(current.created_at)),
            *(
                OwnKey(
                    key.identity.device_id,
                    int(key.identity.created_at),
                    int(key.replaced_at),
                    int(key.replaced_at + self._overlap_s),
                )
                for key in self._ring.earlier
                if not self._over(key, now)
            ),
        )

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call this after every change, on the loop; it looks up by itself what concerns it."""
        self._listeners.append(listener)

    async def rotate(self, actor: str = CONSOLE) -> tuple[OwnKey, ...]:
        """Make a new key; the old one goes on for the overlap.

        Raises:
            ConflictError: too many old keys are in their overlap.
            UnavailableError: the disk does not let us; nothing has changed.
        """
        async with self._changing:
            old = self._ring.current
            new = await asyncio.to_thread(self._ring.begin_rotation)
        _log.info("keys.rotated", node=new.device_id, before=old.device_id)
        self._audit.record(
            AuditKind.KEY_ROTATED,
            actor=actor,
            device=new.device_id,
            detail=node_key_changed(old, new.certificate),
        )
        self._changed()
        return self.own()

    def since(self, known_id: str) -> KeyChange | None:
        """What a phone that knows this key needs to go on; None if it is the present one.

        Raises:
            NotFoundError: it is no key of this node, or no longer.
        """
        current, *earlier = self.identities()
        if known_id == current.device_id:
            return None
        for old in earlier:
            if old.device_id == known_id:
                return sign_succession(old, current)
        msg = "this node has no such key any more"
        raise NotFoundError(msg, "Pair with it again.")

    async def watch(self) -> None:
        """Destroy each old key when its overlap is over; goes on until it is cancelled."""
        while True:
            await self.destroy_old()
            now = self._clock.now()
            left = (key.replaced_at + self._overlap_s - now for key in self._ring.earlier)
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(min((_LOOK_S, *left)), _LEAST_LOOK_S)):
                    await self._news.wait()

    async def destroy_old(self) -> None:
        """Destroy what is over now."""
        now = self._clock.now()
        over: list[DeviceId] = [
            key.identity.device_id for key in self._ring.earlier if self._over(key, now)
        ]
        for device_id in over:
            try:
                async with self._changing:
                    await asyncio.to_thread(self._ring.retire, device_id)
            except HomingError as error:  # it is not shown any more; tried again at the next look
                _log.error("keys.not_destroyed", code=error.code.value, what=error.what)
            else:
                _log.info("keys.destroyed", key=device_id)
        if over:
            self._changed()

    def _over(self, key: EarlierKey, now: float) -> bool:
        return now >= key.replaced_at + self._overlap_s

    def _changed(self) -> None:
        self._news.set()
        for listener in self._listeners:
            listener()
