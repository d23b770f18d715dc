"""The part of the node's configuration about commands that a model may have run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from homing_agent.tools.home.recipe_parameter import Parameter, ParameterKind
from homing_agent.tools.home.recipe_spec import Recipe
from homing_agent.tools.home.recipe_values import check_defaults
from homing_core.config import HERE
from homing_core.errors import UsageError
from homing_core.tools import EffectClass

_KINDS: Final = {kind.value: kind for kind in ParameterKind}
_EFFECTS: Final = {effect.value: effect for effect in EffectClass}


@dataclass(frozen=True, slots=True)
class ParameterSection:
    """`[recipes.NAME.parameters.X]`: what a placeholder of a recipe takes.

    Attributes:
        type: `string`, `integer`, `number`, `boolean`, `choice` or `path`.
        description: for the model.
        required: whether a call must give it; else its argument is left out where it does not.
        default: taken where a call gives none.
        min, max: bounds of a number.
        pattern: regular expression that a whole string must match.
        max_length: characters of a string or path.
        choices: the words of a choice.
        folder: of a path: the absolute folder that it must lie in.
        exists: of a path: whether it must exist, or must not.
        flag: of a boolean: the argument that stands for true; false leaves it out.
        url: of a string: whether it may be or begin like an address.
        at_file: of a string: whether it may begin with `@`.
    """

    type: str = "string"
    description: str = ""
    required: bool = True
    default: Any = None
    min: float | None = None
    max: float | None = None
    pattern: str = ""
    max_length: int = 200
    choices: tuple[str, ...] = ()
    folder: str = ""
    exists: bool = True
    flag: str = ""
    url: bool = False
    at_file: bool = False

    def __post_init__(self) -> None:
        """Check the words; what they mean together is the recipe's business."""
        if self.type not in _KINDS:
            msg = f"{HERE}.type is none of {', '.join(_KINDS)}"
            raise ValueError(msg)
        if self.default is not None and not isinstance(self.default, str | int | float | bool):
            msg = f"{HERE}.default is no text, number, true or false"
            raise ValueError(msg)

    @property
    def parameter(self) -> Parameter:
        """The same for the tool."""
        return Parameter(
            kind=_KINDS[self.type],
            description=self.description,
            required=self.required,
            default=self.default,
            low=self.min,
            high=self.max,
            pattern=self.pattern,
            most_chars=self.max_length,
            choices=self.choices,
            folder=Path(self.folder).expanduser() if self.folder else None,
            exists=self.exists,
            flag=self.flag,
            url=self.url,
            at_file=self.at_file,
        )


@dataclass(frozen=True, slots=True)
class RecipeSection:
    """`[recipes.NAME]`: a command that a model may have run, without a shell.

    Attributes:
        command: program and arguments; `{parameter}` fills one argument or the end of one, and
            `{out_folder}` is a folder whose files become part of the result.
        description: for the model.
        effect: what it may do: `read`, `read_network`, `write`, `send`, `spend`, `delete` or
            `settings`.
        idempotent: whether running it twice equals once.
        timeout_seconds: it is ended after this long.
        cwd: absolute folder that it runs in; empty takes a fresh one that goes away.
        env: variables that it gets besides PATH, LANG, HOME and TMPDIR.
        memory_mib: MiB of address space of each of its processes; 0 is no limit.
        file_mib: MiB that one file may grow to.
        parameters: by name.
    """

    command: tuple[str, ...] = ()
    description: str = ""
    effect: str = "settings"
    idempotent: bool = False
    timeout_seconds: float = 600.0
    cwd: str = ""
    env: dict[str, str] = field(default_factory=dict[str, str])
    memory_mib: int = 0
    file_mib: int = 4096
    parameters: dict[str, ParameterSection] = field(default_factory=dict[str, ParameterSection])

    def __post_init__(self) -> None:
        """Check that it holds together."""
        if self.effect not in _EFFECTS:
            msg = f"{HERE}.effect is none of {', '.join(_EFFECTS)}"
            raise ValueError(msg)
        try:
            check_defaults(self.recipe("recipe"))
        except UsageError as error:
            msg = f"{HERE}.{error.what}"
            raise ValueError(msg) from error

    def recipe(self, name: str) -> Recipe:
        """The same for the tool; raises `UsageError`."""
        return Recipe(
            name=name,
            description=self.description,
            command=self.command,
            parameters={key: one.parameter for key, one in self.parameters.items()},
            effect=_EFFECTS[self.effect],
            idempotent=self.idempotent,
            timeout_s=self.timeout_seconds,
            cwd=Path(self.cwd).expanduser() if self.cwd else None,
            env=self.env,
            memory_mib=self.memory_mib,
            file_mib=self.file_mib,
        )


def check_recipe_names(recipes: dict[str, RecipeSection]) -> None:
    """Raise `ValueError` for a name that no tool can have."""
    for name, section in recipes.items():
        try:
            section.recipe(name)
        except UsageError as error:
            msg = f"recipes.{name[:64]}: {error.what}"
            raise ValueError(msg) from error
