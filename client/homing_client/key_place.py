"""Where a phone keeps its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homing_agent.runtime.paths import ProgramPaths
    from homing_agent.runtime.unlock import KeyPlace

PASSPHRASE_FILE_VARIABLE = "HOMING_PASSPHRASE_FILE"  # noqa: S105  # a variable's name
IDENTITY_FOLDER = "identity"
"""In the data directory."""


def key_place(paths: ProgramPaths) -> KeyPlace:
    """The folder of its keys, and how their passphrase is found."""
    from homing_agent.runtime.unlock import KeyPlace  # noqa: PLC0415  # keep help quick

    folder = paths.data_dir / IDENTITY_FOLDER
    return KeyPlace("homing", folder, PASSPHRASE_FILE_VARIABLE, "homing serve")
