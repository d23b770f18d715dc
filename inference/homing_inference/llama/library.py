"""The bindings to llama.cpp: imported when first needed, the native log turned into ours."""

from __future__ import annotations

import collections
import ctypes
import functools
import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog
from homing_core.errors import UnavailableError

if TYPE_CHECKING:
    from types import ModuleType

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

LIBRARY_VARIABLE: Final = "LLAMA_CPP_LIB_PATH"
"""Folder of another build of llama.cpp; read by llama-cpp-python itself."""

# ggml_log_level in ggml.h
_DEBUG_LEVEL: Final = 1
_ERROR_LEVEL: Final = 4
_CONTINUED_LEVEL: Final = 5
_KEPT_LINES: Final = 40

# Between the parts of a computation threads wait for each other. By default they spin without end,
# so that one busy neighbour on a core makes each wait last a time slice: three to ten times slower
# on a shared machine. Sleeping after about a microsecond costs nothing measurable when idle.
_SPIN_VARIABLE: Final = "GOMP_SPINCOUNT"
_SPIN_COUNT: Final = "1000"
# On an abort ggml would start a debugger, which holds the process's descriptors open for seconds.
_NO_BACKTRACE_VARIABLE: Final = "GGML_NO_BACKTRACE"


class NativeLog:
    """Takes llama.cpp's log: debug entries of ours, and the last errors for a better message."""

    def __init__(self) -> None:
        """Nothing is logged yet."""
        self._errors: collections.deque[str] = collections.deque(maxlen=_KEPT_LINES)
        self._continues_error = False

    def take(self, level: int, text: bytes) -> None:
        """One piece of log; called from native threads."""
        if level == _DEBUG_LEVEL:  # a line for every tensor
            return
        line = text.decode("utf-8", "replace").strip()
        error = level == _ERROR_LEVEL or (level == _CONTINUED_LEVEL and self._continues_error)
        self._continues_error = error
        if error and line:
            self._errors.append(line)
        if line.strip("."):
            _log.debug("llama.log", what=line)

    def errors(self) -> str:
        """The errors since the last call, oldest first; they name files and tensors, no prompts."""
        lines = "\n".join(self._errors)
        self._errors.clear()
        return lines


native_log: Final = NativeLog()
_callbacks: Final[list[object]] = []
"""What the library calls until the process ends, and so must not be collected."""


@functools.cache
def load_library() -> ModuleType:
    """`llama_cpp.llama_cpp`, ready for use.

    Raises:
        UnavailableError: it is not installed, or `LLAMA_CPP_LIB_PATH` names a library that does not
            fit the bindings.
    """
    os.environ.setdefault(_SPIN_VARIABLE, _SPIN_COUNT)
    os.environ.setdefault(_NO_BACKTRACE_VARIABLE, "1")
    try:
        library = _import_bindings()
    except (ImportError, OSError, RuntimeError, AttributeError) as error:
        # AttributeError: a function that the bindings know is missing in an older library.
        msg = "the model runtime llama.cpp cannot be loaded"
        hint = (
            f"Unset {LIBRARY_VARIABLE}, or point it at a build that fits llama-cpp-python."
            if LIBRARY_VARIABLE in os.environ
            else "Install llama-cpp-python again."
        )
        raise UnavailableError(msg, hint) from error
    _redirect_log(library)
    library.llama_backend_init()
    return library


@functools.cache
def build_facts() -> str:
    """What tells one build of llama.cpp from another; saved states and results depend on it.

    Its version, the files it consists of (name, bytes, time of change) and the processor's
    features that it uses.
    """
    library = load_library()
    folder = Path(library._lib._name).parent  # noqa: SLF001  # the bindings offer no other way
    files = [
        (path.name, found.st_size, found.st_mtime_ns)
        for path in sorted(folder.iterdir())
        if "llama" in path.name or "ggml" in path.name
        for found in (path.stat(),)
    ]
    return repr((library.llama_version(), library.llama_print_system_info(), files))


def _import_bindings() -> ModuleType:
    """Import them; their loader knows no Android, whose libraries are named as on Linux.

    Python 3.13 and newer call the platform of Termux `android`. The name is put back at once.
    """
    platform = sys.platform
    if platform == "android":
        sys.platform = "linux"
    try:
        return importlib.import_module("llama_cpp.llama_cpp")
    finally:
        sys.platform = platform


def _redirect_log(library: ModuleType) -> None:
    def take(level: int, text: bytes, _data: object) -> None:
        native_log.take(level, text)

    callback = library.llama_log_callback(take)
    _callbacks.append(callback)
    library.llama_log_set(callback, ctypes.c_void_p(0))
