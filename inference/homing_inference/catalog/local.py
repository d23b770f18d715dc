"""A model file of the user's own, anywhere on this machine."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from homing_core.errors import HomingError, InvalidDataError, NotFoundError
from homing_core.labels import clean_label

from homing_inference.catalog.files import sha256_file
from homing_inference.catalog.gguf_header import check_gguf
from homing_inference.catalog.sidecar import Sidecar, read_sidecar, write_sidecar

if TYPE_CHECKING:
    from pathlib import Path

    from homing_inference.catalog.progress import Progress
    from homing_inference.catalog.store import Store


def looks_like_path(text: str) -> bool:
    """Whether a person means a file: it ends in .gguf or has a path separator."""
    return text.lower().endswith(".gguf") or "/" in text or os.sep in text


def absolute_path(path: Path) -> Path:
    """The path as the operating system knows it, `~` included; links stay as they are."""
    return path.expanduser().absolute()


async def open_local(path: Path, store: Store, progress: Progress) -> Sidecar:
    """Check a user's own file and tell its hash, size and quantization.

    The hash is remembered in the models folder, not beside the file, which is not ours.

    Raises:
        NotFoundError: there is no such file.
        InvalidDataError: it cannot be read or is not a GGUF file.
        IntegrityError: it is truncated.
    """
    label = clean_label(str(path), 200)
    absolute = absolute_path(path)
    key = hashlib.sha256(os.fsencode(absolute)).hexdigest()[:32]
    memory = store.incoming / f"local-{key}.json"
    try:
        if not absolute.is_file():
            what = "is a folder, not a file" if absolute.is_dir() else "does not exist"
            msg = f"{label} {what}"
            raise NotFoundError(msg, "Give the path of a .gguf file, or a name of `homing models`.")
        stat = absolute.stat()
        known = read_sidecar(memory)
        if known is not None and known.fits(stat):
            return known
        header = check_gguf(absolute)
        sha256 = await sha256_file(absolute, progress, f"checking {absolute.name}")
    except OSError as error:
        said = os.strerror(error.errno) if error.errno else "input/output error"
        msg = f"{label} cannot be read: {said}"
        raise InvalidDataError(msg, "Check the file and its permissions.") from error
    sidecar = Sidecar(
        sha256, stat.st_size, stat.st_mtime_ns, header.quantization, os.fspath(absolute)
    )
    _remember(memory, sidecar)
    return sidecar


def _remember(memory: Path, sidecar: Sidecar) -> None:
    """Only saves time, so a models folder that cannot be written to does no harm here."""
    try:
        memory.parent.mkdir(parents=True, exist_ok=True)
        write_sidecar(memory, sidecar)
    except (OSError, HomingError):
        return
