"""The part of the node's configuration about who may connect, and how."""

from __future__ import annotations

from dataclasses import dataclass

_POST_QUANTUM = ("required", "preferred")


@dataclass(frozen=True, slots=True)
class DoorSection:
    """`[door]`: the process before the main port, which keeps strangers from taking all there is.

    Attributes:
        enabled: have one; otherwise gRPC itself listens.
        waiting: connections that may be waiting for their first words or their turn.
        waiting_per_address: the same for one address, or one /64 of IPv6.
        unproven: connections with a handshake, done or not, and no call of a paired device yet.
        unproven_per_address: the same for one address.
        per_device: connections of one paired device.
        hello_seconds: within which a connection must have greeted.
        proof_seconds: within which a paired device must have made a call.
    """

    enabled: bool = True
    waiting: int = 1024
    waiting_per_address: int = 256
    unproven: int = 128
    unproven_per_address: int = 64
    per_device: int = 32
    hello_seconds: float = 3.0
    proof_seconds: float = 10.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        for key, most in (
            ("waiting", 8192),
            ("waiting_per_address", 8192),
            ("unproven", 128),
            ("unproven_per_address", 128),
            ("per_device", 256),
        ):
            if not 1 <= getattr(self, key) <= most:
                msg = f"door.{key} is not between 1 and {most:,}"
                raise ValueError(msg)
        for whole in ("waiting", "unproven"):
            part = f"{whole}_per_address"
            if getattr(self, part) > getattr(self, whole):
                msg = (
                    f"door.{part} ({getattr(self, part)}) is above door.{whole} "
                    f"({getattr(self, whole)})"
                )
                raise ValueError(msg)
        for key in ("hello_seconds", "proof_seconds"):
            if not 0.1 <= getattr(self, key) <= 120:  # noqa: PLR2004  # two minutes
                msg = f"door.{key} is not between 0.1 and 120"
                raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class SecuritySection:
    """`[security]`: the floor of every connection to the main port, on top of TLS 1.3.

    Attributes:
        post_quantum: `required` refuses callers without the hybrid key exchange X25519MLKEM768;
            `preferred` lets them in.
    """

    post_quantum: str = "required"

    def __post_init__(self) -> None:
        """Check the word."""
        if self.post_quantum not in _POST_QUANTUM:
            msg = f"security.post_quantum is none of {', '.join(_POST_QUANTUM)}"
            raise ValueError(msg)
