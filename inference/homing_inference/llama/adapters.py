"""LoRA adapters of a loaded model: small files that change what it computes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from homing_core.errors import NotFoundError

from homing_inference.llama.library import native_log
from homing_inference.llama.load_errors import adapter_error, check_adapter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from homing_inference.llama.model import LoadedModel


class Adapters:
    """Adapters by name; "" is none. Loaded once, freed with the model.

    Args:
        model: that they were made for.
        files: name to GGUF file.

    Raises:
        NotFoundError: there is no such file.
        UsageError: it cannot be read, or a name is empty.
        InvalidDataError: it is no LoRA adapter, or was made for another model.
        IntegrityError: it is cut off.
    """

    def __init__(self, model: LoadedModel, files: Mapping[str, Path]) -> None:
        """Load all of them."""
        self._loaded: Final[dict[str, object]] = {}
        self._digests: Final[dict[str, str]] = {"": ""}
        for name, path in files.items():
            digest = check_adapter(path, name)
            native_log.errors()
            handle = model.library.llama_adapter_lora_init(model.handle, os.fsencode(path))
            if not handle:
                raise adapter_error(path, native_log.errors())
            self._loaded[name] = handle
            self._digests[name] = digest

    def __contains__(self, name: str) -> bool:
        """Whether there is one of this name; "" always is."""
        return name in self._digests

    def handle(self, name: str) -> object | None:
        """What llama.cpp knows it by; None for "".

        Raises:
            NotFoundError: there is none of this name.
        """
        self._check(name)
        return self._loaded.get(name)

    def digests(self) -> dict[str, str]:
        """Each adapter's name and the SHA-256 of its file, hex."""
        return {name: digest for name, digest in self._digests.items() if name}

    def digest(self, name: str) -> str:
        """SHA-256 of its file, hex; empty for "".

        Raises:
            NotFoundError: there is none of this name.
        """
        self._check(name)
        return self._digests[name]

    def _check(self, name: str) -> None:
        if name not in self._digests:
            known = ", ".join(sorted(self._loaded)) or "none is loaded"
            msg = f"there is no adapter {name!r}"
            raise NotFoundError(msg, f"Known adapters: {known}.")
