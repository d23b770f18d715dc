"""Pinned prefixes on disk, so that a new process starts warm.

Only system message and tools lie there: this module takes `Prefix` values, and `Beginnings.pin`,
which alone makes them, refuses everything else. A file is used only if all of it was written under
the folder's secret for exactly the wanted model, build, adapter and tokens; any other is removed,
and the prefix computed anew. Whatever the disk does, the engine goes on without it.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

import structlog

from homing_inference.states import state_file
from homing_inference.states.latest_writer import LatestWriter
from homing_inference.states.private_folder import PrivateFolder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from homing_inference.states.prefixes import Prefix

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

DEFAULT_STATE_BYTES: Final = 1 << 29
"""Of disk, where nobody says otherwise; a prefix of 3,000 tokens takes 36 MB for the 0.5B."""
_ENDING: Final = ".prefix"
_STALE_S: Final = 3600
"""After so long without a change, whoever began to write a file is dead."""


class PrefixFiles:
    """A folder of prefixes; a `PrefixStore`. Belongs to one thread, and writes in another one.

    Args:
        folder: of this user alone; several processes may share it.
        max_bytes: of disk; the least recently used files go first.
        model_sha256: of the model's file, hex; without it nothing is kept.
        fingerprint: see `Sequences.fingerprint`.
        adapters: each adapter's name and the SHA-256 of its file, hex.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_bytes: int = DEFAULT_STATE_BYTES,
        model_sha256: str,
        fingerprint: str,
        adapters: Mapping[str, str] | None = None,
    ) -> None:
        """Open the folder."""
        self._max_bytes: Final = max_bytes
        self._model_sha256: Final = model_sha256
        self._fingerprint: Final = fingerprint
        self._adapters: Final = {"": "", **(adapters or {})}
        self._secret = b""
        self._folder: PrivateFolder | None = None
        self._writable = True
        self._writer: Final = LatestWriter(self._write)
        if not model_sha256:
            return
        try:
            self._folder = PrivateFolder(folder)
            self._secret = self._folder.secret(state_file.SECRET_BYTES)
        except OSError as error:
            self._give_up(error)
            if self._folder is not None:
                self._folder.close()
                self._folder = None

    def load(self, tokens: Sequence[int], *, adapter: str) -> Prefix | None:
        """Exactly this prefix, if it is kept and sound. What is not sound is removed."""
        key = self._key(tokens, adapter)
        if self._folder is None or key is None:
            return None
        waiting = self._writer.waiting(key.hex())
        if waiting is not None:
            return waiting
        descriptor = self._folder.open(_name(key))
        if descriptor is None:
            return None
        try:
            prefix = self._read(descriptor, key)
        except (OSError, MemoryError):
            prefix = None
        finally:
            os.close(descriptor)
        if prefix is None or prefix.tokens != tuple(tokens):
            _log.warning("engine.saved_prefix_unsound", what="it is computed anew")
            self._folder.remove(_name(key))
            return None
        return prefix

    def keeps(self, tokens: Sequence[int], *, adapter: str) -> bool:
        """Whether it is kept already, or about to be, or cannot be kept at all."""
        key = self._key(tokens, adapter)
        if self._folder is None or key is None or not self._writable:
            return True
        return self._writer.waiting(key.hex()) is not None or self._folder.has(_name(key))

    def put(self, prefix: Prefix, *, adapter: str) -> None:
        """Keep it; written in the background."""
        key = self._key(prefix.tokens, adapter)
        if self._folder is not None and key is not None and self._writable:
            self._writer.put(key.hex(), prefix)

    def drop(self, tokens: Sequence[int], *, adapter: str) -> None:
        """Remove it."""
        key = self._key(tokens, adapter)
        if self._folder is not None and key is not None:
            self._folder.remove(_name(key))

    def flush(self, timeout_s: float) -> bool:
        """Wait until everything is written; whether it is."""
        return self._writer.flush(timeout_s)

    def close(self) -> None:
        """Finish what is being written, within seconds."""
        # Where the writer hangs on a dead disk, it keeps the folder open until the process ends.
        if self._writer.close() and self._folder is not None:
            self._folder.close()
            self._folder = None

    def _key(self, tokens: Sequence[int], adapter: str) -> bytes | None:
        adapter_sha256 = self._adapters.get(adapter)
        if adapter_sha256 is None or (adapter and not adapter_sha256):
            return None
        return state_file.prefix_key(
            tokens,
            model_sha256=self._model_sha256,
            fingerprint=self._fingerprint,
            adapter_sha256=adapter_sha256,
        )

    def _read(self, descriptor: int, key: bytes) -> Prefix | None:
        size = os.fstat(descriptor).st_size
        if size > self._max_bytes:
            return None
        with open(descriptor, "rb", buffering=0, closefd=False) as file:
            header = state_file.read_header(file.read(state_file.HEADER_BYTES), key, size)
            if header is None:
                return None
            # Read, not mapped: nobody can change these bytes once they have proved sound, and a
            # file that is cut short meanwhile is an error here instead of a signal.
            tokens = file.read(header.token_bytes)
            state = file.read(header.state_bytes)
        prefix = state_file.decode(header, tokens, state, self._secret)
        if prefix is not None:
            os.utime(descriptor)
        return prefix

    def _write(self, key: str, prefix: Prefix) -> None:
        """In the writer's thread."""
        folder = self._folder
        if folder is None:
            return
        try:
            head, state = state_file.encode(prefix, bytes.fromhex(key), self._secret)
            size = len(head) + len(state)
            if size > self._max_bytes:
                return
            self._trim(folder, self._max_bytes - size)
            folder.write(key + _ENDING, (head, state))
        except (OSError, MemoryError) as error:
            self._give_up(error)

    def _trim(self, folder: PrivateFolder, most: int) -> None:
        """Remove files, the least recently used ones first, until they take at most so much."""
        entries = sorted(folder.entries(), key=lambda entry: entry.used_at)
        now = time.time()
        total = sum(entry.size for entry in entries)
        for entry in entries:
            stale = entry.temporary and now - entry.used_at > _STALE_S
            if stale or (total > most and not entry.temporary):
                folder.remove(entry.name)
                total -= entry.size

    def _give_up(self, error: OSError | MemoryError) -> None:
        """Write nothing more; said once."""
        if self._writable:
            self._writable = False
            why = (error.strerror or "") if isinstance(error, OSError) else "out of memory"
            _log.warning("engine.prefixes_not_saved", why=why)


def _name(key: bytes) -> str:
    return key.hex() + _ENDING
