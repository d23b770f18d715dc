"""What a result file holds, so that a figure can be traced to the run that gave it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"


def write_result(name: str, samples: Mapping[str, Sequence[float]], facts: dict[str, Any]) -> Path:
    """Write `bench/results/NAME.json`.

    Args:
        name: of the benchmark.
        samples: raw values by what they are; the unit ends the name.
        facts: whatever else a reader needs, ratios among them.
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    content = {
        "benchmark": name,
        "command": f"make bench-{name}",
        "commit": _git("rev-parse", "HEAD"),
        "dirty": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "at": int(time.time()),
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "processor": _processor(),
            "cores": len(os.sched_getaffinity(0)),
            "load_average": [round(value, 2) for value in os.getloadavg()],
            "python": platform.python_version(),
        },
        "facts": facts,
        "medians": {key: round(median(values), 2) for key, values in samples.items()},
        "samples": {key: [round(value, 2) for value in values] for key, values in samples.items()},
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


def figures_of(recipes: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """The figures whose samples are there; a recipe raises `KeyError` where they are missing."""
    found: dict[str, float] = {}
    for name, recipe in recipes.items():
        try:
            found[name] = round(recipe(), 4)
        except KeyError:
            continue
    return found


def report(found: Mapping[str, float], reach: Mapping[str, tuple[str, float]]) -> None:
    """Print a line for each figure: its value, and what it has to reach.

    Args:
        found: figures by name.
        reach: for each, `>=`, `<=` or `report`, and the number.
    """
    for name, value in found.items():
        sign, limit = reach[name]
        reached = value >= limit if sign == ">=" else value <= limit
        verdict = "" if sign == "report" else f"{sign} {limit:g}  {'ok' if reached else 'MISSED'}"
        print(f"{name:40} {value:10.3f}   {verdict}")  # noqa: T201  # what the command is for


def _git(*arguments: str) -> str:
    done = subprocess.run(  # noqa: S603  # fixed words
        ["git", *arguments],  # noqa: S607  # whichever git the user has
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if "model name" in line), "")
