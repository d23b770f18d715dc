"""Options that several commands share."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path  # Typer reads the annotation at run time
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_agent.runtime.paths import ProgramPaths

    from homing_node.config import NodeConfig

PROGRAM: Final = "homing-node"

DataDir: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        help="Where this node keeps its key and its devices.",
        show_default="HOMING_DATA_DIR/node, or the user's data folder",
    ),
]
ConfigFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Configuration (TOML).",
        show_default="node.toml in the data directory or the user's configuration folder",
    ),
]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON for scripts, one object a line.")
]
StandIn: TypeAlias = Annotated[
    bool,
    typer.Option("--stand-in", help="Take a small stand-in instead of the product's own model."),
]


@dataclass(frozen=True, slots=True)
class Setup:
    """What a command was told about places."""

    data_dir: Path | None = None
    config: Path | None = None

    def or_else(self, other: object) -> Setup:
        """What is not said here, from the command around this one."""
        if not isinstance(other, Setup):
            return self
        return Setup(self.data_dir or other.data_dir, self.config or other.config)

    @property
    def paths(self) -> ProgramPaths:
        """The node's places; an unexpected error's details go to its log from here on."""
        from homing_agent.runtime.cli import name_log_file  # noqa: PLC0415  # keep help quick
        from homing_agent.runtime.paths import program_paths  # noqa: PLC0415  # as above

        paths = program_paths(PROGRAM, "node", self.data_dir, self.config)
        name_log_file(paths.log_file)
        return paths

    def load(self, changes: Mapping[str, str] | None = None) -> NodeConfig:
        """The configuration; `changes` win over the environment, and that over the file.

        Args:
            changes: further variables, as they would stand in the environment.

        Raises:
            ConfigError: the file is malformed.
        """
        from homing_agent.runtime.configfile import load_config  # noqa: PLC0415  # keep help quick

        from homing_node.config import ENVIRONMENT_PREFIX, NodeConfig  # noqa: PLC0415  # as above
        from homing_node.key_place import PASSPHRASE_FILE_VARIABLE  # noqa: PLC0415  # as above

        environ = {**os.environ, **(changes or {})}
        others = (PASSPHRASE_FILE_VARIABLE,)
        return load_config(self.paths, NodeConfig, ENVIRONMENT_PREFIX, environ, others)

    def command(self, words: str) -> str:
        """A command that reaches the same node, to be shown to a person."""
        more = f" --data-dir {shlex.quote(str(self.data_dir))}" if self.data_dir else ""
        return f"{PROGRAM} {words}{more}"


def quiet() -> None:
    """Drop logs: what a command has to say it prints."""
    from homing_agent.runtime.logs import silence_logging  # noqa: PLC0415  # keep help quick

    silence_logging()
