"""Structured calls, put together from their pieces. No I/O."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from homing_core.errors import InvalidDataError
from homing_core.generation import TextDelta, ToolCallEvent
from homing_core.ids import new_tool_call_id
from homing_core.tools import ToolCall

from homing_inference.formats.values import as_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.canonical import JsonObject

    from homing_inference.upstream.chunks import CallPiece

MAX_CALLS: Final = 64
MAX_CALL_CHARS: Final = 256 * 1024
"""Of the arguments of one call."""
_MAX_NAME: Final = 256


class CallPieces:
    """The calls of one answer."""

    def __init__(self) -> None:
        """None yet."""
        self._names: dict[int, str] = {}
        self._current: dict[int, tuple[str, int]] = {}
        """For each of the server's numbers: the call's id there, and its place here."""
        self._arguments: dict[int, list[str]] = {}
        self._lengths: dict[int, int] = {}

    def add(self, pieces: Sequence[CallPiece]) -> None:
        """Take more pieces.

        Raises:
            InvalidDataError: there are too many calls, or one is far too long.
        """
        for piece in pieces:
            place = self._place(piece)
            name = self._names.get(place, "")
            # Some servers repeat the whole name with each piece, others split it.
            self._names[place] = name if piece.name == name else name + piece.name
            self._arguments.setdefault(place, []).append(piece.arguments)
            length = self._lengths.get(place, 0) + len(piece.arguments)
            self._lengths[place] = length
            if place >= MAX_CALLS or length > MAX_CALL_CHARS or len(self._names[place]) > _MAX_NAME:
                msg = "the model server's answer holds calls without end"
                raise InvalidDataError(msg, "Ask again, or offer fewer tools.")

    def _place(self, piece: CallPiece) -> int:
        """Where a piece belongs: some servers give every call the number 0, but ids of its own."""
        known, place = self._current.get(piece.slot, ("", -1))
        if place < 0 or (piece.id and known and piece.id != known):
            place = len(self._names)
        self._current[piece.slot] = (piece.id or known, place)
        return place

    def finish(self, *, allowed: bool, complete: bool) -> list[ToolCallEvent | TextDelta]:
        """The calls, in order; what cannot be read as a call is text, so that no word is lost.

        Args:
            allowed: whether calls may be made; otherwise all of it is text.
            complete: whether the model ended its turn; otherwise a call without arguments may
                have been cut off before them, and is text.
        """
        events: list[ToolCallEvent | TextDelta] = []
        for place, name in self._names.items():
            written = "".join(self._arguments[place])
            readable = allowed and bool(name) and (complete or bool(written.strip()))
            events.append(_event(name, written, as_arguments(written) if readable else None))
        return events


def _event(name: str, written: str, arguments: JsonObject | None) -> ToolCallEvent | TextDelta:
    if arguments is None:
        return TextDelta(f'{{"name": {json.dumps(name)}, "arguments": {written}}}')
    return ToolCallEvent(ToolCall(new_tool_call_id(), name, arguments))
