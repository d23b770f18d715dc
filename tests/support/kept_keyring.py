"""A backend of the `keyring` library that keeps its passwords in one file, for tests alone.

`PYTHON_KEYRING_BACKEND=support.kept_keyring.FileKeyring` and `HOMING_TEST_KEYRING=FILE` choose it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend


class FileKeyring(KeyringBackend):
    """Keeps everything, in the clear, and says that it is good."""

    priority = 5  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]  # as the library's own backends do

    def get_password(self, service: str, username: str) -> str | None:
        return self._all().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        path = Path(os.environ["HOMING_TEST_KEYRING"])
        path.write_text(json.dumps(self._all() | {f"{service}/{username}": password}), "utf-8")

    def delete_password(self, service: str, username: str) -> None:
        raise NotImplementedError

    @staticmethod
    def _all() -> dict[str, str]:
        path = Path(os.environ["HOMING_TEST_KEYRING"])
        found: dict[str, str] = json.loads(path.read_text("utf-8")) if path.exists() else {}
        return found


def file_keyring() -> FileKeyring:
    """One of them."""
    return FileKeyring()  # type: ignore[no-untyped-call]  # the library's own constructor
