"""How fast the phone answers by itself: warm, and from nothing.

It asks through `homing ask --json`, as a script would. The cold figure is what a person waits for
whose resident process does not run: `homing ask` starts it, the model is loaded, the tools are
read, and then the request is answered. The file itself is on disk already.
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
def fresh_phone() -> Generator[dict[str, str]]:
    """A fresh data directory; whatever was started on it is ended. Gives the environment."""
    with tempfile.TemporaryDirectory(prefix="homing-bench-") as folder:
        environment = os.environ | {"HOMING_DATA_DIR": folder, "HOMING_HOME_MDNS": "false"}
        try:
            yield environment
        finally:
            subprocess.run(  # noqa: S603  # our own program
                [str(BIN / "homing"), "serve", "--stop"],
                env=environment,
                capture_output=True,
                check=False,
            )


@contextlib.contextmanager
def resident() -> Generator[dict[str, str]]:
    """A resident process that is ready; gives the environment to ask it in."""
    with fresh_phone() as environment:
        process = subprocess.Popen(  # noqa: S603  # our own program
            [str(BIN / "homing"), "serve", "--stand-in", "--json"],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            _wait_for(process, "ready")
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
    with resident() as environment:
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
            with fresh_phone() as environment:
                _answer, wall = ask(environment, text, ("--stand-in", *options))
                samples.setdefault(f"{name}_cold_command_ms", []).append(wall)
    for name in REQUESTS:
        cold = median(samples[f"{name}_cold_command_ms"])
        warm = median(samples[f"{name}_warm_command_ms"])
        facts[f"{name}_command_cold_over_warm"] = round(cold / warm, 1)
        print(  # noqa: T201  # this is what the command is for
            f"{name}: first token {median(samples[f'{name}_warm_first_token_ms']):.0f} ms, "
            f"done in {median(samples[f'{name}_warm_total_ms']):.0f} ms, "
            f"the whole command {warm:.0f} ms warm and {cold:.0f} ms cold ({cold / warm:.1f} times)"
        )
    print(f"written: {write_result('phone', samples, facts)}")  # noqa: T201  # as above


if __name__ == "__main__":
    main()
