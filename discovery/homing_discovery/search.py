"""Looking around once: who is there now?"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homing_discovery.boundaries import Browser
    from homing_discovery.hints import Hint

SEARCH_S = 5.0
"""Longest search, in seconds."""
SETTLE_S = 1.0
"""How long the others have to be heard once one was, in seconds."""


async def search(
    browser: Browser, most_s: float = SEARCH_S, settle_s: float = SETTLE_S
) -> tuple[Hint, ...]:
    """Everybody who is heard, newest first; none after `most_s` seconds of silence.

    Args:
        browser: not yet started; it is closed at the end.
        most_s: how long to wait for the first, in seconds.
        settle_s: how long to wait for more, in seconds.

    Raises:
        UnavailableError: multicast is not possible here.
    """
    try:
        await browser.start()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(most_s), contextlib.aclosing(browser.watch()) as heard:
                await anext(heard, None)
        if browser.hints():
            await asyncio.sleep(settle_s)
        return browser.hints()
    finally:
        await browser.close()
