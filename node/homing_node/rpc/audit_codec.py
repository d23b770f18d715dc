"""The parts of the audit log's wire that the node's two services and its command line share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.labels import clean_label
from homing_crypto.audit.store import Filter
from homing_crypto.audit.verify import Broken, Verified
from homing_proto.codec.audit import MAX_PAGE
from homing_proto.codec.fields import max_items, readable
from homing_proto.v1 import audit_pb2 as wire

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_crypto.audit.verify import Verdict

_MAX_KINDS = 64


def encode_filter(value: Filter) -> wire.AuditFilter:
    """Which entries are wanted."""
    return wire.AuditFilter(kinds=value.kinds, device=value.device, since_ms=value.since_ms)


def decode_filter(message: wire.AuditFilter) -> Filter:
    """Raises `InvalidDataError`."""
    max_items(message.kinds, _MAX_KINDS, "kinds of entries")
    return Filter(tuple(message.kinds), message.device, message.since_ms)


def encode_verdict(value: Verdict) -> wire.VerifyAuditResponse:
    """What came of following the chain."""
    match value:
        case Broken():
            return wire.VerifyAuditResponse(whole=False, seq=value.seq, why=readable(value.why))
        case Verified():
            return wire.VerifyAuditResponse(
                whole=True,
                seq=value.seq,
                hash=value.hash,
                removed=value.removed,
                lost=value.lost,
                unvouched=value.unvouched,
            )


def decode_verdict(message: wire.VerifyAuditResponse) -> Verdict:
    """As it was sent."""
    if not message.whole:
        return Broken(message.seq, clean_label(message.why, 300))
    return Verified(
        message.seq, message.hash, message.removed, message.lost, tuple(message.unvouched)
    )


def decode_names(names: Mapping[str, str]) -> dict[str, str]:
    """Names of devices, cleaned: people will read them; raises `InvalidDataError`."""
    max_items(names, 2 * MAX_PAGE, "names of devices")
    return {device: clean_label(name) for device, name in names.items()}
