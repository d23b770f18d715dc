"""Keys that are replaced: what is said about a new one, and what a device says of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homing_core.ids import DeviceId


class KeyProtection(Enum):
    """How a device's keys are protected on disk."""

    UNKNOWN = "unknown"
    FILE = "file"
    PASSPHRASE = "passphrase"  # noqa: S105  # the name of a way
    KEYRING = "keyring"


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A new key and what speaks for it; checked in `homing_crypto.rotation`.

    Attributes:
        certificate_der: the new key's certificate.
        hpke_public_key: the new HPKE key, raw.
        hpke_signature: the new device key's word for it.
        old_signature: the statement, signed by the old key.
        new_signature: the same, signed by the new key.
    """

    certificate_der: bytes = field(repr=False)
    hpke_public_key: bytes = field(repr=False)
    hpke_signature: bytes = field(repr=False)
    old_signature: bytes = field(repr=False)
    new_signature: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class OwnKey:
    """One of a device's own keys. Times are wall time there, seconds since the epoch.

    Attributes:
        id: its device id.
        created_at: when it was made.
        replaced_at: when a newer one replaced it; 0 for the present one.
        ends_at: when it will be destroyed; 0 for the present one.
    """

    id: DeviceId
    created_at: int
    replaced_at: int = 0
    ends_at: int = 0


@dataclass(frozen=True, slots=True)
class NodeKnows:
    """A node, and by which key it knows this phone.

    Attributes:
        node: its device id.
        name: for people; a reader from the wire gets it cleaned.
        known_as: the phone's key that it knows; empty where that key is gone.
        problem: why it was not told of the present one just now; empty if it was not tried, or
            knows it.
    """

    node: DeviceId
    name: str
    known_as: str
    problem: str = ""
