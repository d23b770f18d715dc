"""How a server is, as a command shows it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ServerState(Enum):
    """Where a server stands."""

    STARTING = "starting"
    READY = "ready"
    WAITING = "waiting"
    """It failed and is tried again after a pause."""
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class NotOffered:
    """A tool that is not offered.

    Attributes:
        server: whose it is.
        name: the server's own name for it.
        reason: why not, for a person.
    """

    server: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Withheld:
    """A tool that waits for the operator's word.

    Attributes:
        server: whose it is.
        name: the server's own name for it.
        changed: whether it was allowed in another form; otherwise it is new.
        description: what it says of itself now.
        before: what it said when it was allowed; empty if it is new.
    """

    server: str
    name: str
    changed: bool
    description: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """One server.

    Attributes:
        name: what the configuration calls it.
        kind: `stdio` or `http`.
        state: where it stands.
        tools: names, as a model sees them, of the tools that it offers and that are allowed.
        withheld: the server's own names of tools that wait for the operator's word.
        not_offered: tools that cannot be offered, and why.
        last_error: why it last failed, for a person; empty if it never did.
        failures: in a row, up to now.
        protocol: version of MCP that was agreed on; empty if none is.
    """

    name: str
    kind: str
    state: ServerState
    tools: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    not_offered: tuple[NotOffered, ...] = ()
    last_error: str = ""
    failures: int = 0
    protocol: str = ""
