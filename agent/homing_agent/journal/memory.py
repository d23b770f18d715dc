"""The journal in memory: for tests, and for whoever wants nothing kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from homing_core.errors import ConflictError

from homing_agent.journal.base import EffectRecord, EffectState, GenerationRecord, RequestRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.approvals import SignedApproval
    from homing_core.ids import ConversationId, GenerationId, RequestId, ToolCallId
    from homing_core.messages import Message
    from homing_core.tools import ToolResult

    from homing_agent.request import FinalAnswer


class MemoryJournal:
    """`homing_agent.journal.base.Journal` that forgets when the process ends."""

    def __init__(self) -> None:
        """Start empty."""
        self._requests: dict[RequestId, RequestRecord] = {}
        self._messages: dict[ConversationId, list[Message]] = {}
        self._generations: dict[GenerationId, GenerationRecord] = {}
        self._effects: dict[ToolCallId, EffectRecord] = {}
        self._approvals: dict[str, SignedApproval] = {}
        self._remembered: dict[ConversationId, set[str]] = {}

    def begin_request(self, record: RequestRecord) -> RequestRecord:
        """As in `Journal`."""
        known = self._requests.setdefault(record.id, record)
        if known.content_hash != record.content_hash:
            msg = "this request id was used for something else"
            raise ConflictError(msg, "Choose a fresh id for a new request.")
        return known

    def finish_request(
        self, request_id: RequestId, answer: FinalAnswer, messages: Sequence[Message]
    ) -> None:
        """As in `Journal`."""
        record = self._requests.get(request_id)
        if record is not None and record.answer is None:
            self._requests[request_id] = replace(record, answer=answer)
            self._messages.setdefault(answer.conversation_id, []).extend(messages)

    def last_finished(self) -> RequestRecord | None:
        """As in `Journal`."""
        ended = [record for record in self._requests.values() if record.answer is not None]
        return max(ended, key=lambda record: (record.started_at, record.id), default=None)

    def unfinished_requests(self) -> tuple[RequestRecord, ...]:
        """As in `Journal`."""
        found = [record for record in self._requests.values() if record.answer is None]
        return tuple(sorted(found, key=lambda record: (record.started_at, record.id)))

    def conversation(self, conversation_id: ConversationId) -> tuple[Message, ...]:
        """As in `Journal`."""
        return tuple(self._messages.get(conversation_id, ()))

    def begin_generation(self, record: GenerationRecord) -> None:
        """As in `Journal`."""
        self._generations.setdefault(record.id, record)

    def saw(self, generation_id: GenerationId, seq: int) -> None:
        """As in `Journal`."""
        record = self._generations.get(generation_id)
        if record is not None:
            self._generations[generation_id] = replace(record, last_seq=max(record.last_seq, seq))

    def end_generation(self, generation_id: GenerationId) -> None:
        """As in `Journal`."""
        record = self._generations.get(generation_id)
        if record is not None:
            self._generations[generation_id] = replace(record, ended=True)

    def open_generations(self, request_id: RequestId) -> tuple[GenerationRecord, ...]:
        """As in `Journal`."""
        return tuple(
            record
            for record in self._generations.values()
            if record.request_id == request_id and not record.ended
        )

    def begin_effect(self, record: EffectRecord) -> None:
        """As in `Journal`."""
        if record.call.id in self._effects:
            msg = "this call is recorded already"
            raise ConflictError(msg, "It is not run again.")
        self._effects[record.call.id] = record

    def finish_effect(self, call_id: ToolCallId, result: ToolResult, say: str) -> None:
        """As in `Journal`."""
        record = self._effects.get(call_id)
        if record is not None:
            job = record.state is EffectState.JOB
            state = EffectState.JOB if job else EffectState.FINISHED
            self._effects[call_id] = replace(record, state=state, result=result, say=say)

    def settle_effect(self, call_id: ToolCallId) -> None:
        """As in `Journal`."""
        record = self._effects.get(call_id)
        if record is not None and record.state is EffectState.BEGUN:
            self._effects[call_id] = replace(record, state=EffectState.SETTLED)

    def effects(self, request_id: RequestId) -> tuple[EffectRecord, ...]:
        """As in `Journal`."""
        found = [record for record in self._effects.values() if record.request_id == request_id]
        return tuple(sorted(found, key=lambda record: (record.step, record.begun_at)))

    def record_approval(self, approval: SignedApproval) -> None:
        """As in `Journal`."""
        self._approvals.setdefault(approval.statement.id, approval)

    def approvals(self, request_id: RequestId) -> tuple[SignedApproval, ...]:
        """As in `Journal`."""
        return tuple(
            approval
            for approval in self._approvals.values()
            if approval.statement.request_id == request_id
        )

    def remember(self, conversation_id: ConversationId, tool_hash: str) -> None:
        """As in `Journal`."""
        self._remembered.setdefault(conversation_id, set()).add(tool_hash)

    def remembered(self, conversation_id: ConversationId) -> frozenset[str]:
        """As in `Journal`."""
        return frozenset(self._remembered.get(conversation_id, ()))

    def close(self) -> None:
        """As in `Journal`; what was kept stays readable."""
