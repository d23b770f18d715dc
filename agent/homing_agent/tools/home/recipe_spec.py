"""What an operator says of a command that a model may run: its words and its parameters. Pure.

A recipe is a fixed list of arguments, given to the program as they are: there is no shell. A
placeholder fills one argument or the end of one; where its values can hold nothing but a number or
one of the operator's own words, it may stand in the middle, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from homing_core.tools import EffectClass

from homing_agent.tools.home.recipe_parameter import (
    NAME,
    Parameter,
    check_parameter,
    check_place,
    pieces,
    refuse,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from homing_agent.tools.home.recipe_parameter import Piece

OUT_FOLDER: Final = "out_folder"
"""The placeholder that stands for the folder whose files become part of the result."""
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_INTERPRETER: Final = re.compile(
    r"(?:a|ba|c|da|fi|k|tc|z)?sh|busybox|env|pwsh|powershell|python[0-9.]*|perl|ruby|node|lua|php"
)
_RUNS_NEXT: Final = re.compile(r"-[a-z]*[ceEr]|--eval|--command|-Command|-S")
_MOST_SECONDS: Final = 7 * 86_400
_MOST_MIB: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class Recipe:
    """A command that may be run.

    Attributes:
        name: what the model calls it.
        description: for the model.
        command: program and arguments, with placeholders such as `{input}`.
        parameters: by name, in the order in which the model sees them.
        effect: what it may do.
        idempotent: whether running it twice equals once.
        timeout_s: it is ended after this many seconds.
        cwd: where it runs; None takes a fresh folder that goes away with it.
        env: variables that it gets besides the few that every recipe gets.
        memory_mib: MiB of address space for each of its processes; 0 is no limit.
        file_mib: MiB that one file may grow to.
    """

    name: str
    description: str
    command: tuple[str, ...]
    parameters: Mapping[str, Parameter] = field(default_factory=dict[str, Parameter])
    effect: EffectClass = EffectClass.SETTINGS
    idempotent: bool = False
    timeout_s: float = 600.0
    cwd: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    memory_mib: int = 0
    file_mib: int = 4096

    def __post_init__(self) -> None:
        """Refuse what does not hold together: `UsageError` that begins with the key."""
        if not NAME.fullmatch(self.name):
            refuse("", "its name is not lower-case letters, digits and _")
        if not self.description.strip():
            refuse("description", "it is empty; the model chooses by it")
        if not self.command or not self.command[0].strip():
            refuse("command", "it names no program")
        self._check_numbers()
        for variable, value in self.env.items():
            if not _VARIABLE.fullmatch(variable) or "\0" in value:
                refuse("env", f"{variable[:40]!r} cannot be a variable")
        if self.cwd is not None and not self.cwd.is_absolute():
            refuse("cwd", "it is not an absolute path")
        for name, parameter in self.parameters.items():
            if not NAME.fullmatch(name) or name == OUT_FOLDER:
                refuse(f"parameters.{name[:40]}", "that cannot be a parameter's name")
            check_parameter(f"parameters.{name}", parameter)
        self._check_command()

    @property
    def arguments(self) -> tuple[Piece, ...]:
        """What follows the program."""
        return tuple(pieces(text) for text in self.command[1:])

    def _check_numbers(self) -> None:
        if not 0 < self.timeout_s <= _MOST_SECONDS:
            refuse("timeout_seconds", "it is not above 0 and at most a week")
        if not 0 <= self.memory_mib <= _MOST_MIB:
            refuse("memory_mib", f"it is not between 0 and {_MOST_MIB:,}")
        if not 1 <= self.file_mib <= _MOST_MIB:
            refuse("file_mib", f"it is not between 1 and {_MOST_MIB:,}")

    def _check_command(self) -> None:
        if any("\0" in text for text in self.command):
            refuse("command", "it holds a zero byte")
        if not isinstance(pieces(self.command[0]), str):
            refuse("command", "the program itself cannot be a placeholder")
        self._check_scripts()
        used: set[str] = set()
        for piece in self.arguments:
            if isinstance(piece, str):
                continue
            for number, slot in enumerate(piece):
                used.add(slot.name)
                if slot.name == OUT_FOLDER:
                    continue
                parameter = self.parameters.get(slot.name)
                if parameter is None:
                    known = ", ".join((*self.parameters, OUT_FOLDER))
                    refuse("command", f"there is no parameter {slot.name!r}; only {known}")
                check_place(slot, parameter, alone=len(piece) == 1 and number == 0)
        unused = sorted(set(self.parameters) - used)
        if unused:
            refuse(f"parameters.{unused[0]}", "the command has no place for it")

    def _check_scripts(self) -> None:
        """What an interpreter is told to run must be the operator's own words."""
        program = self.command[0].rpartition("/")[2].lower()
        if not _INTERPRETER.fullmatch(program):
            return
        for before, text in pairwise(self.command):
            if _RUNS_NEXT.fullmatch(before) and not isinstance(pieces(text), str):
                refuse("command", f"{program} {before} would run what a model wrote")
