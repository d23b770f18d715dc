"""What the daemon tells its own command line, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from homing_core.access import DeviceRole, Scope
    from homing_core.nodes import NodeLoad, ServedModel


@dataclass(frozen=True, slots=True)
class DeviceView:
    """A paired device. Times are wall time at the node, seconds since the epoch; 0 for never.

    Attributes:
        id: its device id.
        name: for people; cleaned.
        role: what it is.
        scopes: what it may do.
        paired_at: when it was paired.
        last_seen_at: when it last called.
        introduced_by: device id of the node that vouches for it; empty if paired here.
    """

    id: str
    name: str
    role: DeviceRole
    scopes: frozenset[Scope]
    paired_at: int
    last_seen_at: int
    introduced_by: str = ""


@dataclass(frozen=True, slots=True)
class DaemonView:
    """How a daemon is.

    Attributes:
        version: Homing's.
        pid: process id.
        node_id: device id of the node.
        name: for people.
        addresses: of the main port, `host:port`, best first.
        models: what it serves.
        load: how busy it is.
    """

    version: str
    pid: int
    node_id: str
    name: str
    addresses: tuple[str, ...]
    models: tuple[ServedModel, ...]
    load: NodeLoad


@dataclass(frozen=True, slots=True)
class Opened:
    """The pairing server is open.

    Attributes:
        link: to show; a secret until it is used.
        expires_at: when it closes, seconds since the epoch.
    """

    link: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class WrongGuess:
    """Somebody did not know the secret.

    Attributes:
        left: guesses left.
    """

    left: int


@dataclass(frozen=True, slots=True)
class Paired:
    """A device was paired; the pairing server is closed.

    Attributes:
        device: the device.
    """

    device: DeviceView


@dataclass(frozen=True, slots=True)
class Closed:
    """The pairing server closed without a device.

    Attributes:
        reason: why, for people.
    """

    reason: str


PairingEvent: TypeAlias = Opened | WrongGuess | Paired | Closed
