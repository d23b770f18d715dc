"""`[keys]` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass

MOST_OVERLAP_DAYS = 365


@dataclass(frozen=True, slots=True)
class KeysSection:
    """`[keys]`: how long an old key goes on beside the new one.

    Attributes:
        overlap_days: days for which this node's old key goes on after `homing-node keys rotate`;
            a phone that is away for longer pairs again.
        device_overlap_days: days for which a device's old key goes on after the device replaced
            it, unless the device says before that the new one works.
    """

    overlap_days: float = 30.0
    device_overlap_days: float = 7.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        for key in ("overlap_days", "device_overlap_days"):
            if not 0 < getattr(self, key) <= MOST_OVERLAP_DAYS:
                msg = f"keys.{key} is not above 0 and at most {MOST_OVERLAP_DAYS}"
                raise ValueError(msg)
