"""One generation's numbered events, kept until the reader has them for good."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from homing_core.canonical import canonical_json
from homing_core.errors import ConflictError, InvalidDataError
from homing_core.generation import (
    Failed,
    Numbered,
    Sampled,
    TextDelta,
    ThinkingDelta,
    TokenLogprobs,
    ToolCallEvent,
    ToolNamed,
)

if TYPE_CHECKING:
    from homing_core.generation import GenerationEvent
    from homing_core.ids import DeviceId, GenerationId

_OVERHEAD_BYTES = 200
"""What an event costs in memory besides its text."""
_ENTRY_BYTES = 100
"""What a token or a name with its probability costs besides its text."""


class EventLog:
    """Events 1, 2, 3, … of one generation; those that were acknowledged are forgotten.

    Args:
        device: who asked.
        id: the generation.
        digest: of what was asked.

    Attributes:
        acked: the highest number that the reader has for good.
        last_seq: the highest number so far; 0 for none.
        ended: whether nothing follows.
        ended_at: monotonic seconds at which it ended; meaningful once it has.
        size_bytes: about what its events take in memory.
        last: the last event of an ended generation; None before.
    """

    def __init__(self, device: DeviceId, id: GenerationId, digest: str) -> None:  # noqa: A002  # its name everywhere
        """Start empty."""
        self.device = device
        self.id = id
        self.digest = digest
        self.acked = 0
        self.last_seq = 0
        self.ended = False
        self.ended_at = 0.0
        self.size_bytes = 0
        self.last: GenerationEvent | None = None
        self._kept: list[Numbered] = []
        self._changed = asyncio.Event()

    def append(self, event: GenerationEvent) -> None:
        """Give the next event its number. After the end it is dropped."""
        if self.ended:
            return
        self.last_seq += 1
        numbered = Numbered(self.last_seq, event)
        self._kept.append(numbered)
        self.size_bytes += event_bytes(event)
        self.ended = numbered.final
        self.last = event if numbered.final else None
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def after(self, seq: int) -> tuple[Numbered, ...]:
        """Exactly what follows `seq`, as far as it is known.

        Raises:
            InvalidDataError: `seq` is beyond the last event.
            ConflictError: some of what follows was acknowledged, and so forgotten.
        """
        if seq > self.last_seq:
            msg = f"event {seq} does not exist; the last is {self.last_seq}"
            raise InvalidDataError(msg, "Resume after the highest number that arrived.")
        if seq < self.acked:
            msg = f"events up to {self.acked} were acknowledged and are no longer kept"
            raise ConflictError(msg, f"Resume after {self.acked}.")
        return tuple(self._kept[seq - self.acked :])

    def ack(self, up_to: int) -> None:
        """Forget events up to a number. An older or repeated acknowledgement changes nothing.

        Raises:
            InvalidDataError: the number is beyond the last event.
        """
        if up_to > self.last_seq:
            msg = f"event {up_to} cannot be acknowledged; the last is {self.last_seq}"
            raise InvalidDataError(msg, "Acknowledge the highest number that was stored.")
        count = max(up_to - self.acked, 0)
        self.size_bytes -= sum(event_bytes(item.event) for item in self._kept[:count])
        self.acked += count
        del self._kept[:count]

    @property
    def delivered(self) -> bool:
        """Whether it ended and its reader has all of it."""
        return self.ended and self.acked == self.last_seq

    @property
    def changed(self) -> asyncio.Event:
        """Set at the next event. Take it before `after`, so that nothing slips between."""
        return self._changed


def event_bytes(event: GenerationEvent) -> int:
    """About what an event takes in memory."""
    match event:
        case TextDelta() | ThinkingDelta():
            return _OVERHEAD_BYTES + len(event.text)
        case ToolCallEvent() | ToolNamed():
            return _OVERHEAD_BYTES + _call_bytes(event)
        case TokenLogprobs():
            return _OVERHEAD_BYTES + sum(
                _ENTRY_BYTES * (1 + len(token.top))
                + len(token.text)
                + sum(len(text) for text, _ in token.top)
                for token in event.tokens
            )
        case Failed():
            return _OVERHEAD_BYTES + len(event.what) + len(event.hint)
        case Sampled():
            return _OVERHEAD_BYTES + event_bytes(event.event)
        case _:
            return _OVERHEAD_BYTES


def _call_bytes(event: ToolCallEvent | ToolNamed) -> int:
    names = () if event.signals is None else event.signals.names
    held = sum(_ENTRY_BYTES + len(name.name) for name in names)
    if isinstance(event, ToolNamed):
        return len(event.name) + held
    return len(event.call.name) + len(canonical_json(event.call.arguments)) + held
