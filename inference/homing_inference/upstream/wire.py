"""JSON from outside, read with nothing taken for granted: what is not there is empty."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, cast

from homing_core.errors import InvalidDataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_COUNT = 2**31 - 1


def read_json(text: str | bytes) -> object:
    """The value of a JSON text; NaN and infinities, which some servers write, become None.

    Raises:
        InvalidDataError: it is not JSON.
    """
    try:
        value: object = json.loads(text, strict=False, parse_constant=_nothing)
    except (ValueError, RecursionError):
        msg = "the model server sent something that cannot be read"
        raise InvalidDataError(msg, "Check that it is an OpenAI-compatible server.") from None
    return value


def object_of(value: object) -> Mapping[str, object]:
    """A JSON object, or an empty one."""
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def list_of(value: object) -> Sequence[object]:
    """A JSON array, or an empty one."""
    return cast("Sequence[object]", value) if isinstance(value, list) else ()


def text_of(value: object) -> str:
    """A text without lone surrogates, which no encoder could write again; or an empty one."""
    return _SURROGATE.sub("\ufffd", value) if isinstance(value, str) else ""


def count_of(value: object) -> int:
    """A whole number from 0 up; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    if isinstance(value, float) and not math.isfinite(value):
        return 0
    return min(max(int(value), 0), _MAX_COUNT)


def number_of(value: object) -> float | None:
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _nothing(_word: str) -> None:
    """What JSON has no form for."""
