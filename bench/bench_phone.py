"""How fast the phone answers by itself, warm, against the same request without a warm prefix.

It asks through `homing ask --json`, as a script would, so the figures hold everything a person
waits for but the start of the command itself. The cold figure comes from a process whose engine
has just been loaded and has not read the tools yet: the first request of `homing serve`, asked
before it says that it is ready.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from record import write_result

if TYPE_CHECKING:
    from collections.abc import Generator

BIN = Path(sys.executable).parent
ROUNDS = 8
COLD_ROUNDS = 3
REQUESTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "tool": ("Remind me to call mom tomorrow at 9am", ("--allow", "set_reminder")),
    "text": ("What is the capital of France?", ()),
}
START_S = 180.0


@contextlib.contextmanager
def resident(*, wait_for: str) -> Generator[dict[str, str]]:
    """A resident process on a fresh data directory; gives the environment to ask it in."""
    with tempfile.TemporaryDirectory(prefix="homing-bench-") as folder:
        environment = os.environ | {"HOMING_DATA_DIR": folder, "HOMING_HOME_MDNS": "false"}
        process = subprocess.Popen(  # noqa: S603  # our own program
            [str(BIN / "homing"), "serve", "--stand-in", "--json"],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            _wait_for(process, wait_for)
            yield environment
        finally:
            process.terminate()
            process.wait()


def _wait_for(process: subprocess.Popen[str], event: str) -> None:
    seen: queue.Queue[bool] = queue.Queue()

    def read() -> None:
        for line in process.stdout or ():
            if json.loads(line)["event"] == event:
                seen.put(True)  # noqa: FBT003  # a mark, not a choice
        seen.put(False)  # noqa: FBT003  # as above

    threading.Thread(target=read, daemon=True).start()
    if not seen.get(timeout=START_S):
        msg = f"homing serve ended before it said {event}"
        raise RuntimeError(msg)


def ask(
    environment: dict[str, str], text: str, options: tuple[str, ...]
) -> tuple[dict[str, Any], float]:
    """The answer's last line, and the wall time of the whole command in milliseconds."""
    started = time.perf_counter()
    done = subprocess.run(  # noqa: S603  # our own program
        [str(BIN / "homing"), "ask", "--json", "--route", "phone", *options, text],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    wall_ms = (time.perf_counter() - started) * 1000
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer, wall_ms


def main() -> None:
    """Measure, print, and write bench/results/phone.json."""
    samples: dict[str, list[float]] = {}
    facts: dict[str, Any] = {}
    with resident(wait_for="ready") as environment:
        for name, (text, options) in REQUESTS.items():
            ask(environment, text, options)
            for _ in range(ROUNDS):
                answer, wall = ask(environment, text, options)
                samples.setdefault(f"{name}_warm_first_token_ms", []).append(answer["ttft_ms"])
                samples.setdefault(f"{name}_warm_total_ms", []).append(answer["total_ms"])
                samples.setdefault(f"{name}_warm_command_ms", []).append(wall)
                facts["model"] = answer["model"]
                facts["stand_in"] = answer["stand_in"]
    for _ in range(COLD_ROUNDS):
        for name, (text, options) in REQUESTS.items():
            with resident(wait_for="listening") as environment:
                answer, _wall = ask(environment, text, options)
                samples.setdefault(f"{name}_cold_first_token_ms", []).append(answer["ttft_ms"])
    for name in REQUESTS:
        cold = median(samples[f"{name}_cold_first_token_ms"])
        warm = median(samples[f"{name}_warm_first_token_ms"])
        facts[f"{name}_first_token_cold_over_warm"] = round(cold / warm, 1)
        print(  # noqa: T201  # this is what the command is for
            f"{name}: first token {warm:.0f} ms warm, {cold:.0f} ms cold "
            f"({cold / warm:.1f} times), "
            f"done in {median(samples[f'{name}_warm_total_ms']):.0f} ms, "
            f"the whole command {median(samples[f'{name}_warm_command_ms']):.0f} ms"
        )
    print(f"written: {write_result('phone', samples, facts)}")  # noqa: T201  # as above


if __name__ == "__main__":
    main()
