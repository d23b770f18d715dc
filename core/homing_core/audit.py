"""The record of what a node allowed, refused and did: values. `homing_crypto.audit` chains them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homing_core.canonical import JsonValue
    from homing_core.ids import DeviceId


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the record.

    Attributes:
        seq: its number, from 1 without gaps.
        at_ms: wall time at the node, milliseconds since the epoch; may go back with its clock.
        kind: what happened, such as "paired"; a newer Homing may know more kinds.
        actor: who did it: "console", "node" or a device id.
        device: whom it concerns: a device id, or empty.
        detail: further facts: a JSON object in canonical form.
        previous: hash of the entry before, hex.
        hash: hash of this one, hex.
    """

    seq: int
    at_ms: int
    kind: str
    actor: str
    device: str
    detail: str
    previous: str
    hash: str

    @property
    def facts(self) -> dict[str, JsonValue]:
        """`detail` as values; empty if it is not an object."""
        try:
            found: dict[str, JsonValue] | JsonValue = json.loads(self.detail)
        except (ValueError, RecursionError):
            return {}
        return dict(found) if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class Head:
    """A point of the record that somebody remembers.

    Attributes:
        seq: number of the entry.
        hash: its hash in hex, or at least the first 16 digits of it.
        at_ms: when, milliseconds since the epoch; 0 if it is not known.
    """

    seq: int
    hash: str
    at_ms: int = 0

    def to_text(self) -> str:
        """As a person types it into `homing-node audit verify --head`."""
        return f"{self.seq}:{self.hash}"

    def names(self, seq: int, digest: str) -> bool:
        """Whether an entry of this number and hash is the one that is remembered."""
        return seq == self.seq and digest.startswith(self.hash)


@dataclass(frozen=True, slots=True)
class SignedHead:
    """A head with the node's word for it.

    Attributes:
        node: device id of the key that signed.
        head: what it says; its hash is whole.
        signature: ECDSA, DER; see `homing_crypto.audit.head`.
    """

    node: DeviceId
    head: Head
    signature: bytes = field(repr=False)
