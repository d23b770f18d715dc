"""The way in by link: the machine's state, and what it means for the window."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from homing_crypto.pairing.link import link_id, new_secret
from homing_crypto.pairing.machine import answer_to, open_pairing, step
from homing_crypto.pairing.outcomes import Accepted, WrongProof, refusal

from homing_node.values import WrongGuess

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.access import DeviceRole
    from homing_core.ids import DeviceId
    from homing_core.pairing import PairAnswer, PairAttempt
    from homing_crypto.pairing.machine import NodeSide

    from homing_node.pairing.window import Window


class LinkSecret:
    """A window's one-time secret, made before the window."""

    def __init__(self) -> None:
        """A fresh one."""
        self.value = new_secret()
        self.id = link_id(self.value)


class LinkWay:
    """Devices that hold the link.

    Args:
        window: which they come into.
        node: what the node says of itself.
        role: for the new device.
        secret: the link's.
        seconds: how long it is valid.
        won: told of the device that the link lets in, before anything is awaited.
        void: told when the link is burned.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # what one window is made of
        self,
        window: Window,
        node: NodeSide,
        role: DeviceRole,
        secret: LinkSecret,
        seconds: int,
        won: Callable[[DeviceId], None],
        void: Callable[[], None],
    ) -> None:
        """Open."""
        self._window = window
        self._won = won
        self._void = void
        now = window.parts.clock.now()
        self._pairing = open_pairing(node, role, secret.value, now, seconds=seconds)

    @property
    def expires_at(self) -> float:
        """Wall time, seconds since the epoch."""
        return self._pairing.expires_at

    @property
    def burned(self) -> bool:
        """Whether too many wrong proofs came."""
        return self._pairing.guesses_left == 0

    def taken(self, device_id: DeviceId) -> None:
        """A device was let in by the other way."""
        self._pairing = replace(self._pairing, paired=device_id)

    async def decide(self, attempt: PairAttempt) -> PairAnswer:
        """Answer one attempt. The machine moves before anything is awaited, so two cannot win."""
        parts = self._window.parts
        used = parts.store.link_used(attempt.link_id)
        self._pairing, outcome = step(self._pairing, attempt, parts.clock.now(), used_before=used)
        if not isinstance(outcome, Accepted):
            if isinstance(outcome, WrongProof):
                self._window.refuse("wrong link", outcome.left)
                self._window.tell(WrongGuess(outcome.left))
                if self.burned:
                    self._void()
            raise refusal(outcome)
        self._won(outcome.device.id)
        pairing = self._pairing
        stored = await self._window.admit(outcome.device)
        return answer_to(pairing, attempt, stored)
