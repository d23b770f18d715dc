"""What a server prints on standard error: kept and logged within limits.

Before its first call a server knows nothing of what people ask; from then on its words may repeat
it, so they are only counted.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from homing_core.labels import clean_label

from homing_agent.runtime.logs import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_LINE_BYTES: Final = 2048
_MOST_LINE_CHARS: Final = 200
_LOGGED_LINES: Final = 20
_KEPT_LINES: Final = 5
_SHORTEST_SECRET: Final = 6
_log = get_logger(__name__)


class StderrTail:
    """The last lines of one run of a server.

    Args:
        server: its name.
        secrets: texts that must not be repeated, such as the values that its environment was given.
    """

    def __init__(self, server: str, secrets: Iterable[str] = ()) -> None:
        """Nothing has been printed."""
        self._server = server
        self._secrets = tuple(text for text in secrets if len(text) >= _SHORTEST_SECRET)
        self._kept: deque[str] = deque(maxlen=_KEPT_LINES)
        self._unfinished = b""
        self._logged = 0
        self._hushed = False
        self.bytes = 0

    @property
    def last(self) -> str:
        """The last line, for a person; empty if there is none or it might repeat what was asked."""
        return "" if self._hushed or not self._kept else self._kept[-1]

    def hush(self) -> None:
        """A call is about to be made: from now on only count."""
        self._hushed = True
        self._kept.clear()

    def feed(self, data: bytes) -> None:
        """It printed this."""
        self.bytes += len(data)
        if self._hushed:
            return
        *lines, rest = (self._unfinished + data).split(b"\n")
        self._unfinished = rest[:_MOST_LINE_BYTES]
        for line in lines[-_LOGGED_LINES:]:
            self._take(line)

    def finish(self) -> None:
        """It will print no more."""
        if self._unfinished:
            self._take(self._unfinished)
            self._unfinished = b""

    def _take(self, line: bytes) -> None:
        if self._hushed:
            return
        text = line[:_MOST_LINE_BYTES].decode("utf-8", "replace")
        for secret in self._secrets:
            text = text.replace(secret, "…")
        clean = clean_label(text, _MOST_LINE_CHARS, "")
        if not clean:
            return
        self._kept.append(clean)
        if self._logged < _LOGGED_LINES:
            self._logged += 1
            _log.info("mcp.stderr", name=self._server, what=clean)
