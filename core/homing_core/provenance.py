"""Where a piece of content came from, how far it is trusted, and how far it may travel."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Origin(Enum):
    """Who or what wrote the content."""

    PERSON = "person"
    MODEL = "model"
    TOOL = "tool"
    DOCUMENT = "document"
    NETWORK = "network"


class Trust(Enum):
    """Whether the content may be followed as an instruction."""

    TRUSTED = "trusted"
    UNTRUSTED = "untrusted"


class Sensitivity(Enum):
    """How far content may travel. The order of definition is from most to least private."""

    PHONE_ONLY = "phone_only"
    HOME_ONLY = "home_only"
    TRUSTED_PEERS = "trusted_peers"
    ANY_PAIRED = "any_paired"


_STRICTNESS: tuple[Sensitivity, ...] = tuple(Sensitivity)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Origin, trust and sensitivity of one message part.

    Attributes:
        origin: who wrote it.
        trust: whether it may be followed as an instruction.
        sensitivity: how far it may travel; home-only unless its owner says otherwise.
        source: a short label (tool name, file name, address); for people, never for decisions.
    """

    origin: Origin
    trust: Trust
    sensitivity: Sensitivity = Sensitivity.HOME_ONLY
    source: str = ""


PERSON = Provenance(Origin.PERSON, Trust.TRUSTED)
"""What the phone's owner typed."""
MODEL = Provenance(Origin.MODEL, Trust.TRUSTED)
"""What a model wrote while no untrusted text was in its context."""


def strictest(values: Iterable[Sensitivity]) -> Sensitivity:
    """The most private of several classes; of none, `ANY_PAIRED` (nothing to protect)."""
    return min(values, key=_STRICTNESS.index, default=Sensitivity.ANY_PAIRED)


def derived(sources: Iterable[Provenance], origin: Origin, source: str = "") -> Provenance:
    """Provenance of something made out of `sources`: it is no better than the worst of them."""
    parts = tuple(sources)
    tainted = any(part.trust is Trust.UNTRUSTED for part in parts)
    return Provenance(
        origin=origin,
        trust=Trust.UNTRUSTED if tainted else Trust.TRUSTED,
        sensitivity=strictest(part.sensitivity for part in parts)
        if parts
        else Sensitivity.HOME_ONLY,
        source=source,
    )
