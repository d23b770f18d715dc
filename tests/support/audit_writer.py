"""Notes things in an audit log for ever, and prints each number once noted; to be killed."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

from homing_core.clock import SystemClock
from homing_crypto.audit import log
from homing_crypto.audit.records import CONSOLE, AuditKind
from homing_crypto.testing import throwaway_identity


def main() -> None:
    identity = throwaway_identity()
    audit = log.SqliteAudit(Path(sys.argv[1]), SystemClock(), lambda: identity)
    for n in itertools.count():
        audit.record(AuditKind.GRANTED, actor=CONSOLE, detail={"n": n})
        if not audit.settle(log.WAIT_S * 100):
            return
        sys.stdout.write(f"{n}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
