"""The process that takes a page apart: hostile HTML never meets the daemon's memory.

It reads one page from its standard input and writes what it says as JSON to standard output. It is
started anew for each page, without an environment, and limits itself before it reads anything.
"""

from __future__ import annotations

import ctypes
import json
import logging
import resource
import signal
import sys
from typing import Final

MOST_CHARS: Final = 2_000_000
"""Of the text it gives."""
CPU_SECONDS: Final = 20
_MEMORY_BYTES: Final = 1 << 30
_FILES: Final = 64
_PR_SET_PDEATHSIG: Final = 1
_MOST_TITLE: Final = 300


def limit() -> None:
    """End with the daemon, and take no more than a page can honestly need."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for kind, most in (
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_AS, _MEMORY_BYTES),
        (resource.RLIMIT_NOFILE, _FILES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        try:
            resource.setrlimit(kind, (most, most))
        except (ValueError, OSError):  # macOS has no limit on address space
            continue


def readable(data: bytes, charset: str) -> tuple[str, str]:
    """Title and text of an HTML page; both empty if there is nothing to read."""
    import trafilatura  # noqa: PLC0415  # after the limits

    page: bytes | str = data
    if charset:
        try:
            page = data.decode(charset, "replace")
        except (LookupError, ValueError):
            page = data
    found = trafilatura.bare_extraction(
        page, include_comments=False, include_links=False, favor_recall=True, with_metadata=True
    )
    if found is None:
        return "", ""
    fields = found if isinstance(found, dict) else found.as_dict()
    return str(fields.get("title") or "")[:_MOST_TITLE], str(fields.get("text") or "")[:MOST_CHARS]


def main() -> None:
    """Read a page, say what it says."""
    limit()
    logging.disable()  # what a page says is nobody's log
    charset = sys.argv[1] if len(sys.argv) > 1 else ""
    title, text = readable(sys.stdin.buffer.read(), charset)
    sys.stdout.write(json.dumps({"title": title, "text": text}))


if __name__ == "__main__":
    main()
