"""gRPC over a unix socket between a resident process and its own command line.

The socket stands in a folder that only its user can enter (`paths.make_private`), and that is the
whole of its protection: gRPC gives no way to ask the kernel who called (SO_PEERCRED). So there is
no TLS on it, and nothing but local services may be served on it.
"""

from __future__ import annotations

import contextlib
import enum
import os
import socket
from typing import TYPE_CHECKING
from urllib.parse import quote

import grpc.aio
from homing_core.errors import ConflictError, UnavailableError, UsageError

from homing_agent.runtime.paths import choose_socket_path, make_private, socket_path

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from homing_agent.runtime.paths import ProgramPaths

_PROBE_S = 2.0
_OPTIONS = (("grpc.enable_http_proxy", 0),)


class SocketState(enum.Enum):
    """What a connect says of a socket's path."""

    ABSENT = "absent"
    """Nothing is there."""
    STALE = "stale"
    """A socket nobody listens on: its program was killed."""
    LIVE = "live"
    """Somebody listens."""


def probe(path: Path) -> SocketState:
    """Whether somebody listens on `path`.

    Raises:
        UsageError: something stands there that is no socket, or the system forbids the look.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
        knock.settimeout(_PROBE_S)
        try:
            knock.connect(str(path))
        except FileNotFoundError:
            return SocketState.ABSENT
        except ConnectionRefusedError as error:
            if path.is_socket():
                return SocketState.STALE
            msg = f"{path} is not a socket"
            raise UsageError(msg, "Move it away and try again.") from error
        except (TimeoutError, BlockingIOError):
            return SocketState.LIVE  # a full queue: somebody listens, and is busy
        except OSError as error:
            msg = f"{path} cannot be reached: {error.strerror or 'the system refused it'}"
            raise UsageError(msg, "Check the data directory's owner and mode.") from error
    return SocketState.LIVE


def add_local_port(server: grpc.aio.Server, paths: ProgramPaths) -> Path:
    """Let `server` listen on the program's local socket; a stale one is removed first.

    Call it while holding the data directory's lock. Returns the socket's path.

    Raises:
        ConflictError: another program listens there.
        UsageError: the socket cannot be made.
    """
    path = choose_socket_path(paths)
    make_private(path.parent)
    match probe(path):
        case SocketState.LIVE:
            msg = f"another program listens on {path}"
            raise ConflictError(msg, "Stop it first, or choose another --data-dir.")
        case SocketState.STALE:
            path.unlink(missing_ok=True)
        case SocketState.ABSENT:
            pass
    try:
        server.add_insecure_port(_target(path))
    except RuntimeError as error:
        msg = f"the local socket {path} cannot be made"
        raise UsageError(msg, "Choose another folder with --data-dir.") from error
    return path


@contextlib.asynccontextmanager
async def open_local_channel(
    paths: ProgramPaths, start_with: str
) -> AsyncGenerator[grpc.aio.Channel]:
    """A channel to the program that runs on a data directory.

    Args:
        paths: the program's places.
        start_with: the command that starts it, for the hint.

    Raises:
        UnavailableError: it does not run.
    """
    path = socket_path(paths)
    if probe(path) is not SocketState.LIVE:
        msg = f"{paths.program} does not run on {paths.data_dir}"
        raise UnavailableError(msg, f"Start it with: {start_with}")
    async with grpc.aio.insecure_channel(_target(path), options=_OPTIONS) as channel:
        yield channel


def _target(path: Path) -> str:
    """The path as gRPC wants it: a URI, in which `%`, `?` and `#` would mean something."""
    return f"unix:{quote(os.fsencode(path))}"
