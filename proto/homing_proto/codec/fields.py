"""Checks on single fields, and the guard around every encoder."""

from __future__ import annotations

import functools
import math
import re
from typing import TYPE_CHECKING, Generic, NoReturn, ParamSpec, TypeVar

from homing_core.errors import InvalidDataError
from homing_core.ids import parse_device_id

from homing_proto.codec import limits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sized

P = ParamSpec("P")
R = TypeVar("R")
CoreT = TypeVar("CoreT")
WireT = TypeVar("WireT", bound=int)

_HINT = "The other side may be damaged or of another version; update both and try again."
_SURROGATES = re.compile("[\ud800-\udfff]")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def malformed(what: str) -> InvalidDataError:
    """The error to raise; `what` is our own wording, never the other side's."""
    return InvalidDataError(what, _HINT)


def refuse(what: str) -> NoReturn:
    """Raise that error. Its cause is dropped: a library's text may repeat the other side's."""
    raise malformed(what) from None


def encoder(function: Callable[P, R]) -> Callable[P, R]:
    """Give an encoder one kind of failure: `InvalidDataError` for what has no form on the wire."""

    @functools.wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            # Protobuf's text repeats the value, so it stays out of the message.
            subject = function.__name__.removeprefix("encode_").replace("_", " ")
            msg = f"a value in this {subject} has no form on the wire"
            hint = "A number is out of range, or an exact text holds a lone surrogate."
            raise InvalidDataError(msg, hint) from error

    return guarded


class EnumTable(Generic[CoreT, WireT]):
    """One enum in both worlds.

    Args:
        what: what to call it in an error.
        pairs: every core member with its number on the wire.
        strictest: what UNSPECIFIED and unknown numbers mean; None refuses them.
    """

    def __init__(
        self, what: str, pairs: Mapping[CoreT, WireT], strictest: CoreT | None = None
    ) -> None:
        """Turn the pairs round once."""
        self._what = what
        self._to_wire = dict(pairs)
        self._to_core: dict[int, CoreT] = {int(number): value for value, number in pairs.items()}
        self._strictest = strictest

    def encode(self, value: CoreT) -> WireT:
        """The number on the wire."""
        return self._to_wire[value]

    def decode(self, number: int) -> CoreT:
        """The core member; raises `InvalidDataError` where nothing stricter exists."""
        value = self._to_core.get(number, self._strictest)
        if value is None:
            refuse(f"the {self._what} is missing or unknown")
        return value

    def known(self, number: int) -> bool:
        """Whether this version knows the number."""
        return number in self._to_core


def readable(text: str) -> str:
    """Text that is only read, ready for the wire: lone surrogates become U+FFFD."""
    return _SURROGATES.sub("\ufffd", text)


def readable_name(text: str) -> str:
    """As `readable`, cut to the length of a name."""
    return readable(text[: limits.MAX_NAME_CHARS])


def readable_line(text: str) -> str:
    """As `readable`, cut to the length of a line for a person."""
    return readable(text[: limits.MAX_LINE_CHARS])


def max_items(items: Sized, most: int, what: str) -> None:
    """Refuse a repeated field that is longer than `most`."""
    if len(items) > most:
        refuse(f"more than {most} {what}")


def max_chars(text: str, most: int, what: str) -> str:
    """`text`, unless it is longer than `most` characters."""
    if len(text) > most:
        refuse(f"the {what} is longer than {most} characters")
    return text


def max_bytes(text: str, most: int, what: str) -> str:
    """`text`, unless it is longer than `most` bytes of UTF-8."""
    # A character takes one to four bytes: most texts need no counting.
    if len(text) > most or (
        len(text) * 4 > most and len(text.encode("utf-8", "surrogatepass")) > most
    ):
        refuse(f"the {what} is longer than {most} bytes")
    return text


def sha256_hex(text: str, what: str) -> str:
    """64 lower-case hex digits."""
    if not _SHA256.fullmatch(text):
        refuse(f"the {what} is not a SHA-256 in lower-case hex")
    return text


def optional_device(text: str) -> str:
    """A device id, or the empty text that stands for the sender itself."""
    return parse_device_id(text) if text else ""


def finite(number: float, what: str) -> float:
    """Neither NaN nor infinite."""
    if not math.isfinite(number):
        refuse(f"the {what} is not a finite number")
    return number


def not_negative(number: float, what: str) -> float:
    """Finite, and 0 or more."""
    if finite(number, what) < 0:
        refuse(f"the {what} is negative")
    return number


def probability(number: float, what: str) -> float:
    """In [0, 1]; what rounding pushed out by less than the slack is clamped."""
    slack = limits.PROBABILITY_SLACK
    if not -slack <= number <= 1 + slack:  # also true for NaN
        refuse(f"the {what} is not in 0 to 1")
    return min(max(number, 0.0), 1.0)


def log_probability(number: float, what: str) -> float:
    """Finite and at most 0; what rounding pushed above by less than the slack is clamped."""
    if finite(number, what) > limits.PROBABILITY_SLACK:
        refuse(f"the {what} is above 0")
    return min(number, 0.0)


def positive(number: int, what: str) -> int:
    """1 or more."""
    if number < 1:
        refuse(f"the {what} does not start at 1")
    return number
