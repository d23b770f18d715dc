"""What the audit log holds, and the boundary at which the node writes it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.canonical import JsonValue

CONSOLE: Final = "console"
"""Who acted: a person at the node's own command line. Otherwise it is a device id."""
NODE: Final = "node"
"""Who acted: the node by itself."""


class AuditKind(Enum):
    """What happened.

    GAP counts what could not be written at its time; CHECKPOINT stands for what was removed as old.
    """

    STARTED = "started"
    PAIRED = "paired"
    PAIRING_REFUSED = "pairing_refused"
    GRANTED = "granted"
    REVOKED = "revoked"
    REFUSED = "refused"
    KEY_ROTATED = "key_rotated"
    PEER_ADDED = "peer_added"
    PEER_REMOVED = "peer_removed"
    INTRODUCED = "introduced"
    INTRODUCTION_REFUSED = "introduction_refused"
    WITHDRAWN = "withdrawn"
    RECOVERY_MADE = "recovery_made"
    RECOVERY_USED = "recovery_used"
    RECOVERY_REFUSED = "recovery_refused"
    TOOL_RUN = "tool_run"
    APPROVAL = "approval"
    GAP = "gap"
    CHECKPOINT = "checkpoint"


class Audit(Protocol):
    """Where the node notes what it allowed, refused and did. Safe to use from any thread."""

    def record(
        self,
        kind: AuditKind,
        *,
        actor: str,
        device: str = "",
        detail: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """Append one entry, durably.

        It never raises: what was decided takes effect even where it cannot be noted, and the log
        says so. It never holds a prompt, an argument or a secret.

        Args:
            kind: what happened.
            actor: who did it: `CONSOLE`, `NODE` or a device id.
            device: whom it concerns: a device id, or empty.
            detail: further facts, as few as explain it.
        """
        ...
