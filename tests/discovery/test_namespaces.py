"""Real changes of a real network, each in a namespace of its own."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from support.namespaced import SCENARIOS

TESTS = Path(__file__).parent.parent


@pytest.mark.parametrize("scenario", list(SCENARIOS))
async def test_a_scenario_comes_to_its_end(scenario: str) -> None:
    options = ["--net"] if os.geteuid() == 0 else ["--net", "--map-root-user"]
    child = await asyncio.create_subprocess_exec(
        "unshare",
        *options,
        sys.executable,
        "-m",
        "support.namespaced",
        scenario,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await child.communicate()
    assert out == b"ok\n", err.decode()
