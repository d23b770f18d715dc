"""Where a node keeps its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homing_agent.runtime.paths import ProgramPaths
    from homing_agent.runtime.unlock import KeyPlace

PASSPHRASE_FILE_VARIABLE = "HOMING_NODE_PASSPHRASE_FILE"  # noqa: S105  # a variable's name


def key_place(paths: ProgramPaths) -> KeyPlace:
    """The folder of its keys, and how their passphrase is found."""
    from homing_agent.runtime.unlock import KeyPlace  # noqa: PLC0415  # keep help quick

    return KeyPlace(paths.program, paths.data_dir, PASSPHRASE_FILE_VARIABLE, "homing-node run")
