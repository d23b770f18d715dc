"""Reading the configuration file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

from homing_core.config import parse_config
from homing_core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from homing_agent.runtime.paths import ProgramPaths

T = TypeVar("T")

_MOST_BYTES = 1 << 20


def load_config(
    paths: ProgramPaths,
    cls: type[T],
    prefix: str = "HOMING_",
    environ: Mapping[str, str] | None = None,
    others: Collection[str] | None = None,
) -> T:
    """Read the program's file, with the environment's overrides; no file gives every default.

    Args:
        paths: where the file is.
        cls: the dataclass of sections to fill.
        prefix: what an override's name starts with.
        environ: the environment; None takes the process's own.
        others: see `parse_config`.

    Raises:
        ConfigError: the file cannot be read, a named one does not exist, or a value is wrong.
    """
    env = os.environ if environ is None else environ
    path = paths.config_file
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            msg = f"{path} is larger than {_MOST_BYTES} bytes"
            raise ConfigError(msg, "Name a TOML file with --config.")
        text = data.decode("utf-8-sig")
    except FileNotFoundError as error:
        if paths.config_named:
            msg = f"{path} does not exist"
            raise ConfigError(msg, "Name a file that does, or leave out --config.") from error
        text = ""
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror or 'the system refused it'}"
        raise ConfigError(msg, "Check the file's owner and mode, or name another one.") from error
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8 text"
        raise ConfigError(msg, "Correct the file, or move it away to use the defaults.") from error
    return parse_config(text, cls, str(path), env, prefix, others=others)
