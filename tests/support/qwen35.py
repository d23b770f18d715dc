"""The real chat template of Qwen3.5, for tests: fetched once, verified, never committed.

It lies in the source distribution of llama-cpp-python. `HOMING_TEST_CACHE` says where to keep it;
otherwise that is `.cache/` of this checkout.
"""

from __future__ import annotations

import os
import tarfile
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import IO

from filelock import FileLock
from support.sdist import VERSION, fetch_sdist

_MEMBER = "vendor/llama.cpp/models/templates/Qwen3.5-4B.jinja"
_KEPT = f"qwen3.5-{VERSION}.jinja"
_MAX_TEMPLATE = 1 << 20


def cache_dir() -> Path:
    """Where tests keep what they fetched."""
    given = os.environ.get("HOMING_TEST_CACHE")
    folder = Path(given) if given else Path(__file__).resolve().parents[2] / ".cache"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def qwen35_template() -> str:
    """The template's text; downloads 77 MB the first time.

    Raises:
        RuntimeError: the package index does not have it, or sent something else.
        OSError: the package index cannot be reached.
    """
    kept = cache_dir() / _KEPT
    with FileLock(kept.with_suffix(".lock")):
        if not kept.exists():
            _replace(kept, _fetch(kept.parent))
    return kept.read_text("utf-8")


def _replace(path: Path, data: bytes) -> None:
    with NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data)
    Path(file.name).replace(path)


def _fetch(folder: Path) -> bytes:
    with TemporaryDirectory(dir=folder) as name:
        sdist = Path(name) / "sdist.tar.gz"
        with sdist.open("wb") as file:
            fetch_sdist(file)
        with tarfile.open(sdist, "r|gz") as archive:
            for member in archive:
                if member.isfile() and member.name.partition("/")[2] == _MEMBER:
                    return _read(archive.extractfile(member))
    msg = f"the source distribution of llama-cpp-python {VERSION} holds no {_MEMBER}"
    raise RuntimeError(msg)


def _read(file: IO[bytes] | None) -> bytes:
    data = b"" if file is None else file.read(_MAX_TEMPLATE + 1)
    if not 0 < len(data) <= _MAX_TEMPLATE:
        msg = "the template in the source distribution is empty or far too large"
        raise RuntimeError(msg)
    return data
