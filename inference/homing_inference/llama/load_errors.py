"""Why a model file cannot be loaded, in words for a person."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from homing_core.errors import (
    HomingError,
    IntegrityError,
    InvalidDataError,
    NotFoundError,
    OverloadedError,
    UsageError,
)

from homing_inference.catalog.gguf_header import GgufHeader, check_gguf
from homing_inference.llama.refusals import adapter_fault, model_fault

if TYPE_CHECKING:
    from pathlib import Path

_UNKNOWN_ARCHITECTURE: Final = re.compile(r"unknown model architecture: '([\w.-]{1,40})'")
# What llama.cpp logs; see llama-model-loader.cpp, llama-mmap.cpp and gguf.cpp.
_CUT_OFF: Final = (
    "within the file bounds",
    "corrupted or incomplete",
    "unexpectedly reached end of file",
    "failed to read",
    "read error",
)
_NO_MEMORY: Final = ("unable to allocate", "failed to allocate", "mmap failed", "bad_alloc")
_OTHER_MODEL: Final = ("arch mismatch", "does not exist in base model", "incorrect shape")
_CONVERT_ADAPTER: Final = "Convert it to a LoRA adapter in GGUF format."
_FETCH_AGAIN: Final = "Delete it and fetch it again."


def check_file(path: Path) -> None:
    """Look at a model file before native code does.

    Raises:
        NotFoundError: there is no such file.
        UsageError: it is a folder, or may not be read.
        InvalidDataError: it is not a GGUF file of a known version, or one that llama.cpp would not
            survive.
        IntegrityError: it is shorter than its header says.
    """
    fault = model_fault(_header(path))
    if fault:
        msg = f"{path.name} {fault}"
        raise InvalidDataError(msg, "Use another file of this model.")


def _header(path: Path) -> GgufHeader:
    try:
        return check_gguf(path)
    except FileNotFoundError:
        msg = f"there is no model file {path}"
        raise NotFoundError(msg, "Check the path, or fetch the model.") from None
    except OSError as error:
        msg = f"the model file {path} cannot be read: {error.strerror or 'the system refused it'}"
        raise UsageError(msg, "Name a GGUF file that you may read.") from error


def check_adapter(path: Path, name: str) -> str:
    """Look at an adapter's file before native code does.

    Returns:
        Its SHA-256, hex.

    Raises:
        NotFoundError: there is no such file.
        UsageError: it is a folder, or may not be read, or the name is empty.
        InvalidDataError: it is not a LoRA adapter in GGUF format.
        IntegrityError: it is shorter than its header says.
    """
    if not name:
        msg = f"the adapter {path.name} has no name"
        raise UsageError(msg, "Give each adapter a name.")
    fault = adapter_fault(_header(path))
    if fault:
        msg = f"{path.name} {fault}"
        raise InvalidDataError(msg, _CONVERT_ADAPTER)
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def adapter_error(path: Path, native_errors: str) -> HomingError:
    """Why a GGUF file could not be used as an adapter, from what llama.cpp logged."""
    if any(words in native_errors for words in _CUT_OFF):
        msg = f"the adapter {path.name} is cut off or damaged"
        return IntegrityError(msg, _FETCH_AGAIN)
    if any(words in native_errors for words in _OTHER_MODEL):
        msg = f"the adapter {path.name} was made for another model"
        return InvalidDataError(msg, "Use it with the model that it was trained on.")
    msg = f"{path.name} is not a LoRA adapter that this llama.cpp can use"
    return InvalidDataError(msg, _CONVERT_ADAPTER)


def load_error(path: Path, native_errors: str) -> HomingError:
    """Why a model that looked like GGUF could not be loaded, from what llama.cpp logged."""
    architecture = _UNKNOWN_ARCHITECTURE.search(native_errors)
    if architecture:
        msg = f"{path.name} has the architecture {architecture[1]}, which this llama.cpp lacks"
        return InvalidDataError(msg, "Update llama-cpp-python, or use another model.")
    if any(words in native_errors for words in _CUT_OFF):
        msg = f"the model file {path.name} is cut off or damaged"
        return IntegrityError(msg, _FETCH_AGAIN)
    if any(words in native_errors for words in _NO_MEMORY):
        msg = f"there is not enough memory for {path.name}"
        return OverloadedError(msg, "Close other programs, or use a smaller model.")
    msg = f"{path.name} is damaged, or not a model that can write text"
    return InvalidDataError(msg, f"{_FETCH_AGAIN} The log at level debug says more.")
