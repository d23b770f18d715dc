"""One target in a process of its own, until its time is up or something is found.

The input that is being tried lies in a file that is mapped into memory, so that whoever started
this process can read it after a crash or a hang. What was tried is written as JSON at the end.

    python -m fuzz.worker TARGET hypothesis|atheris SECONDS FOLDER
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import mmap
import os
import random
import resource
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from fuzz.inputs import MOST_BYTES, mutated
from homing_agent.runtime.logs import silence_logging
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzz.target import Target

SLOW_S = 5.0
"""An input that takes longer is a finding."""
MOST_MEMORY = 500 << 20
"""By so many bytes an input may make the process larger."""
ADDRESS_SPACE = 16 << 30
"""A backstop for the machine."""

_INSTRUMENTED = (
    "homing_core",
    "homing_proto",
    "homing_crypto",
    "homing_discovery",
    "homing_inference",
    "homing_agent",
    "homing_node",
    "homing_client",
)


class FoundError(Exception):
    """A finding."""


class Trial:
    """Tries inputs, and keeps count."""

    def __init__(self, target: Target, folder: Path) -> None:
        """Map the file of the present input."""
        self.inputs = 0
        self.slowest_s = 0.0
        self._target = target
        self._input = (folder / "input").open("w+b")
        self._input.truncate(8 + MOST_BYTES)
        self._shared = mmap.mmap(self._input.fileno(), 8 + MOST_BYTES)
        self._memory = _memory()

    def __call__(self, data: bytes) -> None:
        """Try one; what comes out of it is a finding."""
        if len(data) > MOST_BYTES:
            return
        self._shared[:8] = len(data).to_bytes(8)
        self._shared[8 : 8 + len(data)] = data
        self.inputs += 1
        signal.setitimer(signal.ITIMER_REAL, SLOW_S)
        begun = time.monotonic()
        try:
            self._target.attempt(data)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.slowest_s = max(self.slowest_s, time.monotonic() - begun)
        grown = _memory() - self._memory
        if grown > MOST_MEMORY:
            self._memory += grown
            msg = f"the process grew by {grown >> 20} MiB"
            raise FoundError(msg)


def _memory() -> int:
    """The most bytes that this process has had in memory."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most << 10


def _too_slow(*_: object) -> None:
    msg = f"an input takes more than {SLOW_S:.0f} s"
    raise FoundError(msg)


def by_hypothesis(target: Target, trial: Trial, seconds: float) -> None:
    """Mutations of valid inputs, and whatever hypothesis makes, in turns."""
    corpus = list(target.seeds())
    for seed in corpus:
        trial(seed)
    end = time.monotonic() + seconds
    plain = st.binary(max_size=400)
    strategy = plain if target.structured is None else target.structured | plain

    @settings(
        max_examples=100,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.target],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(strategy)
    def made(data: bytes) -> None:
        trial(data)

    while time.monotonic() < end:
        for data in mutated(random.getrandbits(64), corpus, 400):
            trial(data)
            if time.monotonic() >= end:
                return
        made()


def by_atheris(name: str, folder: Path, seconds: float, done: Callable[[str], NoReturn]) -> None:
    """What covers more of the code is kept and changed further; does not come back."""
    # There is not a wheel for every platform, and none has types.
    atheris: Any = importlib.import_module("atheris")

    with atheris.instrument_imports(include=list(_INSTRUMENTED)):
        from fuzz.targets import all_targets  # noqa: PLC0415  # to be instrumented

        target = all_targets()[name]
    corpus = folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)
    trial = Trial(target, folder)
    end = time.monotonic() + seconds

    def one(data: bytes) -> None:
        if time.monotonic() >= end:
            _report(folder, trial, "")
            done("")
        try:
            trial(data)
        except BaseException as error:
            _report(folder, trial, _named(error))
            raise

    # The limits on time and memory of one input are ours; its own would kill without a word.
    arguments = [sys.argv[0], f"-max_len={MOST_BYTES}", "-timeout=0", "-rss_limit_mb=0"]
    arguments += ["-verbosity=0", f"-artifact_prefix={folder}/", str(corpus)]
    atheris.Setup(arguments, one)
    atheris.Fuzz()


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:500]


def _report(folder: Path, trial: Trial, finding: str) -> None:
    found = {"inputs": trial.inputs, "slowest_s": round(trial.slowest_s, 3), "finding": finding}
    (folder / "done.json").write_text(json.dumps(found), "utf-8")


def _leave(_: str) -> NoReturn:
    os._exit(0)


def main() -> None:
    """Fuzz the target that the arguments name."""
    name, engine, seconds, folder = sys.argv[1], sys.argv[2], float(sys.argv[3]), Path(sys.argv[4])
    signal.signal(signal.SIGALRM, _too_slow)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    warnings.simplefilter("ignore")
    silence_logging()
    if engine == "atheris":
        by_atheris(name, folder, seconds, _leave)
        return
    from fuzz.targets import all_targets  # noqa: PLC0415  # the other engine imports it differently

    target = all_targets()[name]
    trial = Trial(target, folder)
    finding = ""
    try:
        by_hypothesis(target, trial, seconds)
    except Exception as error:  # noqa: BLE001  # that is what is looked for
        finding = _named(error)
    _report(folder, trial, finding)


def has_atheris() -> bool:
    """Whether it is installed."""
    return importlib.util.find_spec("atheris") is not None


if __name__ == "__main__":
    main()
