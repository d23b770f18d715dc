"""An operator's share of the cores, as threads of engines."""

from __future__ import annotations

import pytest
from homing_agent.runtime.model_source import compute_with
from homing_inference.machine.thread_share import share_of


@pytest.mark.parametrize(
    ("threads", "share", "expected"),
    [
        (0, 1.0, (0, 0)),  # everything, as the machine suits
        (6, 1.0, (6, 0)),
        (0, 0.5, (0, 4)),
        (6, 0.5, (4, 4)),  # a fixed number stays within the share
        (2, 0.5, (2, 4)),
        (0, 0.01, (0, 1)),  # never none
    ],
)
def test_a_share_of_eight_cores(threads: int, share: float, expected: tuple[int, int]) -> None:
    assert compute_with(threads, share, cores=8) == expected


def test_engines_that_compute_at_once_stay_within_the_share_together() -> None:
    _, cores = compute_with(0, 0.5, cores=8)
    assert 2 * share_of(cores, others=1) <= cores
