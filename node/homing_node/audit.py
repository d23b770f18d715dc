"""Where a node notes what it allowed, refused and did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_agent.runtime.logs import get_logger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.canonical import JsonValue
    from homing_crypto.audit.records import AuditKind

_log = get_logger(__name__)


class LoggedAudit:
    """An `Audit` that goes to the daemon's own log."""

    def record(
        self,
        kind: AuditKind,
        *,
        actor: str,
        device: str = "",
        detail: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """See `Audit.record`."""
        del detail
        _log.info("audit", kind=kind.value, actor=actor, device=device)
