"""What can come of a phone's steps in a pairing by code, and how the phone is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from homing_core.errors import ConflictError, HomingError, NotFoundError, RefusedError

if TYPE_CHECKING:
    from homing_crypto.devices import PairedDevice
    from homing_crypto.pairing.code_proof import Recognition

_ANOTHER = "Ask for a new code on the node: homing-node pair."


@dataclass(frozen=True, slots=True)
class Recognised:
    """The phone knows the code. A person is asked, unless it was asked before.

    Attributes:
        device: what would be let in.
        recognition: what to send.
        again: whether this phone had come so far before and only asks again.
    """

    device: PairedDevice
    recognition: Recognition
    again: bool


@dataclass(frozen=True, slots=True)
class Waiting:
    """The person has not answered yet."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """The person said yes. Store the device, then send `entry_for` what was stored."""

    device: PairedDevice


@dataclass(frozen=True, slots=True)
class WrongCode:
    """The phone does not know the code; `left` guesses remain, and with 0 the code is burned."""

    left: int


@dataclass(frozen=True, slots=True)
class CodeBurned:
    """Too many wrong codes came before."""


@dataclass(frozen=True, slots=True)
class CodeTaken:
    """Another device came first."""


@dataclass(frozen=True, slots=True)
class CodeExpired:
    """The time is over."""


@dataclass(frozen=True, slots=True)
class CodeDeclined:
    """The person at the node said no."""


@dataclass(frozen=True, slots=True)
class StartAgain:
    """This window knows no such attempt."""


CodeRefusal: TypeAlias = (
    WrongCode | CodeBurned | CodeTaken | CodeExpired | CodeDeclined | StartAgain
)


def code_refusal(outcome: CodeRefusal) -> HomingError:
    """The error that says so to the phone."""
    match outcome:
        case WrongCode(left=0) | CodeBurned():
            return RefusedError("too many wrong codes: this code is void", _ANOTHER)
        case WrongCode(left=left):
            tries = "one try" if left == 1 else f"{left} tries"
            return RefusedError(
                f"that is not the code that the node shows; {tries} left",
                "Read it again, and see that the node is the one that shows it.",
            )
        case CodeTaken():
            return ConflictError("another device was quicker: this code is used", _ANOTHER)
        case CodeExpired():
            return RefusedError("this code has expired", _ANOTHER)
        case CodeDeclined():
            return RefusedError("the person at the node said no", "Ask them, then try a new code.")
        case StartAgain():
            return NotFoundError("the node knows no such pairing", "Type the code once more.")
