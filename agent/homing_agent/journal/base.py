"""The journal's values and its boundary.

Every id is written here before it is used elsewhere, and every side effect before and after. So
after a kill -9 it is known what was asked, what was done, and what may have been done.

Methods are synchronous and quick. They belong to the thread that opened the journal.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.approvals import SignedApproval
    from homing_core.ids import ConversationId, GenerationId, RequestId, ToolCallId
    from homing_core.messages import Message
    from homing_core.tools import Place, ToolCall, ToolResult

    from homing_agent.request import FinalAnswer


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request.

    Attributes:
        id: chosen by whoever asked.
        conversation_id: the conversation it belongs to.
        content_hash: of what was asked; a repeat must bring the same.
        started_at: wall time, seconds since the epoch.
        answer: its end; None while it runs or if it was interrupted.
    """

    id: RequestId
    conversation_id: ConversationId
    content_hash: str
    started_at: float
    answer: FinalAnswer | None = None


@dataclass(frozen=True, slots=True)
class GenerationRecord:
    """A generation.

    Attributes:
        id: chosen here, written before it is sent.
        request_id: the request it serves.
        place: where it runs.
        node: device id of the node; empty on the phone.
        content_hash: of the conversation and tools it was asked with.
        last_seq: the highest event number that arrived; 0 for none.
        ended: whether its last event arrived, or it was given up.
    """

    id: GenerationId
    request_id: RequestId
    place: Place
    node: str
    content_hash: str
    last_seq: int = 0
    ended: bool = False


class EffectState(Enum):
    """What is known of a tool call."""

    BEGUN = "begun"
    """Written before it ran. After a crash: nobody knows whether it happened."""
    FINISHED = "finished"
    """It ended, well or not; the result is recorded."""
    SETTLED = "settled"
    """Nobody knew, and the person has been told."""
    JOB = "job"
    """It runs, or ran, as a job on a node, which knows what became of it; stays when finished."""


@dataclass(frozen=True, slots=True)
class EffectRecord:
    """A tool call that was allowed to run.

    Attributes:
        request_id: the request.
        step: number of the step within the request, from 1.
        call: the exact call.
        tool_hash: schema hash of the tool.
        idempotent: whether running it again equals once.
        approved_by: `rule`, `person` or `--allow`.
        begun_at: wall time, seconds since the epoch.
        state: what is known.
        result: what came of it, once finished.
        say: the tool's own words for the person, once finished.
    """

    request_id: RequestId
    step: int
    call: ToolCall
    tool_hash: str
    idempotent: bool
    approved_by: str
    begun_at: float
    state: EffectState = EffectState.BEGUN
    result: ToolResult | None = None
    say: str = ""


class Journal(Protocol):
    """The phone's record.

    Every method may raise `InternalError` or `IntegrityError` where the record cannot be kept or
    read; nothing that was not recorded may then go on.
    """

    def begin_request(self, record: RequestRecord) -> RequestRecord:
        """Record a request, or give the record that its id already has.

        Raises:
            ConflictError: the id is known for another content.
        """
        ...

    def finish_request(
        self, request_id: RequestId, answer: FinalAnswer, messages: Sequence[Message]
    ) -> None:
        """Record the end, and add `messages` to the conversation, both or neither.

        The first end stays: finishing again changes nothing.
        """
        ...

    def last_finished(self) -> RequestRecord | None:
        """The request that was begun last of those that have ended; None if there is none."""
        ...

    def unfinished_requests(self) -> tuple[RequestRecord, ...]:
        """Requests without an end, oldest first."""
        ...

    def conversation(self, conversation_id: ConversationId) -> tuple[Message, ...]:
        """Its messages, oldest first; none if it is unknown."""
        ...

    def begin_generation(self, record: GenerationRecord) -> None:
        """Record a generation; one that is known stays as it is."""
        ...

    def saw(self, generation_id: GenerationId, seq: int) -> None:
        """Record that every event up to `seq` arrived. Survives the process, not a power cut."""
        ...

    def end_generation(self, generation_id: GenerationId) -> None:
        """Record that nothing more will come of it."""
        ...

    def open_generations(self, request_id: RequestId) -> tuple[GenerationRecord, ...]:
        """Generations of a request that have not ended, oldest first."""
        ...

    def begin_effect(self, record: EffectRecord) -> None:
        """Record a call before it runs. On disk when this returns.

        Raises:
            ConflictError: the call id is recorded already.
        """
        ...

    def finish_effect(self, call_id: ToolCallId, result: ToolResult, say: str) -> None:
        """Record what came of it. On disk when this returns."""
        ...

    def settle_effect(self, call_id: ToolCallId) -> None:
        """Record that the person was told of a call whose outcome nobody knows."""
        ...

    def effects(self, request_id: RequestId) -> tuple[EffectRecord, ...]:
        """The calls of a request, by step."""
        ...

    def record_approval(self, approval: SignedApproval) -> None:
        """Keep what a person said to a step."""
        ...

    def approvals(self, request_id: RequestId) -> tuple[SignedApproval, ...]:
        """What a person said to a request's steps, oldest first."""
        ...

    def remember(self, conversation_id: ConversationId, tool_hash: str) -> None:
        """Keep a person's yes to a tool until the conversation ends."""
        ...

    def remembered(self, conversation_id: ConversationId) -> frozenset[str]:
        """Schema hashes of the tools that a person said yes to."""
        ...

    def close(self) -> None:
        """Let go of the file. Harmless if done."""
        ...
