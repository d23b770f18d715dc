"""A connection to gRPC that says who it is for."""

from __future__ import annotations

import socket
from pathlib import Path

from homing_node.door.names import SOCKET


def dial_as(name: str) -> socket.socket:
    """A connection to gRPC in the current folder whose own end has this name.

    The folder is the current one, so that no path is too long for a socket (107 bytes). The name is
    taken away at once: gRPC has seen it.

    Raises:
        OSError: gRPC takes no connection.
    """
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.setblocking(False)  # noqa: FBT003  # the method takes nothing else
        made.bind(name)
        made.connect(SOCKET)
    except BaseException:
        made.close()
        raise
    finally:
        Path(name).unlink(missing_ok=True)
    return made
