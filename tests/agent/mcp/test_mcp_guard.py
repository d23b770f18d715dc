"""Limits on what comes in, and on how often a failed server is tried."""

from __future__ import annotations

import pytest
from homing_agent.mcp.backoff import Timing, pause_after
from homing_agent.mcp.guard import MessageGuard, MessageLimits
from homing_agent.mcp.stderr import StderrTail
from homing_core.errors import OverloadedError


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_limits_are_of_a_minute_and_start_anew() -> None:
    time = Time()
    guard = MessageGuard(MessageLimits(messages_per_minute=2, bytes_per_minute=10), time)
    guard.message()
    guard.message()
    guard.came(10)
    with pytest.raises(OverloadedError, match="2 messages a minute"):
        guard.message()
    time.now = 61
    guard.message()
    guard.came(10)
    with pytest.raises(OverloadedError, match="MiB a minute"):
        guard.came(1)


def test_garbage_counts_only_in_a_row() -> None:
    guard = MessageGuard(MessageLimits(garbage_lines=1))
    guard.garbage()
    guard.message()
    guard.garbage()
    with pytest.raises(OverloadedError, match="not MCP"):
        guard.garbage()


def test_pauses_double_to_a_bound_and_differ_by_chance() -> None:
    timing = Timing(first_pause=1, longest_pause=10)
    assert [pause_after(n, timing, 0) for n in (1, 2, 3, 4, 5, 1000)] == [1, 2, 4, 8, 10, 10]
    assert pause_after(3, timing, 1) == 2
    assert 2 <= pause_after(3, timing) <= 4


def test_standard_error_is_kept_short_clean_and_not_at_all_after_a_call() -> None:
    tail = StderrTail("s", ["hunter22", "1"])
    tail.feed(b"x" * 1_000_000)
    tail.feed(b"\n\x1b[31mpassword hunter22 1\nunfinished")
    assert tail.last == "[31mpassword … 1"
    tail.finish()
    assert tail.last == "unfinished"
    tail.hush()
    tail.feed(b"what was asked\n")
    assert not tail.last
    assert tail.bytes > 1_000_000
