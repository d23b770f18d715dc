"""The small JSON file beside a model: its hash as last verified, so that it is not hashed again."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from homing_inference.catalog.files import write_atomically

if TYPE_CHECKING:
    import os
    from pathlib import Path

_FORMAT = 1
_MAX_BYTES = 64 << 10
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Sidecar:
    """What was verified.

    Attributes:
        sha256: of the file, lower-case hex.
        size: of the file in bytes.
        mtime_ns: its modification time in nanoseconds, when it was verified.
        quantization: as the file's header says.
        origin: where it came from, for people.
    """

    sha256: str
    size: int
    mtime_ns: int
    quantization: str
    origin: str

    def fits(self, stat: os.stat_result) -> bool:
        """Whether the file still is the one that was verified, by size and time."""
        return stat.st_size == self.size and stat.st_mtime_ns == self.mtime_ns


def write_sidecar(path: Path, sidecar: Sidecar) -> None:
    """Write it atomically."""
    write_atomically(path, json.dumps({"format": _FORMAT, **asdict(sidecar)}, indent=1).encode())


def read_sidecar(path: Path) -> Sidecar | None:
    """Read it; absent, foreign or damaged gives None, and the model is then verified anew."""
    try:
        with path.open("rb") as stream:
            raw: Any = json.loads(stream.read(_MAX_BYTES))
        if raw["format"] != _FORMAT:
            return None
        sidecar = Sidecar(
            raw["sha256"], raw["size"], raw["mtime_ns"], raw["quantization"], raw["origin"]
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    texts = (sidecar.sha256, sidecar.quantization, sidecar.origin)
    numbers = (sidecar.size, sidecar.mtime_ns)
    well_typed = all(type(text) is str for text in texts) and all(
        type(number) is int for number in numbers
    )
    return sidecar if well_typed and _SHA256.fullmatch(sidecar.sha256) else None
