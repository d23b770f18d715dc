"""Errors across gRPC: a `HomingError` into status and trailing metadata, and back.

What travels: `homing-code` (the error's stable name), the status text (what happened),
`homing-hint-bin` (what to try, UTF-8) and `homing-retry-after-ms`. No other text of ours or of a
library ever does.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import grpc
from homing_core.errors import (
    ConflictError,
    ErrorCode,
    HomingError,
    IntegrityError,
    InternalError,
    InvalidDataError,
    NotFoundError,
    OverloadedError,
    RefusedError,
    UnavailableError,
    UnpairedError,
    error_from_code,
)
from homing_core.labels import clean_label

if TYPE_CHECKING:
    from collections.abc import Iterable

CODE_KEY = "homing-code"
HINT_KEY = "homing-hint-bin"
RETRY_KEY = "homing-retry-after-ms"

ABORT_TIMEOUT_S = 1.0
"""How long sending a status may take, in seconds."""
MAX_TEXT = 300
"""Longest text of either half, in characters; headers have to stay small."""
MAX_RETRY_AFTER_MS = 60 * 60 * 1_000
"""A longer wait than an hour is not believed."""

STATUS: dict[ErrorCode, grpc.StatusCode] = {
    ErrorCode.USAGE: grpc.StatusCode.INVALID_ARGUMENT,
    ErrorCode.CONFIG: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.INVALID_DATA: grpc.StatusCode.INVALID_ARGUMENT,
    ErrorCode.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    ErrorCode.CONFLICT: grpc.StatusCode.ALREADY_EXISTS,
    ErrorCode.REFUSED: grpc.StatusCode.PERMISSION_DENIED,
    ErrorCode.UNPAIRED: grpc.StatusCode.UNAUTHENTICATED,
    ErrorCode.UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
    ErrorCode.OVERLOADED: grpc.StatusCode.RESOURCE_EXHAUSTED,
    ErrorCode.TOO_LONG: grpc.StatusCode.OUT_OF_RANGE,
    ErrorCode.INTEGRITY: grpc.StatusCode.DATA_LOSS,
    ErrorCode.INTERNAL: grpc.StatusCode.INTERNAL,
}
"""The status that ordinary gRPC tools see; Homing reads `homing-code`."""

StatusParts = tuple[grpc.StatusCode, str, tuple[tuple[str, str | bytes], ...]]


def status_parts(error: HomingError, status: grpc.StatusCode | None = None) -> StatusParts:
    """What to give `ServicerContext.abort`.

    Args:
        error: what happened.
        status: another status than the usual one.

    Returns:
        Status, details and trailing metadata.
    """
    metadata: list[tuple[str, str | bytes]] = [(CODE_KEY, error.code.value)]
    if error.hint:
        metadata.append((HINT_KEY, _text(error.hint).encode()))
    if isinstance(error, OverloadedError) and error.retry_after_ms > 0:
        metadata.append((RETRY_KEY, str(error.retry_after_ms)))
    return status or STATUS[error.code], _text(error.what), tuple(metadata)


class StreamHeaders:
    """The initial metadata of a stream of answers, sent before anything else.

    gRPC sends it along with the first message, and again with a status that comes while that
    message is on its way; the core then refuses the status and the client waits in vain.
    """

    def __init__(self) -> None:
        """Nothing is sent yet."""
        self._sending: asyncio.Future[None] | None = None

    async def send(self, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        """Send it; whoever is cancelled here leaves it on its way.

        Raises:
            grpc.aio.BaseError: the connection is gone.
        """
        self._sending = asyncio.ensure_future(context.send_initial_metadata(()))
        await asyncio.shield(self._sending)

    async def settled(self) -> None:
        """Wait until it is sent or has failed; at once if nobody sends any."""
        if self._sending is not None:
            await asyncio.wait([self._sending])


async def send_abort(
    context: grpc.aio.ServicerContext[Any, Any],
    error: HomingError,
    status: grpc.StatusCode | None = None,
    headers: StreamHeaders | None = None,
) -> None:
    """End a call from outside its handler; nothing happens if it has ended already.

    Gives up waiting after `ABORT_TIMEOUT_S`: a client that reads nothing keeps the status from
    being sent, though it is queued and arrives if the client ever reads on.
    """
    if context.done():
        return
    # The AbortError of success is one of gRPC's BaseErrors.
    with contextlib.suppress(grpc.aio.BaseError, TimeoutError):
        async with asyncio.timeout(ABORT_TIMEOUT_S):
            if headers is not None:
                await headers.settled()
            if not context.done():
                await context.abort(*status_parts(error, status))


_VERSIONS = "Both sides may run different versions of Homing."
_MEANING: dict[grpc.StatusCode, tuple[type[HomingError], str, str]] = {
    grpc.StatusCode.DEADLINE_EXCEEDED: (
        UnavailableError,
        "the node did not answer in time",
        "Check that it runs and is within reach.",
    ),
    grpc.StatusCode.CANCELLED: (UnavailableError, "the call was broken off", "Try again."),
    grpc.StatusCode.ABORTED: (UnavailableError, "the call was broken off", "Try again."),
    grpc.StatusCode.UNAUTHENTICATED: (
        UnpairedError,
        "the node does not know this device",
        "Pair it again.",
    ),
    grpc.StatusCode.PERMISSION_DENIED: (
        RefusedError,
        "the node refused this",
        "Ask its owner to allow it.",
    ),
    grpc.StatusCode.RESOURCE_EXHAUSTED: (
        OverloadedError,
        "the node is busy",
        "Try again shortly.",
    ),
    grpc.StatusCode.INVALID_ARGUMENT: (
        InvalidDataError,
        "the node could not read the request",
        _VERSIONS,
    ),
    grpc.StatusCode.OUT_OF_RANGE: (
        InvalidDataError,
        "the node could not read the request",
        _VERSIONS,
    ),
    grpc.StatusCode.NOT_FOUND: (NotFoundError, "the node does not have it", ""),
    grpc.StatusCode.ALREADY_EXISTS: (ConflictError, "the node already has it", ""),
    grpc.StatusCode.FAILED_PRECONDITION: (ConflictError, "the node is in no state for this", ""),
    grpc.StatusCode.UNIMPLEMENTED: (NotFoundError, "the node does not know this call", _VERSIONS),
}
"""What a status without `homing-code` means: it comes from gRPC itself or from another program."""


def error_from_rpc(error: grpc.aio.AioRpcError) -> HomingError:
    """What a failed call means, for a person and for the exit status.

    The text comes from the other side or from gRPC, so it is cleaned, and gRPC's own is not shown.
    """
    details = error.details() or ""
    metadata = list(error.trailing_metadata() or ())
    code = _value(metadata, CODE_KEY)
    if code:
        hint = _value(metadata, HINT_KEY)
        retry = _value(metadata, RETRY_KEY)
        wait = int(retry) if retry.isascii() and retry.isdigit() and len(retry) < _DIGITS else 0
        return error_from_code(
            code, _text(details), _text(hint) if hint else "", min(wait, MAX_RETRY_AFTER_MS)
        )
    if error.code() is grpc.StatusCode.UNAVAILABLE:
        return _unavailable(details)
    if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and "larger than max" in details:
        return InvalidDataError("the message is too large to send", "Ask for less at once.")
    kind, what, text = _MEANING.get(error.code(), _UNKNOWN)
    return kind(what, text)


_DIGITS = 10
_UNKNOWN = (InternalError, "the node failed", "The details are in the node's log.")
_WRONG_KEY = ("CERTIFICATE_VERIFY_FAILED", "Hostname Verification Check failed")
_FLOOR = {
    "INSUFFICIENT_SECURITY": (
        "the computer that answered wants post-quantum key exchange",
        "Update Homing on this device.",
    ),
    "ALERT_PROTOCOL_VERSION": (
        "the computer that answered wants TLS 1.3",
        "Update Homing on this device.",
    ),
}
"""Alerts of TLS. They come before anybody has proven a key, so they are no word of the node's."""
_SHUT_OUT = ("Socket closed", "Tls handshake failed", "Ssl handshake failed")


class BelowFloorError(UnavailableError):
    """Somebody there refused what this device offered for a connection."""


def _unavailable(details: str) -> HomingError:
    """Every failed dial is UNAVAILABLE to gRPC; its text is all there is to tell them apart."""
    if any(mark in details for mark in _WRONG_KEY):
        return IntegrityError(
            "the computer that answered does not hold the paired node's key",
            "Another computer may have its address now. If the node was set up anew, pair again.",
        )
    for mark, (what, hint) in _FLOOR.items():
        if mark in details:
            return BelowFloorError(what, hint)
    if any(mark in details for mark in _SHUT_OUT):
        return UnavailableError(
            "the node closed the connection",
            "If this goes on, it may not know this device any more: pair again.",
        )
    return UnavailableError(
        "the node cannot be reached", "Check that it runs and is on the same network."
    )


def _value(metadata: Iterable[tuple[str, str | bytes]], key: str) -> str:
    for name, value in metadata:
        if name == key:
            return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return ""


def _text(text: str) -> str:
    return clean_label(text, MAX_TEXT, "no more is known")
