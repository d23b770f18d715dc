"""JSON values, and the one byte form in which they are hashed and signed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)
JsonObject: TypeAlias = Mapping[str, JsonValue]


def canonical_json(value: JsonValue) -> bytes:
    """Sorted keys, no spaces, UTF-8, no NaN. Equal values give equal bytes.

    Raises:
        ValueError: the value holds NaN, an infinity or something JSON has no form for.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode("utf-8", "surrogatepass")


def sha256_json(value: JsonValue) -> str:
    """SHA-256 of the canonical form, in lower-case hex."""
    return hashlib.sha256(canonical_json(value)).hexdigest()
