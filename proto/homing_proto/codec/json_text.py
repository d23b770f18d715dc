"""JSON inside a string field: strict on the way in, order kept on the way out."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, cast

from homing_core.errors import InvalidDataError

from homing_proto.codec import limits
from homing_proto.codec.fields import max_bytes, refuse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.canonical import JsonValue


def encode_json(value: JsonValue) -> str:
    r"""Compact JSON text. Keys keep their order, because a prompt is rendered from it.

    Lone surrogates are written as escapes (`\ud800`), so they survive. The one value that does not
    come back equal is a text that holds both halves of a pair as two characters: it comes back as
    the one character that they mean.

    Raises:
        ValueError: NaN, an infinity, or something that JSON has no form for.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text


def decode_json(text: str, what: str) -> JsonValue:
    """Read JSON text within the limits on bytes, depth and digits.

    Args:
        text: from the wire.
        what: what to call it in an error.

    Raises:
        InvalidDataError: not JSON, a key given twice, NaN, an infinity, or over a limit.
    """
    max_bytes(text, limits.MAX_JSON_BYTES, what)
    try:
        value = cast("JsonValue", _DECODER.decode(text))
    except RecursionError:
        refuse(f"the {what} is nested too deeply")
    except InvalidDataError:
        raise
    except ValueError:
        # Its text may repeat what the other side wrote.
        refuse(f"the {what} is not JSON")
    _check_depth(value, what)
    return value


def decode_json_object(text: str, what: str) -> Mapping[str, JsonValue]:
    """As `decode_json`, for text that must hold an object."""
    value = decode_json(text, what)
    if not isinstance(value, dict):
        refuse(f"the {what} is not a JSON object")
    return cast("Mapping[str, JsonValue]", value)


def _check_depth(value: JsonValue, what: str) -> None:
    level: list[JsonValue] = [value]
    for _ in range(limits.MAX_JSON_DEPTH + 1):
        containers = [item for item in level if isinstance(item, dict | list)]
        if not containers:
            return
        level = []
        for item in containers:
            level.extend(item.values() if isinstance(item, dict) else item)
    refuse(f"the {what} is nested deeper than {limits.MAX_JSON_DEPTH}")


def _pairs(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value = dict(pairs)
    if len(value) != len(pairs):
        refuse("a JSON object gives a key twice")
    return value


def _digits(text: str) -> str:
    if len(text) > limits.MAX_JSON_NUMBER_CHARS:
        refuse(f"a JSON number is longer than {limits.MAX_JSON_NUMBER_CHARS} characters")
    return text


def _int(text: str) -> int:
    return int(_digits(text))


def _float(text: str) -> float:
    number = float(_digits(text))
    if not math.isfinite(number):
        refuse("a JSON number is too large")
    return number


def _constant(_: str) -> None:
    refuse("NaN and infinities are not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_int=_int, parse_float=_float, parse_constant=_constant
)
