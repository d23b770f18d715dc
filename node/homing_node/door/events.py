"""What happens at the door, what it does about it, and its limits. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from homing_node.door.floor import Reason


@dataclass(frozen=True, slots=True)
class Caps:
    """Limits.

    Attributes:
        outside: connections that wait for their ClientHello or their turn.
        outside_each: the same for one address (IPv4) or one /64 (IPv6).
        inside: connections that gRPC knows and that have proved nothing yet.
        inside_each: the same for one address.
        proven: connections of paired devices.
        proven_each: the same for one device.
        handshakes: first answers that gRPC computes at once. Each takes a core a millisecond or
            two, so more are no faster and would only make a newcomer wait for all of them; and
            gRPC does not stand several beginning at the very moment at which the trust store
            changes (`homing_crypto.credentials`).
        answer_s: seconds after which an answer is not waited for any more.
        hello_s: seconds within which a ClientHello must be complete.
        turn_s: seconds that a complete one waits for its turn.
        proof_s: seconds from its turn within which a call must have been allowed.
    """

    outside: int = 1024
    outside_each: int = 256
    inside: int = 128
    inside_each: int = 64
    proven: int = 256
    proven_each: int = 32
    handshakes: int = 1
    answer_s: float = 1.0
    hello_s: float = 3.0
    turn_s: float = 10.0
    proof_s: float = 10.0


@dataclass(frozen=True, slots=True)
class Arrived:
    """A connection was accepted. `household` is what shares limits with it."""

    number: int
    household: bytes


@dataclass(frozen=True, slots=True)
class Greeted:
    """Its ClientHello is complete and good."""

    number: int


@dataclass(frozen=True, slots=True)
class Answered:
    """GRPC has answered its ClientHello, or cannot be reached for it."""

    number: int


@dataclass(frozen=True, slots=True)
class Proved:
    """The node allowed a call on it, from this device."""

    number: int
    device: str


@dataclass(frozen=True, slots=True)
class Left:
    """It is gone."""

    number: int


@dataclass(frozen=True, slots=True)
class Expelled:
    """A device was shut out."""

    device: str


@dataclass(frozen=True, slots=True)
class Dismissed:
    """The node wants nothing more of this one connection."""

    number: int


@dataclass(frozen=True, slots=True)
class TimePassed:
    """Look at the deadlines."""


Event: TypeAlias = Arrived | Greeted | Answered | Proved | Left | Expelled | Dismissed | TimePassed


@dataclass(frozen=True, slots=True)
class Drop:
    """End a connection."""

    number: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Dial:
    """Connect it to gRPC."""

    number: int


Action: TypeAlias = Drop | Dial
