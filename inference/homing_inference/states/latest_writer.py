"""A thread that writes prefixes, so that answers do not wait for a disk."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_inference.states.prefixes import Prefix

_MOST_WAITING: Final = 2
"""Each may be 100 MB large."""
_CLOSE_S: Final = 10.0


class LatestWriter:
    """Writes one prefix after the other; when too many wait, the oldest is left out.

    Args:
        write: writes the prefix of a key. Called in the thread; must not raise.
    """

    def __init__(self, write: Callable[[str, Prefix], None]) -> None:
        """The thread starts with the first prefix."""
        self._write = write
        self._changed: Final = threading.Condition()
        self._waiting: OrderedDict[str, Prefix] = OrderedDict()
        """The one that is being written included, so that it can be had meanwhile."""
        self._thread: threading.Thread | None = None
        self._closed = False

    def put(self, key: str, prefix: Prefix) -> None:
        """Have it written soon."""
        with self._changed:
            if self._closed:
                return
            self._waiting[key] = prefix
            self._waiting.move_to_end(key)
            while len(self._waiting) > _MOST_WAITING:
                self._waiting.popitem(last=False)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="prefix-writer", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def waiting(self, key: str) -> Prefix | None:
        """The prefix of this key, if it is not written yet."""
        with self._changed:
            return self._waiting.get(key)

    def flush(self, timeout_s: float) -> bool:
        """Wait until nothing waits; whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting, timeout_s)

    def close(self, timeout_s: float = _CLOSE_S) -> bool:
        """Write what waits and end the thread; whether it has ended."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is None:
            return True
        thread.join(max(deadline - time.monotonic(), 0.0))
        return not thread.is_alive()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    return
                # The latest first: it is the one that is in use.
                key, prefix = next(reversed(self._waiting.items()))
            try:
                self._write(key, prefix)
            finally:
                with self._changed:
                    if self._waiting.get(key) is prefix:
                        del self._waiting[key]
                    self._changed.notify_all()
