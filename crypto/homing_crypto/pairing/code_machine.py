"""The node's side of a pairing by code, as a pure machine: a message and a time in, a decision out.

    open ──right code──▶ claimed ──yes, and the phone asks to come in──▶ done
      │ │                   ├──no────────▶ declined    the window closes
      │ │                   └──deadline──▶ expired
      │ └──three wrong──▶ burned    the link of the same window goes on
      └────deadline─────▶ expired

A start that is never confirmed is no guess: it tells its sender nothing, because the phone confirms
first. It costs the node one SPAKE2 exchange, so their number is bounded.

Whichever of code and link lets a device in ends the other; whoever runs both machines says so with
`taken`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from homing_core.errors import ConflictError, OverloadedError

from homing_crypto.pairing.code_outcomes import (
    Admitted,
    CodeBurned,
    CodeDeclined,
    CodeExpired,
    CodeRefusal,
    CodeTaken,
    Recognised,
    StartAgain,
    Waiting,
    WrongCode,
)
from homing_crypto.pairing.code_proof import (
    Entry,
    Recognition,
    entry_confirmation,
    node_confirmation,
    phone_confirmation,
)
from homing_crypto.pairing.code_window import Claim, CodeWindow, Started, exchange
from homing_crypto.pairing.proof import same_proof

if TYPE_CHECKING:
    from homing_core.ids import DeviceId

    from homing_crypto.devices import PairedDevice
    from homing_crypto.pairing.code_proof import CodeReply, CodeStart

MAX_STARTS = 60
"""Starts in one window, each about 7 ms of the node's time."""
MAX_STARTS_OF_ONE = 20
"""The same from one address, so that one stranger alone does not use them up."""
MAX_UNFINISHED = 16
"""Starts that wait for their confirmation; the oldest makes room."""
ANSWER_S = 60.0
"""How long the person has to answer, in seconds, even if the code came at the last moment."""

_PAST = float("-inf")


def start(
    window: CodeWindow, asked: CodeStart, now: float, caller: str = ""
) -> tuple[CodeWindow, CodeReply | CodeRefusal]:
    """Take an attempt's first message; the same one again gets the same reply.

    Args:
        window: as it stands.
        asked: from outside.
        now: wall time at the node, seconds since the epoch.
        caller: where it comes from; all that counts is which are the same.

    Raises:
        InvalidDataError: it is malformed.
        IntegrityError: the device key did not sign the HPKE key.
        ConflictError: the attempt's id stands for another message.
        OverloadedError: too many have started.
    """
    for known in _attempts(window):
        if known.id == asked.attempt_id:
            if known.start != asked:
                msg = "another pairing has this id"
                raise ConflictError(msg, "Type the code once more.")
            return window, known.reply
    if (over := _over(window, now)) is not None:
        return window, over
    if len(window.callers) >= MAX_STARTS or window.callers.count(caller) >= MAX_STARTS_OF_ONE:
        msg = "too many devices have tried this code"
        raise OverloadedError(msg, "Use the link, or ask for a new code: homing-node pair.")
    attempt = exchange(window, asked, now)
    unfinished = (*window.unfinished, attempt)[-MAX_UNFINISHED:]
    callers = (*window.callers, caller)
    return replace(window, unfinished=unfinished, callers=callers), attempt.reply


def confirm(
    window: CodeWindow, attempt_id: str, confirmation: bytes, now: float
) -> tuple[CodeWindow, Recognised | CodeRefusal]:
    """Decide whether the phone knows the code. Each attempt has one try."""
    for refused_id, left in window.refused:
        if refused_id == attempt_id:
            return window, WrongCode(left)
    claim = window.claim
    if claim is not None and claim.attempt.id == attempt_id:
        return window, _asked_again(window, claim, confirmation, now)
    if (over := _over(window, now)) is not None:
        return window, over
    for attempt in window.unfinished:
        if attempt.id == attempt_id:
            return _decide_on(window, attempt, confirmation, now)
    return window, StartAgain()


def decide(window: CodeWindow, attempt_id: str, *, allow: bool) -> CodeWindow:
    """Take the person's answer; a second one changes nothing.

    Raises:
        ConflictError: nobody asks under this id, or another device was let in meanwhile.
    """
    claim = window.claim
    if claim is None or claim.attempt.id != attempt_id or window.paired not in _own(claim):
        msg = "no device waits for this answer any more"
        raise ConflictError(msg, "Open a new pairing: homing-node pair.")
    if claim.allowed is not None:
        return window
    return replace(window, claim=replace(claim, allowed=allow))


def enter(
    window: CodeWindow, attempt_id: str, now: float
) -> tuple[CodeWindow, Waiting | Admitted | CodeRefusal]:
    """The phone asks to come in. Before this the device must not be stored (see `code_proof`)."""
    claim = window.claim
    if claim is None or claim.attempt.id != attempt_id:
        return window, _over(window, now) or StartAgain()
    device = claim.attempt.device
    if window.paired == device.id:
        return window, Admitted(device)
    if (lost := _lost(window, claim, now)) is not None:
        return window, lost
    if claim.allowed is None:
        return window, Waiting()
    return replace(window, paired=device.id), Admitted(device)


def taken(window: CodeWindow, device_id: DeviceId) -> CodeWindow:
    """The window after the link let a device in."""
    return replace(window, paired=device_id)


def ended(window: CodeWindow) -> CodeWindow:
    """The window after it was closed, for whatever reason; who was let in may still ask again."""
    claim = window.claim
    if claim is not None:
        claim = replace(claim, ends_at=_PAST)
    return replace(window, expires_at=_PAST, claim=claim)


def entry_for(window: CodeWindow, stored: PairedDevice) -> Entry:
    """What to send to the device that was let in.

    Args:
        window: as `enter` returned it.
        stored: what `TrustStore.add` returned; a device that was paired before keeps its role.

    Raises:
        ConflictError: no device was let in by code.
    """
    if window.claim is None:
        msg = "no device was let in by code"
        raise ConflictError(msg)
    attempt = window.claim.attempt
    entry = Entry(stored.role, stored.scopes, window.node.addresses)
    return replace(entry, confirmation=entry_confirmation(attempt.keys, attempt.said, entry))


def _over(window: CodeWindow, now: float) -> CodeRefusal | None:
    """Why nobody new is listened to, if that is so."""
    if window.paired is not None:
        return CodeTaken()
    if window.claim is not None:
        return CodeTaken() if window.claim.allowed is not False else CodeDeclined()
    if window.guesses_left == 0:
        return CodeBurned()
    return CodeExpired() if now >= window.expires_at else None


def _asked_again(
    window: CodeWindow, claim: Claim, confirmation: bytes, now: float
) -> Recognised | CodeRefusal:
    attempt = claim.attempt
    if not same_proof(confirmation, phone_confirmation(attempt.keys, attempt.said)):
        return WrongCode(window.guesses_left)  # nothing to learn: it was right before
    if window.paired != attempt.device.id and (lost := _lost(window, claim, now)) is not None:
        return lost
    return Recognised(attempt.device, _recognition(window, attempt), again=True)


def _lost(window: CodeWindow, claim: Claim, now: float) -> CodeRefusal | None:
    """Why a claim came to nothing, if it did."""
    if window.paired is not None:
        return CodeTaken()
    if claim.allowed is False:
        return CodeDeclined()
    return CodeExpired() if now >= claim.ends_at else None


def _own(claim: Claim) -> tuple[DeviceId | None, ...]:
    """Who may have been let in while this claim still stands."""
    return (None, claim.attempt.device.id)


def _attempts(window: CodeWindow) -> tuple[Started, ...]:
    claimed = (window.claim.attempt,) if window.claim is not None else ()
    return (*claimed, *window.unfinished)


def _recognition(window: CodeWindow, attempt: Started) -> Recognition:
    plain = Recognition(window.node.addresses)
    return replace(plain, confirmation=node_confirmation(attempt.keys, attempt.said, plain))


def _decide_on(
    window: CodeWindow, attempt: Started, confirmation: bytes, now: float
) -> tuple[CodeWindow, Recognised | CodeRefusal]:
    rest = tuple(one for one in window.unfinished if one.id != attempt.id)
    if not same_proof(confirmation, phone_confirmation(attempt.keys, attempt.said)):
        left = window.guesses_left - 1
        refused = (*window.refused, (attempt.id, left))
        return replace(window, guesses_left=left, unfinished=rest, refused=refused), WrongCode(left)
    claim = Claim(attempt, max(window.expires_at, now + ANSWER_S))
    claimed = replace(window, unfinished=rest, claim=claim)
    return claimed, Recognised(attempt.device, _recognition(window, attempt), again=False)
