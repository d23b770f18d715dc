"""What a person asks, and the whole of what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from homing_core.canonical import sha256_json
from homing_core.provenance import Sensitivity
from homing_core.tools import Place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.generation import Failed
    from homing_core.ids import ConversationId, RequestId
    from homing_core.tools import ToolCall, ToolResult

REFUSED = "refused"
"""`ToolStep.approved_by` of a call that was not allowed."""
UNKNOWN_CONFIDENCE = -1.0
NO_FIRST_TOKEN = -1.0


class RoutePreference(Enum):
    """Which way the person wants it."""

    AUTO = "auto"
    PHONE = "phone"
    HOME = "home"


class ExitStatus(Enum):
    """What the outcome is worth to a script."""

    ANSWERED = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3


@dataclass(frozen=True, slots=True)
class AskInput:
    """One request.

    Attributes:
        request_id: chosen by whoever asks, so that repeating it is harmless.
        text: the person's words.
        conversation_id: the conversation to go on with; None starts a new one.
        route: which way the person wants it.
        allowed_tools: tools allowed beforehand, by exact name (`--allow`).
        interactive: whether somebody is there to be asked for consent.
        sensitivity: how far this may travel.
        thinking: let the model at home think first.
    """

    request_id: RequestId
    text: str
    conversation_id: ConversationId | None = None
    route: RoutePreference = RoutePreference.AUTO
    allowed_tools: frozenset[str] = frozenset()
    interactive: bool = False
    sensitivity: Sensitivity = Sensitivity.HOME_ONLY
    thinking: bool = False

    @property
    def content_hash(self) -> str:
        """SHA-256 (hex) of what is asked; the same request id must come with the same one."""
        return sha256_json(
            [self.text, self.conversation_id, self.route.value, self.sensitivity.value]
        )


@dataclass(frozen=True, slots=True)
class ToolStep:
    """A tool call and what came of it.

    Attributes:
        call: the call, with the exact arguments that ran.
        place: where it ran.
        approved_by: `rule`, `person` or `--allow`; `refused`; empty while or where nothing was
            decided, such as for a call that could not be read.
        result: what came of it; None while it runs.
    """

    call: ToolCall
    place: Place = Place.PHONE
    approved_by: str = ""
    result: ToolResult | None = None


def _no_features() -> Mapping[str, float]:
    return {}


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """The end of a request: everything that `homing ask --json` prints.

    Attributes:
        request_id: the request.
        conversation_id: the conversation to go on with.
        place: where the answer was made.
        node: the node's name; empty on the phone.
        reason: why there, for a person.
        confidence: in [0, 1]; negative if unknown.
        model: the model that wrote it.
        stand_in: whether that model stands in for the product's own.
        ttft_ms: from receipt to the first token of the answer, milliseconds: visible text, or the
            call if it begins with one; negative if there was none.
        total_ms: from receipt to the end, milliseconds.
        text: the whole text.
        steps: every call, in order.
        exit_status: 0 answered, 1 failed, 2 wrong usage, 3 refused by policy.
        error: what went wrong, if `exit_status` is not 0.
        features: what the last routing decision saw, name to number.
        asks: parameters of a tool that the person is asked for, where `text` is that question.
    """

    request_id: RequestId
    conversation_id: ConversationId
    place: Place
    node: str
    reason: str
    confidence: float
    model: str
    stand_in: bool
    ttft_ms: float
    total_ms: float
    text: str
    steps: tuple[ToolStep, ...] = ()
    exit_status: int = ExitStatus.ANSWERED.value
    error: Failed | None = None
    features: Mapping[str, float] = field(default_factory=_no_features)
    asks: tuple[str, ...] = ()
