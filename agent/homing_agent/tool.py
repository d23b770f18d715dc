"""What a tool is to the agent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from homing_core.errors import InvalidDataError, UnavailableError
from homing_core.provenance import Sensitivity

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from homing_core.canonical import JsonObject, JsonValue
    from homing_core.ids import RequestId, ToolCallId
    from homing_core.jobs import JobProgress
    from homing_core.provenance import Trust
    from homing_core.tools import ToolSpec
    from homing_inference.engine import Engine

    from homing_agent.ports import Consent


class AskPersonError(InvalidDataError):
    """The call cannot run without another word from the person.

    Its text is the question. Giving it back to the model would only make it guess.
    """


class UnknownOutcomeError(UnavailableError):
    """The tool was started and nobody knows whether it did what it does.

    A tool that is not idempotent is then not tried again; the person is told.
    """


class Notebook(Protocol):
    """What a long-running tool keeps for itself, so that it goes on where it was killed.

    It is encrypted, belongs to one job and goes when the job has ended.
    """

    def get(self, name: str) -> JsonValue:
        """What was kept under a name, by this or an earlier attempt; None if nothing was."""
        ...

    async def put(self, name: str, value: JsonValue) -> None:
        """Keep it: on disk when this returns. Raises `HomingError` if it cannot be."""
        ...


class MemoryNotebook:
    """A `Notebook` of a tool that is not run as a job: it lasts as long as the call."""

    def __init__(self) -> None:
        """Nothing is kept."""
        self.kept: dict[str, JsonValue] = {}

    def get(self, name: str) -> JsonValue:
        """See `Notebook.get`."""
        return self.kept.get(name)

    async def put(self, name: str, value: JsonValue) -> None:
        """See `Notebook.put`."""
        self.kept[name] = value


def _unheard(_: JobProgress) -> None:
    """Nobody watches."""


def _unhindered() -> None:
    """Nobody else does it."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may know about why it runs, and what it may use.

    Attributes:
        request_id: the request.
        call_id: the call; the same over repeats, so it can name what is created.
        report: tells whoever watches how far it is; call it as often as you like.
        notebook: where it keeps what it has done so far.
        engine: the node's model, within what the asking device may use; None where there is none.
        consent: the way to a person, for tools that call others; None where there is none.
        offered: further tools that it may call; only those that the asking device may use.
        folder: an empty folder for files that are part of the result; None where there is none.
            The one that it lies in belongs to the call, too, and is tidied even after a kill.
        device_name: who asks, for people.
        silence_s: what runs for the tool in a process of its own is to end once it has heard
            nothing from this one for so many seconds, for then somebody else may begin the work
            anew; 0 is no limit.
        may_act: raises `HomingError` if somebody else may do the work by now; called right before
            what cannot be taken back, by tools that wait for something first.
    """

    request_id: RequestId
    call_id: ToolCallId
    report: Callable[[JobProgress], None] = _unheard
    notebook: Notebook = field(default_factory=MemoryNotebook)
    engine: Engine | None = None
    consent: Consent | None = None
    offered: tuple[Tool, ...] = ()
    folder: Path | None = None
    device_name: str = ""
    silence_s: float = 0.0
    may_act: Callable[[], None] = _unhindered


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file that is part of a result.

    Attributes:
        path: where the tool has put it, within `ToolContext.folder`.
        name: what to call it; a plain file name.
        media_type: such as `image/png`; empty if unknown.
    """

    path: Path
    name: str
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool gives back.

    Attributes:
        content: text for the model.
        say: the same for the person, whole sentences; empty if a model has to word it.
        trust: whether `content` may carry instructions; None takes the tool's own class.
        sensitivity: how far `content` may travel.
        source: a short label for people, such as a file name.
        files: what it made besides text.
        is_error: whether the tool itself says that it failed; `content` says why.
    """

    content: str
    say: str = ""
    trust: Trust | None = None
    sensitivity: Sensitivity = Sensitivity.HOME_ONLY
    source: str = ""
    files: tuple[OutputFile, ...] = ()
    is_error: bool = False


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

        On a phone it runs to its end even if the request is cancelled meanwhile, within its time
        limit. As a job on a node it is cancelled by `asyncio.CancelledError` when the job is, must
        then really stop what it started, and has no time limit.

        Raises:
            HomingError: it could not; the text goes to the model.
            AskPersonError: it could not, and only the person can say more.
            UnknownOutcomeError: it may or may not have happened.
        """
        ...
