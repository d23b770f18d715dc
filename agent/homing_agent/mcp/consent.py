"""Which tools of MCP servers the operator has allowed, and what each is called.

    DATA_DIR/mcp/allowed.json   0600, replaced as a whole

Who lists a server in the configuration consents to what it offers when it is first seen. From then
on a tool that is new, or that is described in another way than before, is withheld until the
operator says so: else a server could show a harmless tool first and turn it into another later.

The definitions are kept, not only their hashes: so a node knows its tools before its servers are
up, and a job that survived a restart finds its tool.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn, Self, cast

from homing_core.errors import HomingError, InvalidDataError, UnavailableError

from homing_agent.mcp.definitions import (
    Definition,
    definition_from_json,
    definition_to_json,
    name_for,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from homing_core.canonical import JsonValue

_VERSION: Final = 1
_MOST_BYTES: Final = 64 << 20
_MOST_NAME_CHARS: Final = 64


@dataclass(frozen=True, slots=True)
class Allowed:
    """A tool that the operator has allowed.

    Attributes:
        name: what a model calls it; stays with the tool.
        definition: exactly what was allowed.
    """

    name: str
    definition: Definition


@dataclass(slots=True)
class KnownServer:
    """What is allowed of a server.

    Attributes:
        identity: see `ServerConfig.identity`.
        tools: by the server's own names.
    """

    identity: str
    tools: dict[str, Allowed] = field(default_factory=dict[str, "Allowed"])


class ConsentBook:
    """What has been allowed. It changes by being replaced, once the new one is on disk.

    Args:
        path: the file.
        reserved: names that no tool of a server may get, such as those of built-in tools.
    """

    def __init__(
        self,
        path: Path,
        reserved: Iterable[str] = (),
        servers: Mapping[str, KnownServer] | None = None,
    ) -> None:
        """Nothing is known before `load`, but what is given."""
        self._path = path
        self._reserved = frozenset(reserved)
        self._servers = dict(servers or {})

    def load(self, identities: Mapping[str, str]) -> None:
        """Read the file. One that cannot be read allows nothing, and no server counts as new.

        Args:
            identities: of the configured servers, by name.

        Raises:
            InvalidDataError: it cannot be read.
        """
        try:
            with self._path.open("rb") as file:
                data = file.read(_MOST_BYTES + 1)
            self._servers = _decode(data)
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError, HomingError) as error:
            self._servers = {name: KnownServer(identity) for name, identity in identities.items()}
            msg = f"{self._path} cannot be read, so no tool of an MCP server is allowed"
            hint = "Allow them again with: homing-node tools allow SERVER"
            raise InvalidDataError(msg, hint) from error

    def tools(self, server: str, identity: str) -> tuple[Allowed, ...]:
        """What is allowed of a server, if it is still the same."""
        known = self._servers.get(server)
        if known is None or known.identity != identity:
            return ()
        return tuple(known.tools.values())

    def is_new(self, server: str, identity: str) -> bool:
        """Whether a server is seen for the first time, or is another than before."""
        known = self._servers.get(server)
        return known is None or known.identity != identity

    def allowing(self, server: str, identity: str, definitions: Sequence[Definition]) -> Self:
        """A book in which these definitions are allowed as well; a tool keeps its name."""
        old = self._servers.get(server)
        before = dict(old.tools) if old is not None else {}
        changed = dict(before) if old is not None and old.identity == identity else {}
        taken = {a.name for known in self._servers.values() for a in known.tools.values()}
        taken |= self._reserved
        for definition in definitions:
            if definition.problem:
                continue
            known = before.get(definition.name)
            name = known.name if known else name_for(server, definition.name, taken)
            taken.add(name)
            changed[definition.name] = Allowed(name, definition)
        servers = {**self._servers, server: KnownServer(identity, changed)}
        return type(self)(self._path, self._reserved, servers)

    def text(self) -> str:
        """All of it, as it is written."""
        servers: dict[str, JsonValue] = {
            name: {
                "identity": server.identity,
                "tools": {
                    raw: {"name": allowed.name, **definition_to_json(allowed.definition)}
                    for raw, allowed in server.tools.items()
                },
            }
            for name, server in self._servers.items()
        }
        return json.dumps({"version": _VERSION, "servers": servers}, indent=1) + "\n"

    def write(self, text: str) -> None:
        """Put it on disk: there, whole, when this returns. Blocks.

        Raises:
            UnavailableError: it cannot be written.
        """
        fresh = self._path.with_name(self._path.name + ".new")
        try:
            with contextlib.suppress(FileNotFoundError):
                fresh.unlink()
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with os.fdopen(os.open(fresh, flags, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._path)
            folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            msg = f"{self._path} cannot be written: {error.strerror or 'the system refused it'}"
            raise UnavailableError(msg, "Make room in the data directory.") from error


def _decode(data: bytes) -> dict[str, KnownServer]:
    loaded: object = json.loads(data) if len(data) <= _MOST_BYTES else None
    whole = _mapping(loaded)
    if whole.get("version") != _VERSION:
        _refuse()
    servers: dict[str, KnownServer] = {}
    names: set[str] = set()
    for server, entry in _mapping(whole.get("servers")).items():
        values = _mapping(entry)
        identity = values.get("identity")
        if not isinstance(identity, str):
            _refuse()
        known = servers[server] = KnownServer(identity)
        for raw, kept in _mapping(values.get("tools")).items():
            tool = _mapping(kept)
            name = tool.get("name")
            if not isinstance(name, str) or not 0 < len(name) <= _MOST_NAME_CHARS or name in names:
                _refuse()
            names.add(name)
            known.tools[raw] = Allowed(name, definition_from_json(raw, tool))
    return servers


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        _refuse()
    return cast("Mapping[str, object]", value)


def _refuse() -> NoReturn:
    msg = "the list of allowed tools is malformed"
    raise InvalidDataError(msg)
