"""Tools: what they are called, what they may do, and the calls and results that pass around."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from homing_core.canonical import JsonObject, JsonValue, sha256_json
from homing_core.provenance import Provenance, Trust

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.ids import ToolCallId


class EffectClass(Enum):
    """What a tool may do to the world. A tool that does not say is `SETTINGS`, the strictest."""

    READ = "read"
    READ_NETWORK = "read_network"
    """Reads over the network; counts as sending what it is given."""
    WRITE = "write"
    SEND = "send"
    SPEND = "spend"
    DELETE = "delete"
    SETTINGS = "settings"


class Place(Enum):
    """Where something runs."""

    PHONE = "phone"
    HOME = "home"
    PEER = "peer"


class Topic(Enum):
    """Subjects on which nothing is ever done without a person."""

    MONEY = "money"
    HEALTH = "health"
    OTHER_PEOPLE = "other_people"


@dataclass(frozen=True, slots=True)
class ToolId:
    """A tool is (node, server, name, schema hash): a changed description is another tool.

    Attributes:
        node: device id of the node that runs it; empty for this device.
        server: MCP server or built-in group, such as `builtin`.
        name: the name that the model sees.
        schema_hash: SHA-256 (hex) of name, description and parameters in canonical JSON.
    """

    node: str
    server: str
    name: str
    schema_hash: str


def _no_topics() -> frozenset[Topic]:
    return frozenset()


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told about a tool, and what Homing knows about it.

    Attributes:
        name: unique within one offer; letters, digits, `_` and `-`.
        description: one or two sentences for the model.
        parameters: JSON Schema of an object.
        effect: what it may do; unknown means the strictest.
        place: where it runs.
        node: device id of the node; empty for this device.
        server: MCP server or built-in group.
        idempotent: whether running it twice with the same arguments equals once.
        output_trust: whether its results may carry instructions.
        topics: subjects that always need a person.
        typical_ms: usual duration in milliseconds; 0 if unknown.
    """

    name: str
    description: str
    parameters: JsonObject
    effect: EffectClass = EffectClass.SETTINGS
    place: Place = Place.PHONE
    node: str = ""
    server: str = "builtin"
    idempotent: bool = False
    output_trust: Trust = Trust.UNTRUSTED
    topics: frozenset[Topic] = field(default_factory=_no_topics)
    typical_ms: int = 0

    @property
    def schema_hash(self) -> str:
        """SHA-256 (hex) of what the model sees: name, description and parameters."""
        seen: dict[str, JsonValue] = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }
        return sha256_json(seen)

    @property
    def id(self) -> ToolId:
        """The tool's identity."""
        return ToolId(self.node, self.server, self.name, self.schema_hash)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to run a tool.

    Attributes:
        id: made by whoever parsed the call; one call keeps it over retries.
        name: as the model wrote it; may name no known tool.
        arguments: a JSON object.
    """

    id: ToolCallId
    name: str
    arguments: Mapping[str, JsonValue]

    @property
    def argument_hash(self) -> str:
        """SHA-256 (hex) of the canonical arguments; an approval covers exactly these."""
        return sha256_json(self.arguments)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a call.

    Attributes:
        call_id: the call it answers.
        content: text for the model.
        is_error: whether the tool failed or was refused.
        provenance: where `content` came from.
    """

    call_id: ToolCallId
    content: str
    is_error: bool
    provenance: Provenance
