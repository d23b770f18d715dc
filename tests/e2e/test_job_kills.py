"""Nodes killed with -9 at random moments: nothing is lost, and nothing happens twice.

The same as `make bench-jobs`, with fewer kills.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from support.job_kills import kill_run

if TYPE_CHECKING:
    from pathlib import Path

    from support.job_kills import Tally
    from support.postgres import PostgresServer

KILLS = 10


def check(tally: Tally) -> None:
    assert tally.kills == KILLS
    assert (tally.lost, tally.duplicated, tally.failed) == (0, 0, 0)
    assert tally.jobs > KILLS
    assert tally.had_happened <= tally.unknown_reported


@pytest.mark.timeout(180)
async def test_a_node_with_its_own_database(tmp_path: Path) -> None:
    check(await kill_run(tmp_path, KILLS, random.randrange(1 << 20)))  # noqa: S311  # a moment


@pytest.mark.timeout(180)
async def test_two_daemons_on_one_postgres(tmp_path: Path, postgres: PostgresServer) -> None:
    seed = random.randrange(1 << 20)  # noqa: S311  # as above
    check(await kill_run(tmp_path, KILLS, seed, database=postgres.new_database(), daemons=2))
