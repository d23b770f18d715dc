"""The node's record of what it allowed, refused and did: where it lies and how it begins."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from homing_crypto.audit.log import SqliteAudit
from homing_crypto.audit.records import NODE, AuditKind
from homing_crypto.audit.rotation import CERTIFICATE
from homing_crypto.audit.store import AUDIT_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from homing_core.canonical import JsonValue
    from homing_core.clock import Clock
    from homing_crypto.identity import DeviceIdentity

    from homing_node.audit_section import AuditSection


def open_audit(
    folder: Path,
    clock: Clock,
    signer: Callable[[], DeviceIdentity],
    section: AuditSection,
    facts: Mapping[str, JsonValue],
) -> SqliteAudit:
    """Open the record and note that the node started.

    Args:
        folder: the data directory.
        clock: when things happen.
        signer: the node's identity at the moment of signing; called in another thread.
        section: `[audit]` of the configuration.
        facts: version, and settings that decide who gets in.

    Raises:
        HomingError: the file cannot be used.
    """
    audit = SqliteAudit(folder / AUDIT_FILE, clock, signer, section.keep_days)
    identity = signer()
    audit.record(
        AuditKind.STARTED,
        actor=NODE,
        device=identity.device_id,
        detail={CERTIFICATE: identity.certificate.sha256.hex(), **facts},
    )
    return audit


async def broken_record(audit: SqliteAudit) -> str:
    """What the record was found to lack at this start, for a person; empty if it is whole."""
    found = await asyncio.to_thread(audit.looked_back)
    return found.why if found else ""
