"""A pairing for scripts: one object a line; answers come from standard input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_agent.runtime.cli import print_json
from homing_agent.runtime.device_words import device_object
from homing_crypto.pairing.code import show_code

from homing_node.cli.pair_asking import ShownPairing
from homing_node.values import Asks, Closed, Opened, Paired, WrongCodeTyped, WrongGuess

if TYPE_CHECKING:
    from homing_core.errors import ConflictError

    from homing_node.values import PairingEvent


class JsonPairing(ShownPairing):
    """See `ShownPairing`."""

    async def show(self, event: PairingEvent) -> None:
        """Print it."""
        match event:
            case Opened():
                print_json(
                    {
                        "event": "opened",
                        "link": event.link,
                        "code": show_code(event.code) if event.code else None,
                        "role": self._role.value,
                        "expires_at": event.expires_at,
                    }
                )
            case WrongGuess():
                print_json({"event": "wrong_guess", "left": event.left})
            case WrongCodeTyped():
                print_json({"event": "wrong_code", "left": event.left})
            case Asks():
                print_json(
                    {
                        "event": "asks",
                        "attempt_id": event.attempt_id,
                        "device_id": event.device_id,
                        "name": event.name,
                        "expires_at": event.expires_at,
                    }
                )
                self.ask(event)
            case Paired():
                print_json({"event": "paired", "device": device_object(event.device)})
            case Closed():
                print_json({"event": "closed", "reason": event.reason})

    async def end(self) -> None:
        """Nothing stands anywhere."""

    def too_late(self, error: ConflictError) -> None:
        """Print it."""
        print_json({"event": "too_late", "what": error.what})
