"""What `homing nodes` says of limits."""

from __future__ import annotations

from homing_client.cli.limits_left import limits_left, limits_object
from homing_core.access import Limits
from homing_core.nodes import OwnLimits


def test_nothing_is_said_where_nothing_is_limited() -> None:
    assert not limits_left(None)
    assert not limits_left(OwnLimits(Limits(concurrent_streams=4)))


def test_what_is_left_is_said() -> None:
    own = OwnLimits(Limits(tokens_per_day=50_000, hours="08:00-22:00"), 1234, 7201)
    assert limits_left(own) == (
        "; 1,234 of 50,000 tokens a day left; hours 08:00-22:00 (opens in 3 h)"
    )
    found = limits_object(own)
    assert (found["tokens_left"], found["hours"], found["jobs"]) == (1234, "08:00-22:00", None)


def test_an_end_is_said() -> None:
    assert "until 2027-01-15" in limits_left(OwnLimits(Limits(expires_at=1_800_014_400)))
