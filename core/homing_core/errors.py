"""The one error tree. Each error says what happened and what to try.

    HomingError
    ├── UsageError          exit 2   the caller wrote something we cannot read
    │   └── ConfigError     exit 2   a configuration file holds a wrong value
    ├── InvalidDataError    exit 1   outside data (wire, file, mDNS, link) is malformed
    ├── NotFoundError       exit 1   a named thing does not exist
    ├── ConflictError       exit 1   an id or a resource is already taken by something else
    ├── RefusedError        exit 3   a permission, role or scope forbids it
    │   └── UnpairedError   exit 3   the other side does not know this device
    ├── UnavailableError    exit 1   the other side cannot be reached now; trying again may help
    ├── OverloadedError     exit 1   a limit is reached; trying again later will help
    ├── TooLongError        exit 1   the request does not fit the model's context
    ├── IntegrityError      exit 1   a checksum, signature or key is not the expected one
    └── InternalError       exit 1   a bug of ours; its details stay in the log

Cancellation is never one of these: `asyncio.CancelledError` passes through untouched.
"""

from __future__ import annotations

from enum import Enum
from typing import ClassVar


class ErrorCode(Enum):
    """The stable name of an error on the wire and in `--json`."""

    USAGE = "usage"
    CONFIG = "config"
    INVALID_DATA = "invalid_data"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    REFUSED = "refused"
    UNPAIRED = "unpaired"
    UNAVAILABLE = "unavailable"
    OVERLOADED = "overloaded"
    TOO_LONG = "too_long"
    INTEGRITY = "integrity"
    INTERNAL = "internal"


class HomingError(Exception):
    """What happened, in one line for a person, and what to try.

    Args:
        what: what happened, without a trailing full stop; never holds a prompt or a secret.
        hint: what the reader can do about it; may be empty.
    """

    code: ClassVar[ErrorCode] = ErrorCode.INTERNAL
    exit_status: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, what: str, hint: str = "") -> None:
        """Keep both halves: a log wants `what`, a person both."""
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        """One line: what happened, then what to try."""
        return f"{self.what}. {self.hint}" if self.hint else self.what


class UsageError(HomingError):
    """The caller wrote something that cannot be read."""

    code = ErrorCode.USAGE
    exit_status = 2


class ConfigError(UsageError):
    """A configuration file holds a wrong value."""

    code = ErrorCode.CONFIG


class InvalidDataError(HomingError):
    """Data from outside is malformed."""

    code = ErrorCode.INVALID_DATA


class NotFoundError(HomingError):
    """A named thing does not exist."""

    code = ErrorCode.NOT_FOUND


class ConflictError(HomingError):
    """An id or a resource is already taken by something else."""

    code = ErrorCode.CONFLICT


class RefusedError(HomingError):
    """A permission, role or scope forbids it."""

    code = ErrorCode.REFUSED
    exit_status = 3


class UnpairedError(RefusedError):
    """The other side does not know this device."""

    code = ErrorCode.UNPAIRED


class UnavailableError(HomingError):
    """The other side cannot be reached now."""

    code = ErrorCode.UNAVAILABLE
    retryable = True


class OverloadedError(HomingError):
    """A limit is reached; trying again later will help.

    Args:
        what: as in `HomingError`.
        hint: as in `HomingError`.
        retry_after_ms: when to try again, in milliseconds; 0 if unknown.
    """

    code = ErrorCode.OVERLOADED
    retryable = True

    def __init__(self, what: str, hint: str = "", retry_after_ms: int = 0) -> None:
        """Keep the delay beside the two halves."""
        super().__init__(what, hint)
        self.retry_after_ms = retry_after_ms


class TooLongError(HomingError):
    """The request does not fit the model's context."""

    code = ErrorCode.TOO_LONG


class IntegrityError(HomingError):
    """A checksum, signature or key is not the expected one."""

    code = ErrorCode.INTEGRITY


class InternalError(HomingError):
    """A bug of ours; its details stay in the log."""


_BY_CODE: dict[ErrorCode, type[HomingError]] = {
    kind.code: kind
    for kind in (
        UsageError,
        ConfigError,
        InvalidDataError,
        NotFoundError,
        ConflictError,
        RefusedError,
        UnpairedError,
        UnavailableError,
        OverloadedError,
        TooLongError,
        IntegrityError,
        InternalError,
    )
}


def error_from_code(code: str, what: str, hint: str = "", retry_after_ms: int = 0) -> HomingError:
    """Rebuild an error that crossed a wire; an unknown code becomes `InternalError`."""
    try:
        kind = _BY_CODE[ErrorCode(code)]
    except ValueError:
        return InternalError(what, hint)
    if kind is OverloadedError:
        return OverloadedError(what, hint, retry_after_ms)
    return kind(what, hint)
