"""Asking whether a device that knows the code may come in, while the pairing goes on."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from homing_core.errors import ConflictError

from homing_node.cli.answers import is_yes, read_line
from homing_node.values import CodeOffer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from homing_core.access import DeviceRole

    from homing_node.rpc.control_client import ControlClient
    from homing_node.values import Asks, PairingEvent


class ShownPairing(ABC):
    """A pairing as one kind of reader sees it.

    Args:
        daemon: opens it.
        role: for the new device.
    """

    def __init__(self, daemon: ControlClient, role: DeviceRole) -> None:
        """Nothing is open yet."""
        self._daemon = daemon
        self._role = role
        self._offer = CodeOffer.NONE
        self._asking: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def events(
        self, seconds: int, offer: CodeOffer
    ) -> AsyncGenerator[AsyncIterator[PairingEvent]]:
        """What happens, for the length of a block; a question ends with it."""
        self._offer = offer
        async with contextlib.aclosing(self._daemon.pair(self._role, seconds, offer)) as events:
            try:
                yield events
            finally:
                await self._no_question()
                await self.end()

    @abstractmethod
    async def show(self, event: PairingEvent) -> None:
        """Show what happened."""

    @abstractmethod
    async def end(self) -> None:
        """Take down whatever stands on the screen."""

    @abstractmethod
    def too_late(self, error: ConflictError) -> None:
        """The question was void before it was answered."""

    def ask(self, event: Asks) -> None:
        """Read the answer and send it, while events go on."""
        self._asking = asyncio.create_task(self._answer(event))

    async def _answer(self, event: Asks) -> None:
        allow = is_yes(await read_line())
        try:
            await self._daemon.decide(event.attempt_id, allow=allow)
        except ConflictError as error:
            self.too_late(error)

    async def _no_question(self) -> None:
        asking, self._asking = self._asking, None
        if asking is not None:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
