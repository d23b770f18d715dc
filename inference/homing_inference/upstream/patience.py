"""How long one generation waits for a server."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from homing_core.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


class Patience:
    """A deadline over several waits.

    Args:
        deadline_ms: for all of them together, from now on; 0 is none.
    """

    def __init__(self, deadline_ms: int = 0) -> None:
        """The clock starts."""
        self._deadline_ms = deadline_ms
        self._ends = time.monotonic() + deadline_ms / 1000 if deadline_ms > 0 else None
        self._hurries: float | None = None

    def hurry(self, seconds: float | None) -> None:
        """Until told otherwise, let each further wait take no longer than this."""
        self._hurries = seconds

    @asynccontextmanager
    async def within(self, seconds: float | None, what: str) -> AsyncGenerator[None]:
        """Bound one wait.

        Args:
            seconds: for this wait; None has only the deadline.
            what: what an error says did not happen in time.

        Raises:
            UnavailableError: it took longer, or the deadline came.
        """
        left = None if self._ends is None else self._ends - time.monotonic()
        limits = [limit for limit in (seconds, left, self._hurries) if limit is not None]
        try:
            async with asyncio.timeout(min(limits, default=None)):
                yield
        except TimeoutError:
            if left is not None and (seconds is None or left <= seconds):
                msg = f"the answer was not complete after {self._deadline_ms} ms"
                hint = "Allow more time, or ask for a shorter answer."
                raise UnavailableError(msg, hint) from None
            msg = f"{what} within {seconds:g} s"
            raise UnavailableError(msg, "Try again; the server may be busy.") from None
