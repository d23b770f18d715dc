"""`[audit]` of the configuration: how long the record of what was allowed and refused is kept."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AuditSection:
    """`[audit]`: the record of what was allowed, refused and done.

    Attributes:
        keep_days: entries older than this are removed, which the record itself says; the newest
            10,000 stay all the same. 0 keeps all up to 500,000 entries.
    """

    keep_days: int = 400

    def __post_init__(self) -> None:
        """Check the range."""
        if not 0 <= self.keep_days <= 36_500:  # noqa: PLR2004  # a hundred years
            msg = "audit.keep_days is not between 0 and 36500"
            raise ValueError(msg)
