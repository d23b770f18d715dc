"""The child process in which documents are parsed: `python -m homing_agent.documents.worker`.

It is given a socket's number and the fields of `ReadLimits` in JSON. Each task comes over the
socket as a frame of `messages` with the open file beside it; each is answered in a frame. The
process leaves when the socket closes.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from homing_core.errors import HomingError
from homing_proto.frames import FrameReader, frame

from homing_agent.documents import confine
from homing_agent.documents.limits import ReadLimits
from homing_agent.documents.messages import decode_task, encode_extract
from homing_agent.documents.reading import read

if TYPE_CHECKING:
    from homing_agent.documents.messages import Extract

EXIT_USAGE: Final = 2
EXIT_MALFORMED: Final = 65
_READ_BYTES: Final = 1 << 12
_MOST_TASK: Final = 1 << 12


def serve(connection: socket.socket, limits: ReadLimits) -> int:
    """Do tasks until the other side hangs up; gives the exit status."""
    frames = FrameReader(_MOST_TASK)
    files: list[int] = []
    while True:
        data, descriptors, _, _ = socket.recv_fds(connection, _READ_BYTES, 1)
        files.extend(descriptors)
        if not data:
            return 0
        for content in frames.feed(data):
            if not files:
                return EXIT_MALFORMED
            extract = _read(content, files.pop(0), limits)
            connection.sendall(frame(encode_extract(extract)))
            if extract.leaving:
                return 0


def _read(content: bytes, descriptor: int, limits: ReadLimits) -> Extract:
    task = decode_task(content)
    confine.allow_computing(limits.cpu_seconds)
    with os.fdopen(descriptor, "rb") as file:
        extract = read(task, file, limits)
    tired = confine.resident_bytes() > limits.tired_bytes or "memory" in extract.problem
    return replace(extract, leaving=True) if tired else extract


def main() -> None:
    """Start from the command line."""
    confine.die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the daemon, which then hangs up
    logging.disable()  # the libraries would quote documents
    sys.modules["numpy"] = None  # type: ignore[assignment]  # openpyxl can do without, in a third
    try:
        connection = socket.socket(fileno=int(sys.argv[1]))
        limits = ReadLimits(**json.loads(sys.argv[2]))
    except (IndexError, ValueError, TypeError, OSError):
        sys.stderr.write("a reader of documents is started by a daemon, with a socket and limits\n")
        sys.exit(EXIT_USAGE)
    confine.confine(limits)
    try:
        sys.exit(serve(connection, limits))
    except (HomingError, OSError):
        sys.exit(EXIT_MALFORMED)


if __name__ == "__main__":
    main()
