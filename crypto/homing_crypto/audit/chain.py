"""The chain: each entry holds the hash of the one before, so that none can be changed alone.

    hash = SHA-256(context ‖ for each of seq, at, kind, actor, device, detail, previous:
                   length (4 bytes) ‖ bytes)

Numbers are big-endian in 8 bytes, texts UTF-8, `previous` its 32 bytes. The lengths keep two
different entries from having the same bytes. Entry 1 follows 32 zero bytes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.audit import Entry
from homing_core.canonical import canonical_json
from homing_core.errors import InvalidDataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from homing_core.canonical import JsonValue

GENESIS: Final = "00" * 32
"""What the first entry follows."""
HASH_DIGITS: Final = 64
MOST_DETAIL: Final = 2048
"""Bytes of an entry's further facts; more are left out, and that is said."""
MOST_WORD: Final = 128
"""Characters of who acted, and of whom it concerns."""
_ENTRY_CONTEXT: Final = b"homing audit entry v1\x00"
_NUMBER_BYTES: Final = 8
_MOST_NUMBER: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Draft:
    """What will be an entry once it has its place in the chain; its fields are an `Entry`'s."""

    at_ms: int
    kind: str
    actor: str
    device: str
    detail: str

    @classmethod
    def of(
        cls,
        at_s: float,
        kind: str,
        actor: str,
        device: str = "",
        detail: Mapping[str, JsonValue] | None = None,
    ) -> Draft:
        """Within the limits, whatever it is made of. `at_s` is in seconds since the epoch."""
        return cls(
            at_ms=min(max(int(at_s * 1000), 0), _MOST_NUMBER),
            kind=_text(kind),
            actor=_text(actor),
            device=_text(device),
            detail=_canonical(detail or {}),
        )

    def after(self, seq: int, previous: str) -> Entry:
        """As the entry that follows number `seq`, whose hash is `previous`."""
        unhashed = Entry(
            seq + 1, self.at_ms, self.kind, self.actor, self.device, self.detail, previous, ""
        )
        return Entry(
            unhashed.seq,
            self.at_ms,
            self.kind,
            self.actor,
            self.device,
            self.detail,
            previous,
            entry_hash(unhashed),
        )


def entry_hash(entry: Entry) -> str:
    """What the entry's hash has to be, hex.

    Raises:
        InvalidDataError: a number or the previous hash has no form for it.
    """
    try:
        parts = (
            entry.seq.to_bytes(_NUMBER_BYTES, "big"),
            entry.at_ms.to_bytes(_NUMBER_BYTES, "big"),
            entry.kind.encode(),
            entry.actor.encode(),
            entry.device.encode(),
            entry.detail.encode(),
            bytes.fromhex(entry.previous),
        )
    except (ValueError, OverflowError) as error:
        msg = "an entry of the record is malformed"
        raise InvalidDataError(msg) from error
    return hashlib.sha256(_ENTRY_CONTEXT + prefixed(parts)).hexdigest()


def prefixed(parts: Iterable[bytes]) -> bytes:
    """Each part after its length in 4 bytes, so that nothing can move from one to the next."""
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def _text(text: str) -> str:
    return text[:MOST_WORD].encode("utf-8", "replace").decode()


def _canonical(detail: Mapping[str, JsonValue]) -> str:
    try:
        found = canonical_json(detail).decode("utf-8", "replace")
    except (ValueError, TypeError, RecursionError):
        return '{"left_out":"it has no form as JSON"}'
    if len(found.encode()) > MOST_DETAIL:
        return '{"left_out":"it was too long"}'
    return found
