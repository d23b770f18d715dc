"""Another format of a model that is here, written by llama.cpp's own quantizer.

It runs in a child process (`python -m homing_inference.catalog.convert`), because native code can
abort; the child reports one line a tensor.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from homing_core.errors import UnavailableError

from homing_inference.catalog.gguf_header import check_gguf
from homing_inference.catalog.models import Converted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from homing_inference.catalog.models import ModelEntry
    from homing_inference.catalog.progress import Progress
    from homing_inference.catalog.store import Store, StoredModel

_MAX_THREADS = 4
_BYTES_PER_PARAMETER = 2
_TENSOR = re.compile(r"\[\s*(\d+)/\s*(\d+)\]")
_REPORT = re.compile(rb"tensor (\d{1,6}) (\d{1,6})")


class ConvertSource:
    """Makes `Converted` origins.

    Args:
        obtain: gives the model to start from, by catalog name, fetching it if need be.
        threads: for the quantizer; None is the machine's cores, at most 4. The result does not
            depend on it.
    """

    def __init__(
        self,
        obtain: Callable[[str, Store, Progress], Awaitable[StoredModel]],
        *,
        threads: int | None = None,
    ) -> None:
        """Start nothing yet."""
        self._obtain = obtain
        self._threads = threads or min(os.cpu_count() or 1, _MAX_THREADS)

    async def fetch(self, entry: ModelEntry, store: Store, progress: Progress) -> StoredModel:
        """See `Source.fetch`."""
        origin = entry.origin
        if not isinstance(origin, Converted):
            raise TypeError(entry.name)
        source = await self._obtain(origin.source, store, progress)
        needed = check_gguf(source.path).parameters * _BYTES_PER_PARAMETER
        store.require_space(needed, f"Writing {entry.name}")
        partial = store.partial(entry)
        partial.resume(f"{source.sha256}:{origin.ftype}")
        partial.restart()
        await self._quantize(source.path, partial.path, origin.ftype, entry, progress)
        made_from = f"made from {origin.source} ({source.sha256[:12]})"
        return await store.adopt(entry, partial, made_from, progress)

    async def _quantize(
        self, source: Path, target: Path, ftype: int, entry: ModelEntry, progress: Progress
    ) -> None:
        label = f"writing {entry.name}"
        progress(0, 0, label)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "homing_inference.catalog.convert"),
            *(str(source), str(target), str(ftype), str(self._threads)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            while process.stdout and (line := await process.stdout.readline()):
                if report := _REPORT.fullmatch(line.strip()):
                    progress(int(report[1]), int(report[2]), label)
            status = await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if status:
            how = f"signal {-status}" if status < 0 else f"status {status}"
            msg = f"llama.cpp's quantizer could not write {entry.name} ({how})"
            hint = "Check memory and disk space, and that llama-cpp-python works on this machine."
            raise UnavailableError(msg, hint)


def quantize(source: Path, target: Path, ftype: int, threads: int) -> int:
    """Run the quantizer in this process, reporting on standard output.

    Returns:
        0 on success.
    """
    import ctypes  # noqa: PLC0415  # only the child process needs it

    import llama_cpp  # noqa: PLC0415  # native, and only the child process may load it

    @llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]  # ctypes makes it
    def log(_level: int, text: bytes, _data: object) -> None:
        if tensor := _TENSOR.match(text.decode("utf-8", "replace")):
            sys.stdout.write(f"tensor {tensor[1]} {tensor[2]}\n")
            sys.stdout.flush()

    llama_cpp.llama_log_set(log, ctypes.c_void_p(0))
    params = llama_cpp.llama_model_quantize_default_params()
    params.nthread = threads
    params.ftype = ftype
    params.allow_requantize = True
    status = llama_cpp.llama_model_quantize(
        os.fsencode(source), os.fsencode(target), ctypes.pointer(params)
    )
    return int(status)


if __name__ == "__main__":
    sys.exit(quantize(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
