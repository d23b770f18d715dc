"""Adds devices to a trust store for ever and prints each id once it is on disk; to be killed."""

from __future__ import annotations

import sys
from pathlib import Path

from homing_core.clock import SystemClock
from homing_crypto.testing import paired_device, throwaway_identity
from homing_crypto.truststore import SqliteTrustStore


def main() -> None:
    store = SqliteTrustStore(Path(sys.argv[1]), SystemClock())
    while True:
        device = paired_device(throwaway_identity())
        store.add(device, link_id=device.id)
        sys.stdout.write(f"{device.id}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
