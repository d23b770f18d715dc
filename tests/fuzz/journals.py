"""A journal with one of everything in it, and all that is read from one."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from homing_agent.journal.base import EffectRecord, GenerationRecord, RequestRecord
from homing_agent.request import FinalAnswer, ToolStep
from homing_core.approvals import ApprovalStatement, SignedApproval, Verdict
from homing_core.errors import HomingError
from homing_core.ids import (
    ApprovalId,
    ConversationId,
    DeviceId,
    GenerationId,
    RequestId,
    ToolCallId,
)
from homing_core.messages import assistant, user
from homing_core.provenance import Origin, Provenance, Trust
from homing_core.tools import Place, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_agent.journal.base import Journal

_ENDED, _OPEN = RequestId(f"req-{'0a' * 16}"), RequestId(f"req-{'0b' * 16}")
_TALK = ConversationId(f"conv-{'0a' * 16}")
_CALL = ToolCall(ToolCallId(f"call-{'0a' * 16}"), "act", {"text": "x"})
_RESULT = ToolResult(_CALL.id, "ok", False, Provenance(Origin.TOOL, Trust.UNTRUSTED, source="act"))  # noqa: FBT003


def fill(journal: Journal) -> None:
    """One request that has ended, one that has not, and what belongs to them."""
    for request in (_ENDED, _OPEN):
        journal.begin_request(RequestRecord(request, _TALK, "hash", 10.0))
    journal.begin_generation(
        GenerationRecord(GenerationId(f"gen-{'0a' * 16}"), _OPEN, Place.HOME, "ab", "hash")
    )
    journal.begin_effect(EffectRecord(_OPEN, 1, _CALL, "hash", False, "rule", 11.0))  # noqa: FBT003
    journal.finish_effect(_CALL.id, _RESULT, "done")
    statement = ApprovalStatement(
        ApprovalId(f"appr-{'0a' * 16}"),
        _OPEN,
        1,
        "hash",
        "hash",
        Verdict.ALLOW,
        DeviceId("0a" * 32),
        99,
    )
    journal.record_approval(SignedApproval(statement, b"signature"))
    journal.remember(_TALK, "hash")
    end = FinalAnswer(
        request_id=_ENDED,
        conversation_id=_TALK,
        place=Place.HOME,
        node="attic",
        reason="asked for",
        confidence=0.5,
        model="m",
        stand_in=True,
        ttft_ms=1.0,
        total_ms=2.0,
        text="hello",
        steps=(ToolStep(_CALL, Place.PHONE, "person", _RESULT),),
        exit_status=0,
        error=None,
        features={"name_margin": 0.1},
    )
    journal.finish_request(_ENDED, end, [user("hi"), assistant("hello")])


def read_all(journal: Journal) -> None:
    """Everything, each by itself: a damaged entry must spoil its own reading only."""
    readings: list[Callable[[], object]] = [
        lambda: journal.begin_request(RequestRecord(_ENDED, _TALK, "hash", 10.0)),
        journal.unfinished_requests,
        lambda: journal.conversation(_TALK),
        lambda: journal.open_generations(_OPEN),
        lambda: journal.effects(_OPEN),
        lambda: journal.approvals(_OPEN),
        lambda: journal.remembered(_TALK),
    ]
    for read in readings:
        with contextlib.suppress(HomingError):
            read()
