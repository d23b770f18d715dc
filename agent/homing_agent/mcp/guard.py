"""What a server may send: nothing larger, more intricate or more frequent than this.

A message is checked before it is parsed. Its size alone would not bound what it becomes: three
bytes of `[],` are a list of fifty-six, so what makes new values is counted as well.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

from homing_core.errors import OverloadedError

if TYPE_CHECKING:
    from collections.abc import Callable

_MIB: Final = 1 << 20
_MINUTE: Final = 60.0


@dataclass(frozen=True, slots=True)
class MessageLimits:
    """How much is too much.

    Attributes:
        message_bytes: of one message.
        message_values: commas and brackets of one message; about the values that it becomes.
        garbage_lines: lines in a row that are no message: some servers greet on standard output.
        messages_per_minute: of any kind.
        bytes_per_minute: of any kind.
    """

    message_bytes: int = 16 * _MIB
    message_values: int = 400_000
    garbage_lines: int = 100
    messages_per_minute: int = 20_000
    bytes_per_minute: int = 256 * _MIB


class MessageGuard:
    """Watches what one connection brings in.

    Args:
        limits: what it is held to.
        monotonic: seconds from an arbitrary start.
    """

    def __init__(
        self,
        limits: MessageLimits | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing has come in."""
        self.limits = limits or MessageLimits()
        self._monotonic = monotonic
        self._since = monotonic()
        self._messages = 0
        self._bytes = 0
        self._garbage = 0

    def came(self, count: int) -> None:
        """So many bytes came. Raises `OverloadedError`."""
        self._turn()
        self._bytes += count
        if self._bytes > self.limits.bytes_per_minute:
            _flood(f"sends more than {self.limits.bytes_per_minute // _MIB} MiB a minute")

    def unfinished(self, count: int) -> None:
        """A message has so many bytes so far. Raises `OverloadedError`."""
        if count > self.limits.message_bytes:
            _flood(f"sends messages of more than {self.limits.message_bytes // _MIB} MiB")

    def intricate(self, values: int) -> None:
        """A message has so many commas and brackets. Raises `OverloadedError`."""
        if values > self.limits.message_values:
            _flood(f"sends messages of more than {self.limits.message_values} values")

    def message(self) -> None:
        """A message came. Raises `OverloadedError`."""
        self._turn()
        self._garbage = 0
        self._messages += 1
        if self._messages > self.limits.messages_per_minute:
            _flood(f"sends more than {self.limits.messages_per_minute} messages a minute")

    def garbage(self) -> None:
        """Something came that is no message. Raises `OverloadedError`."""
        self._garbage += 1
        if self._garbage > self.limits.garbage_lines:
            _flood("prints what is not MCP on its standard output")

    def _turn(self) -> None:
        now = self._monotonic()
        if now - self._since >= _MINUTE:
            self._since = now
            self._messages = self._bytes = 0


def values_in(message: bytes | bytearray) -> int:
    """About how many values a JSON text becomes."""
    return message.count(b",") + message.count(b"[") + message.count(b"{")


def _flood(what: str) -> NoReturn:
    msg = f"it {what}"
    raise OverloadedError(msg, "Look for another version of it.")
