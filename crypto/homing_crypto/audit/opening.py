"""Opening the record at the node's start: one that is damaged is put aside, and not overwritten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from homing_core.errors import IntegrityError

from homing_crypto.audit.store import AuditFile

if TYPE_CHECKING:
    from pathlib import Path

_log = structlog.get_logger(__name__)


def open_or_put_aside(path: Path, now: float) -> tuple[AuditFile, str]:
    """The file; and the name under which a damaged one was put aside, or nothing.

    Args:
        path: the file.
        now: wall time, seconds since the epoch.

    Raises:
        HomingError: as `homing_crypto.database.Database`, but for a damaged file.
    """
    try:
        return AuditFile(path), ""
    except IntegrityError as error:
        aside = path.with_name(f"{path.name}.damaged-{int(now)}")
        path.rename(aside)
        _log.error("audit.damaged", what=error.what)
        return AuditFile(path), aside.name
