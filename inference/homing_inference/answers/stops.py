"""Strings at which an answer ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class StopWatch:
    """Looks for strings at which an answer ends, and keeps back what could become one.

    Args:
        stops: the strings; empty ones are ignored.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        """Nothing is held back."""
        self._stops = tuple(stop for stop in stops if stop)
        self._held = ""

    def feed(self, text: str) -> tuple[str, str | None]:
        """What may be passed on, and the stop string that ended the answer, if one did."""
        whole = self._held + text
        found = min(
            ((place, stop) for stop in self._stops if (place := whole.find(stop)) >= 0),
            default=None,
        )
        if found is not None:
            self._held = ""
            return whole[: found[0]], found[1]
        kept = max((_overlap(whole, stop) for stop in self._stops), default=0)
        self._held = whole[len(whole) - kept :]
        return whole[: len(whole) - kept], None

    def finish(self) -> str:
        """What was held back; it did not become a stop string."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that is a true beginning of `stop`."""
    for length in range(min(len(text), len(stop) - 1), 0, -1):
        if stop.startswith(text[-length:]):
            return length
    return 0
