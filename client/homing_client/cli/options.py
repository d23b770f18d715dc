"""Options that several commands share."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar

import typer
from homing_core.errors import InvalidDataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_agent.runtime.paths import ProgramPaths

    from homing_client.config import ClientConfig

E = TypeVar("E", bound=Enum)
T = TypeVar("T")

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
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON for scripts, one object a line.")
]
StandIn: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--stand-in",
        help="Use a small stand-in model instead of the product's own.",
    ),
]
Model: TypeAlias = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="Catalog name or path of a GGUF file."),
]

CasesFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--cases", metavar="FILE", help="Labelled requests of your own, one a line."),
]
EveryTool: TypeAlias = Annotated[
    bool,
    typer.Option("--every-tool", help="Offer also the tools that cannot act on this device."),
]
AtOnce: TypeAlias = Annotated[
    int,
    typer.Option(
        "--at-once",
        metavar="N",
        min=1,
        max=16,
        help="Requests tried side by side: quicker, and the times to the first token are longer.",
    ),
]
Fresh: TypeAlias = Annotated[
    bool, typer.Option("--fresh", help="Forget earlier trials and try everything anew.")
]


@dataclass(frozen=True, slots=True)
class Setup:
    """What a command was told about places and the model."""

    data_dir: Path | None = None
    config: Path | None = None
    stand_in: bool = False
    model: str | None = None

    def or_else(self, other: object) -> Setup:
        """What is not said here, from the command around this one."""
        if not isinstance(other, Setup):
            return self
        return Setup(
            self.data_dir or other.data_dir,
            self.config or other.config,
            self.stand_in or other.stand_in,
            self.model if self.model is not None else other.model,
        )

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
        from homing_client.model_choice import canonical_model  # noqa: PLC0415  # as above

        found = load_config(self.paths, ClientConfig)
        model = replace(
            found.model,
            name=found.model.name if self.model is None else canonical_model(self.model),
            stand_in=self.stand_in or found.model.stand_in,
        )
        return replace(found, model=model)

    def command(self, words: str) -> str:
        """A command that reaches the same phone, to be shown to a person."""
        more = f" --data-dir {shlex.quote(str(self.data_dir))}" if self.data_dir else ""
        return f"homing {words}{more}"

    @property
    def chooses_model(self) -> bool:
        """Whether the options say which model to take."""
        return self.stand_in or self.model is not None

    def arguments(self) -> list[str]:
        """The same, for a `homing serve` that is started from anywhere."""
        from homing_client.model_choice import canonical_model  # noqa: PLC0415  # keep help quick

        paths = self.paths
        found = ["--data-dir", str(paths.data_dir)] if self.data_dir is not None else []
        if self.config is not None:
            found += ["--config", str(paths.config_file)]
        if self.stand_in:
            found.append("--stand-in")
        if self.model is not None:
            found += ["--model", canonical_model(self.model)]
        return found


def choice(kind: type[E], word: str, option: str, but: E | None = None) -> E:
    """The member of an enum that a word on the command line names.

    Args:
        kind: the enum.
        word: what was typed.
        option: where.
        but: a member that has no meaning there.

    Raises:
        UsageError: there is none.
    """
    known = {str(member.value): member for member in kind if member is not but}
    try:
        return known[word.lower().replace("-", "_")]
    except KeyError as error:
        msg = f"{option} takes one of {', '.join(known)}"
        raise UsageError(msg, "See --help.") from error


def given(parse: Callable[[str], T], text: str | None, option: str) -> T | None:
    """What an option's text means; None if it was not given.

    Raises:
        UsageError: it means nothing.
    """
    if text is None:
        return None
    try:
        return parse(text)
    except InvalidDataError as error:
        msg = f"{option}: {error.what}"
        raise UsageError(msg, error.hint) from error
