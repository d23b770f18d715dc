"""One open pairing: what happens in it as a queue, its deadline, and who was let in."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_agent.runtime.logs import get_logger
from homing_core.errors import HomingError
from homing_crypto.audit.records import CONSOLE, NODE, AuditKind

from homing_node.values import Closed, Paired, PairingEvent

if TYPE_CHECKING:
    from homing_core.canonical import JsonValue
    from homing_core.clock import Clock
    from homing_crypto.audit.records import Audit
    from homing_crypto.devices import PairedDevice
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.trust import TrustStore

    from homing_node.devices.desk import DeviceDesk

_NOBODY_SAID = "nobody said in time whether the device may come in"
_WENT_AWAY = "the phone went away before it was let in"

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PairingParts:
    """What a pairing needs of the node.

    Attributes:
        store: knows which links were used.
        desk: lets a device in.
        audit: where refused guesses are noted.
        clock: for deadlines that people see.
        name: the node's, for people.
    """

    store: TrustStore
    desk: DeviceDesk
    audit: Audit
    clock: Clock
    name: str


class Window:
    """An open pairing, shared by the ways into it. Belongs to one event loop.

    Args:
        parts: what it needs of the node.
        identity: the node's; a pairing begins with the present one and ends with it.
        link_id: names the window's link; whoever is let in has used it, by whichever way.
        seconds: how long it is open.
    """

    def __init__(
        self, parts: PairingParts, identity: DeviceIdentity, link_id: str, seconds: float
    ) -> None:
        """Open from now on, by a clock that nobody sets."""
        self.parts = parts
        self.identity = identity
        self.paired = False
        self._link_id = link_id
        self._events: asyncio.Queue[PairingEvent] = asyncio.Queue()
        self._ends = asyncio.get_running_loop().time() + seconds
        self._late = "nobody came in time"

    def tell(self, event: PairingEvent) -> None:
        """Let whoever follows the pairing know."""
        self._events.put_nowait(event)

    def decline(self, device: str) -> None:
        """Note in log and audit that the person said no."""
        _log.warning("pairing.declined", device=device)
        detail: dict[str, JsonValue] = {"reason": "declined"}
        self.parts.audit.record(
            AuditKind.PAIRING_REFUSED, actor=CONSOLE, device=device, detail=detail
        )

    def refuse(self, reason: str, left: int | None = None) -> None:
        """Note in log and audit that somebody guessed wrong."""
        _log.warning("pairing.refused", reason=reason, left=left)
        detail: dict[str, JsonValue] = {"reason": reason}
        if left is not None:
            detail["left"] = left
        self.parts.audit.record(AuditKind.PAIRING_REFUSED, actor=NODE, detail=detail)

    def extend(self, seconds: float) -> None:
        """Stay open for at least this much longer, in seconds: a person is being asked."""
        self._ends = max(self._ends, asyncio.get_running_loop().time() + seconds)
        self._late = _NOBODY_SAID

    def waits(self) -> None:
        """The device that a person is asked about is there."""
        self._late = _NOBODY_SAID

    def left(self) -> None:
        """It went away while it waited; it may come back until the window closes."""
        self._late = _WENT_AWAY
        _log.info("pairing.left")

    async def admit(self, device: PairedDevice) -> PairedDevice:
        """Store a device and tell of it, once.

        Returns:
            What is stored: a device that was paired before keeps its role.
        """
        try:
            stored = await self.parts.desk.admit(device, CONSOLE, self._link_id)
        except HomingError as error:
            _log.error("pairing.not_stored", code=error.code.value, what=error.what)
            raise
        if not self.paired:
            self.paired = True
            _log.info("pairing.paired", device=stored.id, role=stored.role.value)
            self.tell(Paired(self.parts.desk.view(stored)))
        return stored

    async def next_event(self) -> PairingEvent:
        """What happens next, or that the time is over."""
        while True:
            try:
                async with asyncio.timeout_at(self._ends):
                    return await self._events.get()
            except TimeoutError:
                if asyncio.get_running_loop().time() >= self._ends:
                    return Closed(self._late)
