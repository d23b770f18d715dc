"""What an answer took: the server's counts where it gives them, estimates where it does not."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Final

from homing_core.generation import Usage

if TYPE_CHECKING:
    from homing_inference.upstream.body import Body
    from homing_inference.upstream.chunks import Counts

_CHARACTERS_A_TOKEN: Final = 4
"""Of English text; an estimate where a server does not count."""


def estimated_tokens(body: Body) -> int:
    """About how many tokens messages and tools take."""
    content = [body.get("messages"), body.get("tools") or ""]
    return len(json.dumps(content, ensure_ascii=False)) // _CHARACTERS_A_TOKEN


class Tally:
    """Counts and times of one generation, over all its requests."""

    def __init__(self) -> None:
        """Nothing was sent."""
        self._sent_at = time.monotonic()
        self._first_at = 0.0
        self._last_at = 0.0
        self._estimate = 0
        self._prompt = 0
        self._cached = 0
        self._completion = 0
        self._pieces = 0
        self._beside: Counts | None = None
        self._whole = 0
        self._whole_pieces = 0

    def sending(self, body: Body) -> None:
        """A request goes out."""
        if not self._estimate:
            self._sent_at = time.monotonic()
            self._estimate = estimated_tokens(body)
        self._whole, self._whole_pieces, self._beside = 0, 0, None

    def piece(self) -> None:
        """A piece came in."""
        self._last_at = time.monotonic()
        self._first_at = self._first_at or self._last_at
        self._whole_pieces += 1

    def counted(self, counts: Counts) -> None:
        """The server counted.

        Counts beside a piece grow with each; counts that stand alone are for a whole answer, of
        which llama-server sends one for each of several.
        """
        self._prompt = max(self._prompt, counts.prompt)
        self._cached = self._cached or counts.cached
        if counts.whole:
            self._whole += counts.completion
        else:
            self._beside = counts

    def received(self) -> None:
        """The request is over; its tokens are added up."""
        beside = self._beside.completion if self._beside else 0
        self._completion += self._whole or beside or self._whole_pieces
        self._pieces += self._whole_pieces
        self._whole, self._whole_pieces, self._beside = 0, 0, None

    def usage(self) -> Usage:
        """What it took so far."""
        now = time.monotonic()
        first = self._first_at or now
        beside = self._beside.completion if self._beside else 0
        return Usage(
            prompt_tokens=self._prompt or self._estimate,
            cached_tokens=self._cached,
            completion_tokens=self._completion + (self._whole or beside or self._whole_pieces),
            prefill_ms=(first - self._sent_at) * 1000,
            decode_ms=max(self._last_at - first, 0.0) * 1000,
        )
