"""This phone's keys, and which node knows it by which.

After a rotation the new key is the present one everywhere at once. A node that has not heard of it
is still called with the key that it knows, and told over that connection (`homing_client.link`). An
earlier key is destroyed once no node needs it any more, or after `KEEP_S`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from homing_agent.pairing.by_link import PENDING_S
from homing_agent.runtime.logs import get_logger
from homing_core.errors import ConflictError, HomingError
from homing_core.keys import NodeKnows, OwnKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.clock import Clock
    from homing_core.ids import DeviceId
    from homing_core.keys import KeyProtection
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.identity_file import EarlierKey
    from homing_crypto.keyring_file import KeyRing
    from homing_crypto.nodes import KnownNode, NodeBook

DAY_S: Final = 24 * 60 * 60
KEEP_S: Final = 90 * DAY_S
"""A node that was not reached for this long after a rotation has to be paired with again."""

_log = get_logger(__name__)


class Keys(Protocol):
    """What a link needs of this phone's keys."""

    @property
    def current(self) -> DeviceIdentity:
        """The present one."""
        ...

    def for_node(self, node: KnownNode) -> tuple[DeviceIdentity, ...]:
        """What to show a node, the likeliest first; never empty."""
        ...

    async def told(self, node: KnownNode, key: DeviceId) -> None:
        """The node knows this phone by this key now, and has forgotten earlier ones."""
        ...


class OneKey:
    """`Keys` of a device that never replaces its key."""

    def __init__(self, identity: DeviceIdentity) -> None:
        """Keep it."""
        self.current = identity

    def for_node(self, node: KnownNode) -> tuple[DeviceIdentity, ...]:
        """See `Keys.for_node`."""
        del node
        return (self.current,)

    async def told(self, node: KnownNode, key: DeviceId) -> None:
        """See `Keys.told`."""


class PhoneKeys:
    """A phone's keys on disk; implements `Keys`. Belongs to one event loop.

    Args:
        ring: the keys.
        book: the nodes.
        clock: wall time.
    """

    def __init__(self, ring: KeyRing, book: NodeBook, clock: Clock) -> None:
        """Keep where they are."""
        self._ring = ring
        self._book = book
        self._clock = clock
        self._changing = asyncio.Lock()
        self._awaited: list[Callable[[], bool]] = []

    def keep_while(self, awaited: Callable[[], bool]) -> None:
        """Destroy no earlier key while this says that something may still come sealed for one.

        It must return at once; a key that is too old goes all the same.
        """
        self._awaited.append(awaited)

    @property
    def identities(self) -> tuple[DeviceIdentity, ...]:
        """All of them, the present one first."""
        return self._ring.identities

    @property
    def current(self) -> DeviceIdentity:
        """See `Keys.current`."""
        return self._ring.current

    @property
    def protection(self) -> KeyProtection:
        """How the keys are protected on disk."""
        return self._ring.protection

    def for_node(self, node: KnownNode) -> tuple[DeviceIdentity, ...]:
        """See `Keys.for_node`.

        What is noted may be wrong after a kill in the middle of telling, so the others follow.
        """
        known = self._ring.get(node.known_as) if node.known_as else None
        rest = tuple(one for one in self._ring.identities if one is not known)
        return (known, *rest) if known else rest

    def own(self) -> tuple[OwnKey, ...]:
        """The keys for people, the present one first."""
        current = self._ring.current
        return (
            OwnKey(current.device_id, int(current.created_at)),
            *(
                OwnKey(
                    key.identity.device_id,
                    int(key.identity.created_at),
                    int(key.replaced_at),
                    int(key.replaced_at + KEEP_S),
                )
                for key in self._ring.earlier
            ),
        )

    def knows(self, node: KnownNode, problem: str = "") -> NodeKnows:
        """Which key a node knows, for people."""
        key = node.known_as or self._oldest().device_id
        here = self._ring.get(key) is not None
        return NodeKnows(node.id, node.name, key if here else "", problem)

    async def rotate(self) -> DeviceIdentity:
        """Make a new key. Nodes are told of it when they are next called.

        Raises:
            ConflictError: a pairing is under way, or too many earlier keys are still needed.
            HomingError: the disk does not let us; nothing has changed.
        """
        async with self._changing:
            await asyncio.to_thread(self._check_no_pairing)
            old = self._ring.current
            # First who knows the old key is written down, so that it is not taken for the new one.
            await asyncio.to_thread(self._book.note_known_as, old.device_id)
            new = await asyncio.to_thread(self._ring.begin_rotation)
        _log.info("keys.rotated", key=new.device_id, before=old.device_id)
        await self.tidy()
        return new

    async def told(self, node: KnownNode, key: DeviceId) -> None:
        """See `Keys.told`."""
        await asyncio.to_thread(self._book.note_known_as, key, node.id)
        await self.tidy()

    async def tidy(self) -> None:
        """Destroy the earlier keys that no node needs, and those that are too old."""
        async with self._changing:
            awaited = any(look() for look in self._awaited)
            for key in await asyncio.to_thread(self._not_needed, awaited=awaited):
                await asyncio.to_thread(self._ring.retire, key)
                _log.info("keys.destroyed", key=key)

    async def keep_fresh(self, rotate_days: float) -> bool:
        """Rotate where the present key is old enough; whether it did.

        Args:
            rotate_days: days after which a key is replaced; 0 never.
        """
        age_s = self._clock.now() - self._ring.current.created_at
        if not rotate_days or age_s < rotate_days * DAY_S:
            return False
        try:
            await self.rotate()
        except HomingError as error:
            _log.warning("keys.not_rotated", code=error.code.value, what=error.what)
            return False
        return True

    def _oldest(self) -> DeviceIdentity:
        return self._ring.identities[-1]

    def _not_needed(self, *, awaited: bool) -> list[DeviceId]:
        earlier = self._ring.earlier
        if not earlier:
            return []
        needed = {node.known_as for node in self._book.nodes()}
        now = self._clock.now()
        return [
            key.identity.device_id
            for key in earlier
            if (key.identity.device_id not in needed and not awaited) or _too_old(key, now)
        ]

    def _check_no_pairing(self) -> None:
        now = self._clock.now()
        for pending in self._book.pending_pairings():
            if 0 <= now - pending.started_at < PENDING_S:
                msg = "a pairing is under way, with the key as it is"
                raise ConflictError(msg, "Try again when it has ended, or in a quarter of an hour.")


def _too_old(key: EarlierKey, now: float) -> bool:
    return now >= key.replaced_at + KEEP_S
