"""What can come of a pairing attempt at the node, and how the device is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from homing_core.errors import ConflictError, HomingError, RefusedError

if TYPE_CHECKING:
    from homing_crypto.devices import PairedDevice


@dataclass(frozen=True, slots=True)
class Accepted:
    """The proof is right. Store the device, then send `answer_to` what was stored.

    Attributes:
        device: to be given to `TrustStore.add` with the link's id.
        again: whether this device was let in before and only asks again.
    """

    device: PairedDevice
    again: bool


@dataclass(frozen=True, slots=True)
class WrongProof:
    """The proof is wrong; `left` guesses remain, and with 0 the pairing is burned."""

    left: int


@dataclass(frozen=True, slots=True)
class AlreadyUsed:
    """The link has paired another device."""


@dataclass(frozen=True, slots=True)
class Expired:
    """The deadline has passed."""


@dataclass(frozen=True, slots=True)
class Burned:
    """Too many wrong proofs came before."""


Outcome: TypeAlias = Accepted | WrongProof | AlreadyUsed | Expired | Burned


def refusal(outcome: WrongProof | AlreadyUsed | Expired | Burned) -> HomingError:
    """The error that says so to the device."""
    match outcome:
        case WrongProof(left=0) | Burned():
            return RefusedError(
                "too many wrong attempts: this pairing is closed",
                "Open a new one on the node: homing-node pair.",
            )
        case WrongProof():
            return RefusedError(
                "the pairing link is not the one that is open", "Scan the code again."
            )
        case AlreadyUsed():
            return ConflictError(
                "this pairing link was already used",
                "Ask for a new one on the node: homing-node pair.",
            )
        case Expired():
            return RefusedError(
                "this pairing link has expired",
                "Ask for a new one on the node: homing-node pair.",
            )
