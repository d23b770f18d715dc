"""Servers from the npm registry, installed once into the checkout's cache."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import pytest
from filelock import FileLock

CACHE: Final = Path(__file__).resolve().parents[3] / ".cache" / "npm"
FILESYSTEM: Final = ("@modelcontextprotocol/server-filesystem", "2026.8.31")


def installed(package: str, version: str) -> Path:
    """The folder of programs of a package, without what its install scripts would do."""
    folder = CACHE / f"{package.rpartition('/')[2]}-{version}"
    programs = folder / "node_modules" / ".bin"
    CACHE.mkdir(parents=True, exist_ok=True)
    with FileLock(CACHE / "lock"):
        if not programs.is_dir():
            _install(f"{package}@{version}", folder)
    return programs


def _install(what: str, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.fail("there is no npm: install Node.js 20 or later, which brings it")
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        fresh = Path(scratch) / "fresh"
        done = subprocess.run(  # noqa: S603  # a pinned package
            [
                npm,
                "install",
                "--prefix",
                fresh,
                "--no-audit",
                "--no-fund",
                "--ignore-scripts",
                what,
            ],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        if done.returncode:
            pytest.fail(f"npm could not install {what}; is the registry reachable? {done.stderr}")
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
