"""A model behind another server, as one of the node's models."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from homing_agent.runtime.model_host import ModelStatus, Phase
from homing_core.errors import ConfigError
from homing_inference.upstream.server import UpstreamServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_agent.runtime.model_host import Admission
    from homing_inference.engine import Engine

    from homing_node.config import UpstreamSection


_OTHERS: Final = 0o077
_MOST_BYTES: Final = 4096


class UpstreamSource:
    """Connects to a server. It takes no memory here, so it needs no room.

    Args:
        name: under which it is served.
        section: where it is.
    """

    def __init__(self, name: str, section: UpstreamSection) -> None:
        """Connect to nothing yet."""
        self._name = name
        self._section = section

    async def load(self, report: Callable[[ModelStatus], None], admit: Admission) -> Engine:
        """Ask the server whether it has the model.

        Raises:
            ConfigError: the file with the key cannot be read.
            HomingError: as `UpstreamEngine.connect` says.
        """
        # A node without other servers never loads what speaks HTTP.
        from homing_inference.upstream.engine import UpstreamEngine  # noqa: PLC0415  # as said

        del admit
        report(ModelStatus(self._name, Phase.LOADING, step=f"connecting to {self._name}"))
        section = self._section
        key = await asyncio.to_thread(read_key, section.key_file) if section.key_file else ""
        return await UpstreamEngine.connect(
            UpstreamServer(
                section.url,
                section.model,
                self._name,
                key,
                allow_insecure=section.allow_insecure,
            )
        )


def read_key(path: str) -> str:
    """The first line of a file that only this user can read.

    Raises:
        ConfigError: it cannot be read, is open to others, or holds no key.
    """
    file = Path(path).expanduser()
    hint = "Write the key into a file, and close it with: chmod 600"
    try:
        with file.open("rb") as stream:
            if os.fstat(stream.fileno()).st_mode & _OTHERS:
                msg = f"the key file {file} is open to other users"
                raise ConfigError(msg, hint)
            text = stream.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError as error:
        msg = f"the key file {file} cannot be read: {error.strerror or 'the system refused it'}"
        raise ConfigError(msg, hint) from error
    key = text.strip().partition("\n")[0].strip()
    if not key:
        msg = f"the key file {file} is empty"
        raise ConfigError(msg, hint)
    return key
