"""Tells one peer what it has to know, as soon as it changes and until it has been told.

Each round compares what the peer was told, as the ledger says, with what it should be told. What is
sent is written down first, and a withdrawal goes before a push. A peer that cannot be reached is
tried again and again; what it was told ends with its lease, whatever happens.
"""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Final

from homing_agent.runtime.logs import get_logger
from homing_core.errors import (
    HomingError,
    InternalError,
    OverloadedError,
    RefusedError,
    UnavailableError,
    UnpairedError,
    UsageError,
)
from homing_crypto.introductions import Introduction, introduce, next_serial

from homing_node.peers.plan import plan, shared_devices

if TYPE_CHECKING:
    from homing_core.ids import DeviceId
    from homing_crypto.devices import PairedDevice
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import KnownNode

    from homing_node.peers.ledger import Told
    from homing_node.peers.sharing_parts import Desk
    from homing_node.rpc.peer_calls import PeerCalls

ASK_S: Final = 2.5
"""How long a peer is asked when a person wants to see how it stands, in seconds."""
LOOK_S: Final = 60.0
"""It is looked at least this often what is due: a machine may have slept."""
_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 60.0
_REFUSED_PAUSE_S: Final = 600.0
_TRIES: Final = 3

_log = get_logger(__name__)


class Courier:
    """Looks after one peer. Belongs to one event loop.

    Args:
        node: the peer, as the book knows it.
        desk: what couriers share.

    Attributes:
        node: the peer.
        error: why it could not be told; None after success.
    """

    def __init__(self, node: KnownNode, desk: Desk) -> None:
        """Tell nothing yet."""
        self.node = node
        self.error: HomingError | None = None
        self._desk = desk
        self._news = asyncio.Event()
        self._round = asyncio.Lock()
        self._next_at = 0.0
        self._gone = False

    def nudge(self) -> None:
        """Something has changed: look at once, whatever went wrong before."""
        self._news.set()

    async def ask(self) -> None:
        """See whether the peer still takes this node's word, and let `error` say what came of it.

        Nothing is told here; what had to wait for the peer is told at once if it answers.
        """
        desk = self._desk
        try:
            async with (
                asyncio.timeout(ASK_S),
                desk.dial(self.node, desk.identity(), desk.book, desk.clock),
            ):
                pass
        except HomingError as error:
            self.error = error
        except TimeoutError:
            msg = f"{self.node.name} did not answer just now"
            self.error = UnavailableError(msg, "This node goes on trying.")
        else:
            if isinstance(self.error, UnavailableError | UnpairedError):
                self.error = None
                self.nudge()

    async def run(self) -> None:
        """Go on until the peer has been left."""
        pause = _FIRST_PAUSE_S
        while True:
            self._news.clear()
            try:
                if await self.round():
                    return
                wait, pause = self._until_due(), _FIRST_PAUSE_S
            except OverloadedError as error:
                wait = max(error.retry_after_ms / 1000, _FIRST_PAUSE_S)
            except RefusedError:
                wait = _REFUSED_PAUSE_S
            except HomingError:
                wait, pause = pause, min(pause * 2, _LONGEST_PAUSE_S)
            try:
                async with asyncio.timeout(wait):
                    await self._news.wait()
            except TimeoutError:
                pass

    async def round(self) -> bool:
        """Tell the peer what is due; whether it has been left for good.

        Raises:
            HomingError: it could not be told, as `error` says from then on.
        """
        async with self._round:
            if self._gone:
                return True
            try:
                self._gone = await self._tell()
            except HomingError as error:
                self.error = error
                _log.info("peers.not_told", peer=self.node.id, what=error.what)
                raise
            except Exception as error:
                _log.exception("peers.failed", peer=self.node.id)
                self.error = InternalError("something went wrong", "The details are in the log.")
                raise self.error from error
            self.error = None
            return self._gone

    def _until_due(self) -> float:
        return min(max(self._next_at - self._desk.clock.now(), 0.5), LOOK_S)

    async def _tell(self) -> bool:
        desk, peer = self._desk, self.node.id
        now = desk.clock.now()
        account = await asyncio.to_thread(desk.ledger.account, peer)
        devices = await asyncio.to_thread(desk.store.devices)
        identity = desk.identity()
        wanted = shared_devices(devices, account, desk.share, now)
        due = plan(identity.device_id, wanted, account, now, desk.lease_s)
        self._next_at = due.next_at or now + LOOK_S
        if due.lapsed:
            await asyncio.to_thread(desk.ledger.end_withdrawal, peer, due.lapsed)
        if due.withdraw or due.push:
            try:
                async with desk.dial(self.node, identity, desk.book, desk.clock) as calls:
                    if due.withdraw:
                        await self._withdraw(calls, due.withdraw)
                    if due.push:
                        await self._push(calls, identity, due.push)
            except UnpairedError:
                if not account.leaving:
                    raise
                # It lets nobody in on this node's word any more: what was wanted.
                await asyncio.to_thread(desk.ledger.end_withdrawal, peer, due.withdraw)
        if account.leaving:
            await asyncio.to_thread(desk.ledger.forget, peer)
            await asyncio.to_thread(desk.book.remove, peer)
            await desk.left(self.node)
        return account.leaving

    async def _withdraw(self, calls: PeerCalls, ids: tuple[DeviceId, ...]) -> None:
        desk, peer = self._desk, self.node.id
        heard = 0
        for _ in range(_TRIES):
            serial = await self._serial(heard)
            await asyncio.to_thread(desk.ledger.begin_withdrawal, peer, serial)
            heard = await calls.withdraw(ids, serial)
            if heard <= serial:
                await asyncio.to_thread(desk.ledger.end_withdrawal, peer, ids)
                _log.info("peers.withdrawn", peer=peer, count=len(ids))
                return
        raise _behind()

    async def _push(
        self,
        calls: PeerCalls,
        identity: DeviceIdentity,
        due: tuple[tuple[PairedDevice, Told], ...],
    ) -> None:
        desk, peer = self._desk, self.node.id
        heard = 0
        for _ in range(_TRIES):
            serial = await self._serial(heard)
            said = [(told, self._introduction(identity, one, told, serial)) for one, told in due]
            sent = [(told, made) for told, made in said if made is not None]
            await asyncio.to_thread(
                desk.ledger.begin_push, peer, [told for told, _ in sent], serial
            )
            answer = await calls.push(made for _, made in sent)
            heard = answer.serial
            if heard <= serial:
                refused = {device_id: error.what for device_id, error in answer.refused}
                await asyncio.to_thread(
                    desk.ledger.end_push,
                    peer,
                    answer.accepted - refused.keys(),
                    refused,
                    desk.clock.now(),
                )
                _log.info("peers.told", peer=peer, count=len(sent), refused=len(refused))
                await self._note_addresses(answer.addresses)
                return
        raise _behind()

    async def _serial(self, heard: int) -> int:
        account = await asyncio.to_thread(self._desk.ledger.account, self.node.id)
        return next_serial(max(account.serial, heard), self._desk.clock.now())

    def _introduction(
        self, identity: DeviceIdentity, device: PairedDevice, told: Told, serial: int
    ) -> Introduction | None:
        try:
            return introduce(
                identity,
                self.node.id,
                device,
                lease_expires_at=told.lease_expires_at,
                serial=serial,
            )
        except UsageError as error:  # limits of an older version that cannot be sent
            _log.warning("peers.not_sent", device=device.id, what=error.what)
            return None

    async def _note_addresses(self, addresses: tuple[str, ...]) -> None:
        if addresses and addresses != self.node.addresses:
            self.node = dataclasses.replace(self.node, addresses=addresses)
            await asyncio.to_thread(self._desk.book.add, self.node)


def _behind() -> HomingError:
    msg = "the peer has heard something newer from this node"
    return RefusedError(msg, "Does another computer run with a copy of this node's data?")
