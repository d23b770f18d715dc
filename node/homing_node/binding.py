"""Opening a TCP port for gRPC, with words a person can use when that fails."""

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


def explain(host: str, port: int, key: str) -> HomingError:
    """Why a port cannot be listened on: gRPC does not say, so the system is asked once more."""
    other = f"Choose another port with {key}, or stop the program that uses it."
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except socket.gaierror:
        return UsageError(f"{host} is not an address", "Name an address of this machine.")
    except OSError as error:
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
    return ConflictError(f"port {port} was in use a moment ago", other)


def _target(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
