"""The model of an agent task: what it wrote is kept, so that a restart takes the same steps.

A task that is taken up again replays the turns that were finished, word for word and with the same
ids of calls, until it is where it was. The turn that was being written is written anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, NoReturn

from homing_core.errors import HomingError, UnavailableError, UsageError
from homing_core.generation import (
    Done,
    Failed,
    FinishReason,
    Numbered,
    TextDelta,
    ToolCallEvent,
)
from homing_core.ids import DeviceId
from homing_core.tools import Place

from homing_agent.conversation import content_hash
from homing_agent.journal.json_form import call_from_json, call_to_json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_core.canonical import JsonObject, JsonValue
    from homing_core.generation import GenerateRequest, GenerationEvent, Thinking
    from homing_core.messages import Message
    from homing_core.scoring import ScoreRequest, ToolScores
    from homing_core.tools import ToolSpec
    from homing_inference.engine import Engine, EngineInfo, EngineState, WarmedPrefix

    from homing_agent.ports import Need
    from homing_agent.tool import Notebook

_HERE: Final = DeviceId("0" * 64)


class TaskModel:
    """The node's model as the loop's `Remote`, and the way to it as its `Homes`.

    Args:
        engine: the node's model.
        notebook: where its turns are kept.
    """

    def __init__(self, engine: Engine, notebook: Notebook) -> None:
        """Start at the first turn."""
        self._engine = engine
        self._notebook = notebook
        self._turn = 0
        self.failed: HomingError | None = None
        """Why the model could not go on; None while it can."""

    @property
    def node(self) -> DeviceId:
        """As in `Remote`; it is this node, which needs no name here."""
        return _HERE

    @property
    def name(self) -> str:
        """As in `Remote`."""
        return "this node"

    @property
    def place(self) -> Place:
        """As in `Remote`."""
        return Place.HOME

    @property
    def model(self) -> str:
        """As in `Remote`."""
        return self._engine.info.model

    @property
    def stand_in(self) -> bool:
        """As in `Remote`."""
        return self._engine.info.stand_in

    async def pick(self, need: Need) -> TaskModel:
        """As in `Homes`: there is this one."""
        if self.node in need.avoid:
            msg = "there is no other model"
            raise UnavailableError(msg)
        return self

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[Numbered, None]:
        """As in `Remote`; a turn is on disk before it is given as ended."""
        self._turn += 1
        note = f"turn {self._turn}"
        digest = content_hash(request.messages, request.tools, request.thinking)
        kept = _kept(self._notebook.get(note), digest)
        if kept is not None:
            for seq, event in enumerate(kept, 1):
                yield Numbered(seq, event)
            return
        written: list[JsonValue] = []
        seq = 0
        async with aclosing(self._engine.generate(request)) as events:
            async for event in events:
                seq += 1
                form = _to_json(event)
                if form is not None:
                    written.append(form)
                if isinstance(event, Failed):
                    self.failed = event.to_error()
                if isinstance(event, Done):
                    await self._notebook.put(note, {"asked": digest, "events": written})
                yield Numbered(seq, event)


class NoModel:
    """The phone's part of the loop has no model here: whatever reaches it fails as the node's did.

    Args:
        model: the node's.
        engine: what that runs on.
    """

    def __init__(self, model: TaskModel, engine: Engine) -> None:
        """Keep them."""
        self._model = model
        self._engine = engine

    @property
    def info(self) -> EngineInfo:
        """As in `Engine`."""
        return self._engine.info

    @property
    def state(self) -> EngineState:
        """As in `Engine`."""
        return self._engine.state

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[GenerationEvent, None]:
        """As in `Engine`."""
        del request
        yield Failed.from_error(self._model.failed or UnavailableError("the model is gone"))

    async def warm(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], thinking: Thinking
    ) -> WarmedPrefix:
        """As in `Engine`; nothing is warmed."""
        del messages, tools, thinking
        _nothing_here()

    async def score(self, request: ScoreRequest) -> ToolScores:
        """As in `Engine`; nothing is scored."""
        del request
        _nothing_here()

    async def embed(self, texts: Sequence[str]) -> tuple[tuple[float, ...], ...]:
        """As in `Engine`; nothing is embedded."""
        del texts
        _nothing_here()

    def forget(self, owner: str) -> None:
        """As in `Engine`."""

    async def close(self) -> None:
        """As in `Engine`; the model is not this one's to close."""


def _nothing_here() -> NoReturn:
    msg = "an agent task has no model of a phone"
    raise UsageError(msg)


def _to_json(event: GenerationEvent) -> JsonObject | None:
    match event:
        case TextDelta(text=text):
            return {"text": text}
        case ToolCallEvent(call=call):
            return {"call": call_to_json(call)}
        case Done(reason=reason):
            return {"done": reason.value}
        case _:
            return None


def _kept(value: JsonValue, digest: str) -> list[GenerationEvent] | None:
    """A turn that was finished; None if there is none, or it answered something else."""
    if not isinstance(value, Mapping) or value.get("asked") != digest:
        return None
    events = value.get("events")
    if not isinstance(events, Sequence) or isinstance(events, str):
        return None
    try:
        return [_from_json(event) for event in events]
    except (HomingError, ValueError):
        return None


def _from_json(value: JsonValue) -> GenerationEvent:
    match value:
        case {"text": str(text)}:
            return TextDelta(text)
        case {"call": call}:
            return ToolCallEvent(call_from_json(call))
        case {"done": str(reason)}:
            return Done(FinishReason(reason))
        case _:
            msg = "no event of a turn"
            raise ValueError(msg)
