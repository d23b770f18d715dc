"""Opening a TCP port, by ourselves or by gRPC, with words a person can use when that fails."""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING

from homing_core.errors import ConflictError, HomingError, UsageError

if TYPE_CHECKING:
    import grpc.aio

IPV4_ANY = "0.0.0.0"  # noqa: S104  # a home node is there to be reached
ANY_HOSTS = ("::", IPV4_ANY)
"""All addresses: both families where the machine has them, else IPv4 alone."""
BACKLOG = 1024
"""Connections that may wait to be accepted; the system may allow fewer."""


def bind_tls(
    server: grpc.aio.Server, host: str, port: int, credentials: grpc.ServerCredentials, key: str
) -> int:
    """Let `server` listen on a TCP port; the port it got.

    Args:
        server: not yet started.
        host: address to listen on; empty means all.
        port: TCP port; 0 lets the system choose.
        credentials: TLS.
        key: name of the option that chose the port, for the hint.

    Raises:
        ConflictError: the port is in use.
        UsageError: the address is not this machine's, or the port needs more rights.
    """
    hosts = (host,) if host else ANY_HOSTS
    for candidate in hosts:
        try:
            bound = server.add_secure_port(_target(candidate, port), credentials)
        except RuntimeError:
            continue
        if bound:
            return bound
    raise explain(hosts[-1], port, key)


def listen(host: str, port: int, key: str) -> tuple[socket.socket, int]:
    """Listen on a TCP port; the socket, and the port it got.

    Callers may connect from now on; they wait until somebody accepts.

    Args:
        host: address to listen on; empty means all, of both families where there are both.
        port: TCP port; 0 lets the system choose.
        key: name of the option that chose the port, for the hint.

    Raises:
        ConflictError: the port is in use.
        UsageError: the address is not this machine's, or the port needs more rights.
    """
    failed: HomingError | None = None
    for candidate in (host,) if host else ANY_HOSTS:
        try:
            made = _listening(candidate, port)
        except OSError as error:
            failed = _explained(error, candidate, port, key)
        else:
            return made, int(made.getsockname()[1])
    raise failed or explain(host, port, key)


def explain(host: str, port: int, key: str) -> HomingError:
    """Why a port cannot be listened on: gRPC does not say, so the system is asked once more."""
    try:
        _listening(host, port).close()
    except OSError as error:
        return _explained(error, host, port, key)
    other = f"Choose another port with {key}, or stop the program that uses it."
    return ConflictError(f"port {port} was in use a moment ago", other)


def _listening(host: str, port: int) -> socket.socket:
    """Raises `OSError`."""
    family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    made = socket.socket(family, kind)
    try:
        # Otherwise a node that was restarted would find its port taken by its own old connections.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, host != ANY_HOSTS[0])
        made.bind(address)
        made.listen(BACKLOG)
    except BaseException:
        made.close()
        raise
    return made


def _explained(error: OSError, host: str, port: int, key: str) -> HomingError:
    other = f"Choose another port with {key}, or stop the program that uses it."
    if isinstance(error, socket.gaierror):
        return UsageError(f"{host} is not an address", "Name an address of this machine.")
    match error.errno:
        case errno.EADDRINUSE:
            return ConflictError(f"port {port} is in use", other)
        case errno.EACCES:
            return UsageError(f"port {port} needs more rights", "Choose one above 1023.")
        case errno.EADDRNOTAVAIL:
            hint = "Name one that it has, or leave it out to listen on all."
            return UsageError(f"this machine has no address {host}", hint)
        case _:
            said = os.strerror(error.errno) if error.errno else "the system refused it"
            return UsageError(f"{_target(host, port)} cannot be listened on: {said}", other)


def _target(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
