"""A device replaces its key so many times a day, across restarts; a damaged count begins anew."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import OverloadedError
from homing_core.testing import FakeClock
from homing_crypto.testing import throwaway_identity
from homing_node.devices.rotation_count import DAY_S, MOST_A_DAY, ROTATIONS_FILE, RotationCount

if TYPE_CHECKING:
    from pathlib import Path

ONE, OTHER = (throwaway_identity().device_id for _ in range(2))


def test_the_share_of_a_day_is_refused_beyond_and_survives_a_restart(tmp_path: Path) -> None:
    clock, path = FakeClock(), tmp_path / ROTATIONS_FILE
    for _ in range(MOST_A_DAY):
        RotationCount(path, clock).count(ONE)
    with pytest.raises(OverloadedError, match="5 times within a day"):
        RotationCount(path, clock).count(ONE)
    RotationCount(path, clock).count(OTHER)
    clock.advance(DAY_S)
    RotationCount(path, clock).count(ONE)


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", b'{"a": 3}', b'{"a": [NaN]}', b'{"a": ["x"]}', b"[" * 99_999, b"\xff"],
)
def test_a_damaged_count_begins_anew(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / ROTATIONS_FILE
    path.write_bytes(content)
    path.chmod(0o600)
    RotationCount(path, FakeClock()).count(ONE)
    assert ONE.encode() in path.read_bytes()


def test_a_clock_that_is_set_back_locks_nobody_out_for_long(tmp_path: Path) -> None:
    clock, path = FakeClock(), tmp_path / ROTATIONS_FILE
    for _ in range(MOST_A_DAY):
        RotationCount(path, clock).count(ONE)
    back = FakeClock(clock.now() - 30 * DAY_S)
    RotationCount(path, back).count(ONE)
    assert len(json.loads(path.read_bytes())[ONE]) == 1
