"""The way in by short code: the machine's state, and the person who is asked."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from homing_core.errors import ConflictError, RefusedError
from homing_crypto.audit.records import CONSOLE, AuditKind
from homing_crypto.pairing.code import new_code
from homing_crypto.pairing.code_machine import (
    ANSWER_S,
    confirm,
    decide,
    ended,
    enter,
    entry_for,
    start,
    taken,
)
from homing_crypto.pairing.code_outcomes import (
    Admitted,
    Recognised,
    Waiting,
    WrongCode,
    code_refusal,
)
from homing_crypto.pairing.code_proof import CodeReply
from homing_crypto.pairing.code_window import CodeWindow

from homing_node.values import Asks, Closed, CodeOffer, WrongCodeTyped

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.access import DeviceRole
    from homing_core.ids import DeviceId
    from homing_crypto.pairing.code_proof import CodeStart, Entry, Recognition
    from homing_crypto.pairing.machine import NodeSide

    from homing_node.pairing.window import Window


_FAREWELL_S = 2.0
"""How long that moment is: the phone writes something down before it asks to come in."""


class CodeWay:
    """Devices that were given the code.

    Args:
        window: which they come into.
        node: what the node says of itself.
        role: for the new device.
        offer: whether a person is asked.
        expires_at: wall time at which the code ends, seconds since the epoch.
        won: told of the device that is let in, before anything is awaited.
        void: told when the code is burned.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # what one window is made of
        self,
        window: Window,
        node: NodeSide,
        role: DeviceRole,
        offer: CodeOffer,
        expires_at: float,
        won: Callable[[DeviceId], None],
        void: Callable[[], None],
    ) -> None:
        """Open, unless no code is offered."""
        self._window = window
        self._offer = offer
        self._won = won
        self._void = void
        self._state = CodeWindow(new_code(), node, role, expires_at)
        self._changed = asyncio.Event()
        self._told = asyncio.Event()
        if not self.offered:
            self.end()

    @property
    def offered(self) -> bool:
        """Whether there is a code at all."""
        return self._offer is not CodeOffer.NONE

    @property
    def code(self) -> str:
        """The digits to show; empty if none are offered."""
        return self._state.code if self.offered else ""

    @property
    def burned(self) -> bool:
        """Whether nobody can come in by code any more."""
        return not self.offered or self._state.guesses_left == 0

    def start(self, asked: CodeStart, caller: str) -> CodeReply:
        """Answer an attempt's first message."""
        if not self.offered:
            msg = "this pairing takes the link only, not a code"
            raise RefusedError(msg, "Give the link that the node shows, in quotes.")
        self._state, outcome = start(self._state, asked, self._now(), caller)
        if not isinstance(outcome, CodeReply):
            raise code_refusal(outcome)
        return outcome

    def confirm(self, attempt_id: str, confirmation: bytes) -> Recognition:
        """Decide whether a phone knows the code, and have the person asked if it does."""
        wrong_before = len(self._state.refused)
        self._state, outcome = confirm(self._state, attempt_id, confirmation, self._now())
        if not isinstance(outcome, Recognised):
            if isinstance(outcome, WrongCode) and len(self._state.refused) > wrong_before:
                self._window.refuse("wrong code", outcome.left)
                self._window.tell(WrongCodeTyped(outcome.left))
                if self.burned:
                    self._void()
            raise code_refusal(outcome)
        if not outcome.again:
            self._ask(attempt_id, outcome)
        return outcome.recognition

    def decide(self, attempt_id: str, *, allow: bool) -> None:
        """Take the person's answer; raises `ConflictError` if nobody waits for it."""
        answered = decide(self._state, attempt_id, allow=allow)
        if answered is self._state:  # it was answered before
            return
        self._state = answered
        self._beat()
        device = "" if answered.claim is None else answered.claim.attempt.device.id
        if allow:
            self._window.parts.audit.record(
                AuditKind.APPROVAL, actor=CONSOLE, device=device, detail={"what": "pairing"}
            )
            return
        self._window.decline(device)
        self._window.tell(Closed("you did not let the device in"))

    async def enter(self, attempt_id: str) -> Entry:
        """Wait until the person has answered, and let the phone in if they said yes."""
        while True:
            changed = self._changed
            self._state, outcome = enter(self._state, attempt_id, self._now())
            match outcome:
                case Waiting():
                    self._window.waits()
                    try:
                        await changed.wait()
                    except asyncio.CancelledError:
                        self._window.left()
                        raise
                case Admitted():
                    self._won(outcome.device.id)
                    state = self._state
                    return entry_for(state, await self._window.admit(outcome.device))
                case _:
                    self._told.set()
                    raise code_refusal(outcome)

    def taken(self, device_id: DeviceId) -> None:
        """A device was let in, by whichever way."""
        self._state = taken(self._state, device_id)
        self._beat()

    def end(self) -> None:
        """The window closes: whoever waits is told so."""
        self._state = ended(self._state)
        self._beat()

    async def farewell(self) -> None:
        """Give the device that a person was asked about a moment to hear what came of it."""
        if self._state.claim is not None and self._state.paired is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._told.wait(), _FAREWELL_S)

    def _ask(self, attempt_id: str, outcome: Recognised) -> None:
        if self._offer is CodeOffer.ACCEPT:
            self.decide(attempt_id, allow=True)
            return
        self._window.extend(ANSWER_S)
        claim = self._state.claim
        if claim is None:
            msg = "nobody knows the code"
            raise ConflictError(msg)
        device = outcome.device
        self._window.tell(Asks(attempt_id, device.name, device.id, int(claim.ends_at)))

    def _beat(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _now(self) -> float:
        return self._window.parts.clock.now()
