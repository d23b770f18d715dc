"""Options that several commands share."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar

import typer
from homing_core.errors import UsageError

if TYPE_CHECKING:
    from homing_agent.runtime.paths import ProgramPaths

    from homing_client.config import ClientConfig

E = TypeVar("E", bound=Enum)

DataDir: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        help="Where this phone keeps its key, history and data.",
        show_default="HOMING_DATA_DIR/phone, or the user's data folder",
    ),
]
ConfigFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Configuration (TOML).",
        show_default="phone.toml in the data directory or the user's configuration folder",
    ),
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON for scripts, one object a line.")
]
StandIn: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--stand-in",
        help="Use a small stand-in model where the product's own cannot be fetched.",
    ),
]
Model: TypeAlias = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="Catalog name or path of a GGUF file."),
]


@dataclass(frozen=True, slots=True)
class Setup:
    """What a command was told about places and the model."""

    data_dir: Path | None = None
    config: Path | None = None
    stand_in: bool = False
    model: str | None = None

    @property
    def paths(self) -> ProgramPaths:
        """The phone's places."""
        from homing_agent.runtime.paths import program_paths  # noqa: PLC0415  # keep help quick

        return program_paths("homing", "phone", self.data_dir, self.config)

    def load(self) -> ClientConfig:
        """The configuration; options win over environment, environment over file.

        Raises:
            ConfigError: the file is malformed.
        """
        from homing_agent.runtime.configfile import load_config  # noqa: PLC0415  # keep help quick

        from homing_client.config import ClientConfig  # noqa: PLC0415  # as above

        environ = dict(os.environ)
        if self.stand_in:
            environ["HOMING_MODEL_STAND_IN"] = "true"
        if self.model is not None:
            environ["HOMING_MODEL_NAME"] = self.model
        return load_config(self.paths, ClientConfig, environ=environ)

    def arguments(self) -> list[str]:
        """The same, for `homing serve`."""
        found: list[str] = []
        if self.data_dir is not None:
            found += ["--data-dir", str(self.data_dir)]
        if self.config is not None:
            found += ["--config", str(self.config)]
        if self.stand_in:
            found.append("--stand-in")
        if self.model is not None:
            found += ["--model", self.model]
        return found


def choice(kind: type[E], word: str, option: str) -> E:
    """The member of an enum that a word on the command line names.

    Raises:
        UsageError: there is none.
    """
    try:
        return kind(word.lower().replace("-", "_"))
    except ValueError as error:
        words = ", ".join(str(member.value) for member in kind)
        msg = f"{option} takes one of {words}"
        raise UsageError(msg, "See --help.") from error
