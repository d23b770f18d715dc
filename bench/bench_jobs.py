"""Measures how jobs survive and how fast they are: `make bench-jobs`; goals are in `REACH`.

Node and phone run on one machine; nothing else should run beside them. Takes about ten minutes on 2
cores.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from engine.setting import Results
from homing_agent.runtime.logs import silence_logging
from jobs.pace import measure_drain, measure_events, measure_submit
from record import figures_of, report, write_result
from support.job_kills import Tally, kill_run
from support.postgres import postgres_server

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

KILLS = 100
REACH: dict[str, tuple[str, float]] = {
    "kills": (">=", KILLS),
    "lost": ("<=", 0),
    "duplicated": ("<=", 0),
    "failed": ("<=", 0),
    "unknown_reported": ("report", 0),
    "postgres_kills": (">=", KILLS),
    "postgres_lost": ("<=", 0),
    "postgres_duplicated": ("<=", 0),
    "postgres_failed": ("<=", 0),
    "postgres_unknown_reported": ("report", 0),
    "submit_p50_ms": ("report", 0),
    "event_to_watcher_p50_ms": ("report", 0),
    "drain_1000_per_s": ("report", 0),
    "drain_1000_rss_mb": ("report", 0),
    "restart_to_resume_ms": ("report", 0),
}
_COUNTED = ("kills", "jobs", "lost", "duplicated", "failed", "unknown_reported", "had_happened")


def figures(samples: dict[str, list[float]]) -> dict[str, float]:
    """The figures from raw samples; those whose samples are missing are left out."""

    def counted(name: str) -> Callable[[], float]:
        return lambda: samples[name][0]

    recipes: dict[str, Callable[[], float]] = {
        **{name: counted(name) for name in REACH if name.startswith("postgres_")},
        **{name: counted(name) for name in _COUNTED if name in REACH},
        "submit_p50_ms": lambda: median(samples["submit_ms"]),
        "event_to_watcher_p50_ms": lambda: median(samples["event_to_watcher_ms"]),
        "drain_1000_per_s": lambda: 1000 / median(samples["drain_1000_s"]),
        "drain_1000_rss_mb": lambda: max(samples["drain_1000_rss_mb"]),
        "restart_to_resume_ms": lambda: median(samples["restart_to_resume_ms"]),
    }
    return figures_of(recipes)


async def measure_kills(results: Results) -> None:
    """`kills`, `lost`, `duplicated`, `unknown_reported`, `restart_to_resume_ms`: SQLite."""
    seed = time.time_ns() % 1_000_000
    with tempfile.TemporaryDirectory(prefix="homing-bench-") as name:
        tally = await kill_run(Path(name), KILLS, seed)
    _note(results, "", seed, tally)
    for value in tally.resume_ms:
        results.add("restart_to_resume_ms", value)


async def measure_postgres_kills(results: Results) -> None:
    """The same with two daemons on one Postgres, either of which is killed."""
    seed = time.time_ns() % 1_000_000
    with (
        tempfile.TemporaryDirectory(prefix="homing-bench-") as name,
        postgres_server() as server,
    ):
        tally = await kill_run(Path(name), KILLS, seed, database=server.new_database(), daemons=2)
    _note(results, "postgres_", seed, tally)


def _note(results: Results, prefix: str, seed: int, tally: Tally) -> None:
    results.facts[f"{prefix}seed"] = seed
    for name in _COUNTED:
        results.add(f"{prefix}{name}", getattr(tally, name))


async def measure(wanted: set[str], results: Results) -> None:
    """Run the parts that are wanted, one after the other; all if none is named."""
    parts: dict[str, Callable[[Results], Coroutine[None, None, None]]] = {
        "submit": measure_submit,
        "events": measure_events,
        "drain": measure_drain,
        "kills": measure_kills,
        "postgres": measure_postgres_kills,
    }
    if unknown := wanted - parts.keys():
        sys.exit(f"no such part: {', '.join(unknown)}; there are {', '.join(parts)}")
    for name, part in parts.items():
        if not wanted or name in wanted:
            print(f"-- {name}", file=sys.stderr)  # noqa: T201  # progress
            await part(results)


def main() -> None:
    """Measure and print; a whole run also writes bench/results/jobs.json."""
    wanted, results = set(sys.argv[1:]), Results()
    silence_logging()
    asyncio.run(measure(wanted, results))
    found = figures(results.samples)
    report(found, REACH)
    if wanted:
        print("a part alone is not recorded")  # noqa: T201  # as above
        return
    reach = {name: f"{sign} {limit:g}" for name, (sign, limit) in REACH.items()}
    facts = {**results.facts, "figures": found, "reach": reach}
    print(f"written: {write_result('jobs', results.samples, facts)}")  # noqa: T201  # as above


if __name__ == "__main__":
    main()
