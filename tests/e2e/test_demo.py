"""`make demo`, without its set-up: the script that shows everything, as it is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from support.commands import ROOT, run_program
from support.household import environment

if TYPE_CHECKING:
    from pathlib import Path

LIMIT_S = 600.0


@pytest.mark.timeout(LIMIT_S + 60)
def test_the_demo_shows_what_it_promises(
    tmp_path: Path, models_dir: Path, stand_in_phone: Path, stand_in_bf16: Path
) -> None:
    assert stand_in_phone.parent == stand_in_bf16.parent == models_dir
    (tmp_path / "tmp").mkdir()
    env = environment(tmp_path, models_dir) | {"TMPDIR": str(tmp_path / "tmp"), "COLUMNS": "200"}
    done = run_program([sys.executable, ROOT / "scripts" / "demo.py"], env=env, timeout=LIMIT_S)
    assert done.status == 0, done.out + done.err
    for shown in (
        "uses stand-in models",  # this test never asks the hub
        "Paired with",
        "reminders.ics",
        "was not allowed",
        "kill -9 homing-node",
        "the phone goes on from here",
        "home cannot be reached",
        "First token",
        "nothing is left behind",
    ):
        assert shown in done.out, done.out
    assert list((tmp_path / "tmp").iterdir()) == []
