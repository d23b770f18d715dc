"""A first start in a process of its own; importable there, whoever runs the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.clock import SystemClock
from homing_crypto.identity import DeviceIdentity

if TYPE_CHECKING:
    from pathlib import Path


def device_id_in(folder: Path) -> str:
    """The device id of the identity in a folder, made if there is none."""
    return DeviceIdentity.load_or_create(folder, SystemClock()).device_id
