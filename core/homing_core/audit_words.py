"""What a person reads of the audit log: one line an entry, and what a duration means. Pure."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING, Final

from homing_core.errors import UsageError
from homing_core.labels import clean_label

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.audit import Entry
    from homing_core.canonical import JsonValue

SHORT_ID: Final = 12
"""Digits of a device id that are shown."""
_ID = re.compile(r"[0-9a-f]{64}")
_METHOD = re.compile(r"/[\w.]+/\w+")
_AGO = re.compile(r"(\d{1,6})\s*([smhd])")
_UNIT_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_HIDDEN: Final = frozenset({"old_certificate", "signature"})
_MOST_CHARS: Final = 200


def who(word: str, names: Mapping[str, str]) -> str:
    """A device by its name and the start of its id; "console" and "node" as they are."""
    if not _ID.fullmatch(word):
        return clean_label(word, fallback="")
    name = names.get(word, "")
    short = word[:SHORT_ID]
    return f"{clean_label(name)} ({short})" if name else short


def details(entry: Entry) -> str:
    """The further facts on one line, such as `name=pocket, role=owner`."""
    facts = entry.facts
    pairs = (f"{key}={_value(facts[key])}" for key in sorted(facts) if key not in _HIDDEN)
    return clean_label(", ".join(pairs), _MOST_CHARS, "")


def entry_object(entry: Entry, names: Mapping[str, str]) -> dict[str, JsonValue]:
    """The entry as `--json` prints it."""
    return {
        "seq": entry.seq,
        "at": entry.at_ms / 1000,
        "kind": entry.kind,
        "actor": entry.actor,
        "actor_name": names.get(entry.actor),
        "device": entry.device or None,
        "device_name": names.get(entry.device),
        "detail": entry.facts,
        "hash": entry.hash,
    }


def since_s(text: str, now: float) -> float:
    """The moment that `2h`, `7d` or `2026-11-30` means, seconds since the epoch.

    Args:
        text: a time ago in s, m, h or d; or a date or time as in ISO 8601, local if it names no
            zone.
        now: the present.

    Raises:
        UsageError: it means nothing.
    """
    ago = _AGO.fullmatch(text.strip())
    if ago:
        return now - int(ago[1]) * _UNIT_S[ago[2]]
    try:
        return datetime.fromisoformat(text.strip()).astimezone().timestamp()
    except (ValueError, OverflowError) as error:
        msg = "--since takes a time ago, such as 2h or 7d, or a date"
        raise UsageError(msg, "Such as: --since 2026-11-30") from error


def _value(value: JsonValue) -> str:
    if isinstance(value, str):
        if _METHOD.fullmatch(value):  # of a call, such as /homing_proto.v1.NodeService/GetStatus
            return value.rpartition("/")[2]
        return value[:SHORT_ID] if _ID.fullmatch(value) else value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(map(_value, value)) or "none"
    if isinstance(value, dict):
        return " ".join(f"{key}:{_value(value[key])}" for key in sorted(value)) or "none"
    return json.dumps(value, ensure_ascii=False)
