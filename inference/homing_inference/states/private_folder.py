"""A folder that belongs to this user alone, and a secret in it.

Files are opened relative to the folder's descriptor and never through a link, so that nothing which
somebody puts there in a file's place is read or overwritten elsewhere.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_SECRET: Final = "secret"  # noqa: S105  # a file's name
_TEMPORARY: Final = ".new"
_OTHERS: Final = 0o077
_OWN_FOLDER: Final = 0o700
_OWN_FILE: Final = 0o600
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
"""Not blocking: a pipe in a file's place would otherwise hold up whoever opens it."""
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A file in the folder.

    Attributes:
        name: of it.
        size: bytes.
        used_at: seconds since 1970; when it was written or last used.
        temporary: whether it is still being written, or its writer is dead.
    """

    name: str
    size: int
    used_at: float
    temporary: bool


class PrivateFolder:
    """An open folder. Safe to use from several threads.

    Args:
        path: made if it is not there; must not be a link, and must belong to this user.

    Raises:
        OSError: it cannot be made or used.
    """

    def __init__(self, path: Path) -> None:
        """Open it, and close it to others."""
        path.mkdir(mode=_OWN_FOLDER, parents=True, exist_ok=True)
        self._descriptor = os.open(
            path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        )
        try:
            found = os.fstat(self._descriptor)
            if found.st_uid != os.geteuid():
                raise PermissionError(errno.EPERM, "it belongs to another user")
            if found.st_mode & _OTHERS:
                os.fchmod(self._descriptor, _OWN_FOLDER)
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Close it; harmless when repeated."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def open(self, name: str) -> int | None:
        """A descriptor to read a file from; None if there is none.

        Whatever else stands in its place, such as a link or a pipe, is removed.
        """
        try:
            descriptor = os.open(name, _READ, dir_fd=self._descriptor)
        except FileNotFoundError:
            return None
        except OSError:
            self.remove(name)
            return None
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        self.remove(name)
        return None

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        try:
            found = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        except OSError:
            return False
        return stat.S_ISREG(found.st_mode)

    def remove(self, name: str) -> None:
        """Remove a file or a link, if it is there and that can be done."""
        try:
            os.unlink(name, dir_fd=self._descriptor)
        except OSError:
            return

    def write(self, name: str, parts: Sequence[bytes]) -> None:
        """Write a file so that readers see all of it or nothing, also after a power cut.

        Raises:
            OSError: it cannot be written; nothing of it is left behind.
        """
        temporary = self._write_temporary(name, parts)
        try:
            os.replace(temporary, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except OSError:
            self.remove(temporary)
            raise

    def entries(self) -> Iterator[FolderEntry]:
        """Its files, the secret left out."""
        with os.scandir(self._descriptor) as found:
            for entry in found:
                if entry.name == _SECRET or not entry.is_file(follow_symlinks=False):
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:  # another process removed it
                    continue
                temporary = entry.name.endswith(_TEMPORARY)
                yield FolderEntry(entry.name, status.st_size, status.st_mtime, temporary)

    def secret(self, size: int) -> bytes:
        """Random bytes that stay the same; made when first wanted, or if others could know them.

        Raises:
            OSError: they cannot be kept.
        """
        known = self._read_secret(size)
        if known is not None:
            return known
        self.remove(_SECRET)
        temporary = self._write_temporary(_SECRET, [secrets.token_bytes(size)])
        folder = self._descriptor
        try:
            # A link never replaces what another process made meanwhile; some disks know none.
            os.link(temporary, _SECRET, src_dir_fd=folder, dst_dir_fd=folder)
        except FileExistsError:
            pass
        except OSError:
            os.replace(temporary, _SECRET, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            self.remove(temporary)
        known = self._read_secret(size)
        if known is None:
            raise OSError(errno.EIO, "its secret cannot be kept")
        return known

    def _read_secret(self, size: int) -> bytes | None:
        descriptor = self.open(_SECRET)
        if descriptor is None:
            return None
        try:
            found = os.fstat(descriptor)
            if found.st_uid != os.geteuid() or found.st_mode & _OTHERS or found.st_size != size:
                return None
            data = os.read(descriptor, size)
        finally:
            os.close(descriptor)
        return data if len(data) == size else None

    def _write_temporary(self, name: str, parts: Sequence[bytes]) -> str:
        temporary = f"{name}.{secrets.token_hex(8)}{_TEMPORARY}"
        descriptor = os.open(temporary, _CREATE, _OWN_FILE, dir_fd=self._descriptor)
        try:
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                for part in parts:
                    left = memoryview(part)
                    while left:
                        left = left[file.write(left) :]
                os.fsync(file.fileno())
        except OSError:
            self.remove(temporary)
            raise
        return temporary
