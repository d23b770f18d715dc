"""`make fuzz`: every target with every engine there is, each for so many seconds.

    python -m fuzz.run [--seconds 60] [--jobs 2] [--only PART]

Half of a target's time goes to hypothesis and half to atheris, where there is one. Findings lie in
`.cache/fuzz/findings`, inputs that atheris found worth keeping in `.cache/fuzz/work/*/corpus`, and
what was tried in `.cache/fuzz/report.json`. Exit status 1 if anything was found.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from fuzz.targets import all_targets
from fuzz.worker import SLOW_S, has_atheris
from support.commands import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CACHE = ROOT / ".cache" / "fuzz"
_START_S = 60.0
"""A process may take so long to start and to end, on a busy machine."""


@dataclass(frozen=True)
class Outcome:
    """What one engine did to one target.

    Attributes:
        target: which.
        engine: `hypothesis` or `atheris`.
        inputs: how many were tried.
        slowest_s: seconds that the slowest one took.
        seconds: all of it, the start included.
        finding: what came out that should not; empty if nothing did.
        saved: the input that did it.
    """

    target: str
    engine: str
    inputs: int
    slowest_s: float
    seconds: float
    finding: str
    saved: str


def fuzz(target: str, engine: str, seconds: float) -> Outcome:
    """One target with one engine, in a process of its own."""
    folder = CACHE / "work" / f"{target}.{engine}"
    folder.mkdir(parents=True, exist_ok=True)
    for old in ("done.json", "input"):
        (folder / old).unlink(missing_ok=True)
    begun = time.monotonic()
    command = [sys.executable, "-m", "fuzz.worker", target, engine, str(seconds), str(folder)]
    ended = ""
    with (folder / "output").open("wb") as output:
        try:
            done = subprocess.run(  # noqa: S603  # ourselves
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=seconds + SLOW_S + _START_S,
                check=False,
                env=os.environ | {"PYTHONPATH": str(ROOT / "tests")},
                cwd=folder,
            )
            if done.returncode:
                ended = f"the process ended with status {done.returncode}"
        except subprocess.TimeoutExpired:
            ended = f"the process hung for more than {SLOW_S + _START_S:.0f} s"
    inputs, slowest_s, finding = _told(folder)
    finding = finding or ended
    saved = _save(folder, target, finding) if finding else ""
    took = round(time.monotonic() - begun, 1)
    return Outcome(target, engine, inputs, slowest_s, took, finding, saved)


def _told(folder: Path) -> tuple[int, float, str]:
    try:
        told = json.loads((folder / "done.json").read_text("utf-8"))
    except (OSError, ValueError):
        return 0, 0.0, ""
    return int(told["inputs"]), float(told["slowest_s"]), str(told["finding"])


def _save(folder: Path, target: str, finding: str) -> str:
    try:
        raw = (folder / "input").read_bytes()
    except OSError:
        return ""
    data = raw[8 : 8 + int.from_bytes(raw[:8])]
    findings = CACHE / "findings"
    findings.mkdir(parents=True, exist_ok=True)
    path = findings / f"{target}-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    path.with_suffix(f"{path.suffix}.txt").write_text(finding + "\n", "utf-8")
    return str(path.relative_to(ROOT))


def main() -> int:
    """Fuzz everything; gives the exit status."""
    parser = argparse.ArgumentParser(description="Feed garbage to every parser of outside data.")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at the same time")
    parser.add_argument("--only", default="", help="targets whose name holds this")
    given = parser.parse_args()
    names = [name for name in all_targets() if given.only in name]
    engines = ["hypothesis", "atheris"] if has_atheris() else ["hypothesis"]
    CACHE.mkdir(parents=True, exist_ok=True)
    say = sys.stdout.write
    if len(engines) == 1:
        say("atheris is not here (there is no wheel for this platform): hypothesis alone\n")
    each = given.seconds / len(engines)
    minutes = len(names) * given.seconds / max(given.jobs, 1) / 60
    say(f"{len(names)} targets, {given.seconds:g} s each, about {minutes:.0f} minutes\n")
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(max(given.jobs, 1)) as pool:
        work = [(name, engine, each) for name in names for engine in engines]
        for number, outcome in enumerate(pool.map(fuzz, *zip(*work, strict=True)), start=1):
            outcomes.append(outcome)
            state = f"FOUND {outcome.finding} ({outcome.saved})" if outcome.finding else "ok"
            say(
                f"[{number}/{len(work)}] {outcome.target} {outcome.engine}: "
                f"{outcome.inputs:,} inputs, slowest {outcome.slowest_s:.2f} s, {state}\n"
            )
            sys.stdout.flush()
    found = [outcome for outcome in outcomes if outcome.finding]
    report = {
        "inputs": sum(outcome.inputs for outcome in outcomes),
        "findings": len(found),
        "seconds_each": given.seconds,
        "engines": engines,
        "outcomes": [asdict(outcome) for outcome in outcomes],
    }
    (CACHE / "report.json").write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    say(
        f"fuzz: {report['inputs']:,} inputs to {len(names)} targets, {len(found)} findings; "
        f"{(CACHE / 'report.json').relative_to(ROOT)}\n"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
