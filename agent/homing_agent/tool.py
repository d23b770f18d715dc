"""What a tool is to the agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from homing_core.errors import InvalidDataError, UnavailableError
from homing_core.provenance import Sensitivity

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject
    from homing_core.ids import RequestId, ToolCallId
    from homing_core.provenance import Trust
    from homing_core.tools import ToolSpec


class AskPersonError(InvalidDataError):
    """The call cannot run without another word from the person.

    Its text is the question. Giving it back to the model would only make it guess.
    """


class UnknownOutcomeError(UnavailableError):
    """The tool was started and nobody knows whether it did what it does.

    A tool that is not idempotent is then not tried again; the person is told.
    """


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may know about why it runs.

    Attributes:
        request_id: the request.
        call_id: the call; the same over repeats, so it can name what is created.
    """

    request_id: RequestId
    call_id: ToolCallId


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool gives back.

    Attributes:
        content: text for the model.
        say: the same for the person, whole sentences; empty if a model has to word it.
        trust: whether `content` may carry instructions; None takes the tool's own class.
        sensitivity: how far `content` may travel.
        source: a short label for people, such as a file name.
    """

    content: str
    say: str = ""
    trust: Trust | None = None
    sensitivity: Sensitivity = Sensitivity.HOME_ONLY
    source: str = ""


class Tool(Protocol):
    """Something the model may call."""

    @property
    def spec(self) -> ToolSpec:
        """What the model is told, and what the policy needs to know. Never changes."""
        ...

    def unavailable(self) -> str | None:
        """Why it cannot act on this device, for a person; None if it can."""
        ...

    def preview(self, arguments: JsonObject) -> str:
        """One line saying what these arguments would do; empty if they speak for themselves.

        Called before a person is asked. The arguments fit the schema.

        Raises:
            HomingError: the call cannot work, so nobody need be asked.
        """
        ...

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """Do it. The arguments fit the schema and the call is allowed.

        It runs to its end even if the request is cancelled meanwhile, within its time limit.

        Raises:
            HomingError: it could not; the text goes to the model.
            AskPersonError: it could not, and only the person can say more.
            UnknownOutcomeError: it may or may not have happened.
        """
        ...
