"""What to say of a request whose process died: what was done, and what may have been. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.canonical import canonical_json
from homing_core.errors import UnavailableError
from homing_core.generation import Failed
from homing_core.tools import Place

from homing_agent.journal.base import EffectState
from homing_agent.request import (
    NO_FIRST_TOKEN,
    UNKNOWN_CONFIDENCE,
    ExitStatus,
    FinalAnswer,
    ToolStep,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.ids import ToolCallId

    from homing_agent.journal.base import EffectRecord, RequestRecord

_REASON = "picked up after an interruption"


def unknown_calls(effects: Sequence[EffectRecord]) -> tuple[ToolCallId, ...]:
    """Calls that began, are not known to have ended, and must not be run again."""
    return tuple(
        e.call.id
        for e in effects
        if e.result is None and not e.idempotent and e.state is not EffectState.JOB
    )


def is_resumable(effects: Sequence[EffectRecord]) -> bool:
    """Whether a request goes on where it was: a node has the rest, and nothing is in doubt."""
    return not unknown_calls(effects) and any(e.state is EffectState.JOB for e in effects)


def interrupted_answer(
    record: RequestRecord, effects: Sequence[EffectRecord]
) -> FinalAnswer | None:
    """The end of a request that was interrupted, or None if it may simply be worked on again.

    Args:
        record: the request.
        effects: its calls.
    """
    if is_resumable(effects):
        return None
    unknown = set(unknown_calls(effects))
    done = [
        effect.say or effect.result.content
        for effect in effects
        if not effect.idempotent and effect.result is not None and not effect.result.is_error
    ]
    if not unknown and not done:
        return None
    error = None
    if unknown:
        doubtful = "; ".join(_say(effect) for effect in effects if effect.call.id in unknown)
        error = UnavailableError(
            f"this was interrupted, and it is not known whether it happened: {doubtful}",
            "Check, and ask again if it did not.",
        )
    return FinalAnswer(
        request_id=record.id,
        conversation_id=record.conversation_id,
        place=Place.PHONE,
        node="",
        reason=_REASON,
        confidence=UNKNOWN_CONFIDENCE,
        model="",
        stand_in=False,
        ttft_ms=NO_FIRST_TOKEN,
        total_ms=0.0,
        text="\n".join(done),
        steps=tuple(
            ToolStep(effect.call, Place.PHONE, effect.approved_by, effect.result)
            for effect in effects
        ),
        exit_status=(ExitStatus.FAILED if error else ExitStatus.ANSWERED).value,
        error=None if error is None else Failed.from_error(error),
    )


def _say(effect: EffectRecord) -> str:
    return f"{effect.call.name} {canonical_json(effect.call.arguments).decode('utf-8', 'replace')}"
