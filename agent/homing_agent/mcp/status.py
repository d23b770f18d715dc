"""How a server is, as a command shows it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from homing_core.labels import clean_label

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_agent.mcp.consent import Allowed
    from homing_agent.mcp.definitions import Definition
    from homing_agent.mcp.words import ServerWords


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
        now: how it is described now; its hash stands for exactly this.
        before: how it was when it was allowed; None if it is new.
    """

    server: str
    name: str
    now: Definition
    before: Definition | None = None

    @property
    def changed(self) -> bool:
        """Whether it was allowed in another form; otherwise it is new."""
        return self.before is not None

    @property
    def reason(self) -> str:
        """Why it waits, for a person."""
        if self.before is None:
            return "it is new"
        differs = [
            word
            for word, same in (
                ("what it says of itself", self.now.description == self.before.description),
                ("its parameters", self.now.schema == self.before.schema),
                ("how it is run", self.now.task == self.before.task),
            )
            if not same
        ]
        return f"it has changed: {', '.join(differs) or 'words that no model sees'}"


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


def wanted(words: ServerWords, offers: Iterable[Definition]) -> list[Definition]:
    """The tools that can be offered and that the operator does not leave out."""
    return [offer for offer in offers if not offer.problem and words.offers(offer.name)]


def withheld_of(
    server: str, words: ServerWords, offers: Iterable[Definition], known: Iterable[Allowed]
) -> tuple[Withheld, ...]:
    """What waits for the operator's word.

    Args:
        server: its name.
        words: what the operator says of it.
        offers: what it offers now.
        known: what is allowed.
    """
    allowed = {each.definition.name: each.definition for each in known}
    found: list[Withheld] = []
    for offer in wanted(words, offers):
        before = allowed.get(offer.name)
        if before is None or before.hash != offer.hash:
            found.append(Withheld(server, offer.name, offer, before))
    return tuple(found)


def not_offered_of(
    server: str, words: ServerWords, offers: Iterable[Definition]
) -> tuple[NotOffered, ...]:
    """What cannot be offered, or is left out, and why."""
    return tuple(
        NotOffered(
            server,
            clean_label(offer.name),
            offer.problem or "the configuration leaves it out",
        )
        for offer in offers
        if offer.problem or not words.offers(offer.name)
    )
