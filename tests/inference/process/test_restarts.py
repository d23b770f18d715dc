"""An engine that crashes again and again is left alone for a while."""

from __future__ import annotations

import pytest
from homing_core.errors import UnavailableError
from homing_core.testing import FakeClock
from homing_inference.process.restarts import CRASH_LIMIT, CRASH_WINDOW_S, CrashLog


def test_crashes_far_apart_are_forgiven() -> None:
    clock = FakeClock()
    crashes = CrashLog("tiny", clock)
    for _ in range(10):
        crashes.record()
        clock.advance(CRASH_WINDOW_S / (CRASH_LIMIT - 1) + 1)
    crashes.check()
    assert not crashes.given_up


def test_crashes_close_together_are_not() -> None:
    clock = FakeClock()
    crashes = CrashLog("tiny", clock)
    for _ in range(CRASH_LIMIT):
        crashes.record()
        clock.advance(1)
    with pytest.raises(UnavailableError, match="tiny stopped 3 times within a minute"):
        crashes.check()


def test_it_is_tried_again_after_a_minute_without_a_crash() -> None:
    clock = FakeClock()
    crashes = CrashLog("tiny", clock)
    for _ in range(CRASH_LIMIT):
        crashes.record()
    clock.advance(CRASH_WINDOW_S - 1)
    assert crashes.given_up
    clock.advance(1)
    assert not crashes.given_up
    crashes.record()
    assert not crashes.given_up


def test_somebody_may_ask_for_it_sooner() -> None:
    crashes = CrashLog("tiny", FakeClock())
    for _ in range(CRASH_LIMIT):
        crashes.record()
    crashes.clear()
    crashes.check()
    assert not crashes.given_up
