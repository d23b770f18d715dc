"""Programs run to their end, their output kept."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""


@dataclass(frozen=True, slots=True)
class Finished:
    """What a program left: exit status, standard output and standard error."""

    status: int
    out: str
    err: str


def run_program(
    args: Sequence[str | Path],
    *,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    timeout: float = 120.0,
) -> Finished:
    """Run without a shell; `timeout` is in seconds, `env` replaces the environment."""
    done = subprocess.run(  # noqa: S603  # the tests' own programs, no shell
        args,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def project_files(*patterns: str) -> list[Path]:
    """Every file that is or would be committed, relative to `ROOT`; `patterns` are git's."""
    listing = run_program(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns]
    )
    assert listing.status == 0, listing.err
    names = sorted({Path(name) for name in listing.out.split("\0") if name})
    return [name for name in names if (ROOT / name).is_file()]
